# SPDX-License-Identifier: GPL-2.0-or-later
"""How the command line speaks: results to standard output, everything else to standard error.

What comes from outside (guests, files, kernel trees) is made printable here, and what the output
cannot carry gets a stand-in.
"""

from __future__ import annotations

import codecs
import json
import os
import sys
import tomllib
from functools import cache, partial
from pathlib import Path
from typing import IO, Any, Literal

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from lsmeter.core.errors import InfrastructureError, LsmeterError
from lsmeter.core.printable import printable

_TAIL_LINES = 20
Colour = Literal["auto", "always", "never"]


@cache
def _stand_ins() -> dict[int, str]:
    """Return the stand-in of each character; a spinner's dots have one as well."""
    said = tomllib.loads(Path(__file__).with_name("stand_ins.toml").read_text("utf-8"))
    dots = "".join(map(chr, range(0x2800, 0x2900)))
    said["*"] += dots
    return str.maketrans({each: text for text, characters in said.items() for each in characters})


def _stand_in(error: UnicodeError) -> tuple[str, int]:
    """Give ASCII for what an encoding does not have: a stand-in, else an escape."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_stand_ins())
    return text.encode("ascii", "backslashreplace").decode(), error.end


STAND_INS = "lsmeter"  # the name of the handler for errors of encoding
codecs.register_error(STAND_INS, _stand_in)


def _json(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


codecs.register_error("lsmeter-json", _json)
_ERRORS = {"json": "lsmeter-json", "html": "xmlcharrefreplace"}


class UnreadError(Exception):
    """The reader of standard output (head, less) has gone."""


def escaped(text: str) -> str:
    """Return text from outside as rich's markup shows it: printable, its brackets no tags."""
    return escape(printable(text))


class Screen:
    """The two consoles of a command, and what its options said of how it shows things."""

    def __init__(self) -> None:
        self.use("auto")

    def use(self, colour: Colour, *, quiet: bool = False, verbose: bool = False) -> None:
        """Set up the consoles; colour auto follows the terminal and NO_COLOR."""
        self.when, self.quiet, self.verbose = colour, quiet, verbose
        self.form = "table"  # of documents
        self.output: Path | None = None  # where results go, if not to standard output
        self.piped = False  # --output - asks for standard output
        forced = {"always": True, "never": False}.get(colour)
        plain = colour == "never" or (colour == "auto" and "NO_COLOR" in os.environ)
        how = partial(
            Console,
            highlight=False,
            color_system=None if plain else "auto",
            force_terminal=forced,
        )
        self.out, self.err = how(), how(stderr=True, quiet=quiet)
        self._alarm = how(stderr=True)

    @property
    def colour(self) -> bool:
        """Whether results are shown in colour."""
        return self.out.is_terminal and self.out.color_system is not None

    def tell(self, text: str) -> None:
        """Print a line of results."""
        self.write(printable(text) + "\n")

    def write(self, text: str, form: str = "") -> None:
        """Write results; what the output cannot carry is written as its format allows."""
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        _write_to(sys.stdout, text.encode(encoding, _ERRORS.get(form, STAND_INS)).decode(encoding))

    def write_bytes(self, data: bytes) -> None:
        """Write results that are no text."""
        _write_to(getattr(sys.stdout, "buffer", None), data)

    def say(self, text: str, *, lead: str = "", style: str = "") -> None:
        """Say something about what is going on, to standard error; style is that of the lead."""
        _line(self.err, text, lead, style)

    def show_error(self, error: LsmeterError) -> None:
        """Show an error: one line, then the end of the log where there is one, then the hint."""
        _line(self._alarm, error.title, "error: ", "bold red")
        for line in error.log_tail[-_TAIL_LINES:]:
            _line(self._alarm, line, "  | ", "dim")
        if error.log_path is not None:
            _line(self._alarm, str(error.log_path), "  log: ", "dim")
        if error.hint:
            _line(self._alarm, error.hint, "  hint: ", "cyan")


def _write_to(stream: IO[Any] | None, data: str | bytes) -> None:
    if stream is None:
        raise InfrastructureError("standard output is closed", hint="name a file: -o FILE")
    try:
        stream.write(data)
        stream.flush()
    except BrokenPipeError as error:
        raise UnreadError from error
    except OSError as error:
        raise InfrastructureError(
            f"cannot write to standard output: {error.strerror}", hint="name a file: -o FILE"
        ) from error


def _line(console: Console, text: str, lead: str, style: str) -> None:
    """Print one line; a style is that of the lead, where there is one."""
    shown = Text.assemble((lead, style), printable(text)) if lead else Text(printable(text), style)
    console.print(shown, soft_wrap=True)


SCREEN = Screen()
