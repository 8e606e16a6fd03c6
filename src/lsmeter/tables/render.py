# SPDX-License-Identifier: GPL-2.0-or-later
"""What a format is; finds one by its name and renders a document with it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lsmeter.core import registry
from lsmeter.core.errors import UsageError
from lsmeter.core.former import tell_former
from lsmeter.tables.data import scrubbed
from lsmeter.tables.model import Detail, Document


@dataclass(frozen=True)
class Options:
    """How text is to look: columns of the terminal, and whether colours may be written.

    A format ignores what does not apply to it.
    """

    width: int = 80
    colour: bool = False


@dataclass(frozen=True)
class Files:
    """A document as files by name, and what of it is in none, a line each."""

    files: Mapping[str, bytes]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Format:
    """One way to write a document.

    suffix is that of a file in this format, with its dot. render is pure: the same document and
    options give the same text, which ends with a newline. aliases are old names. binary formats
    are for files: bytes or several files, which no terminal shows.
    """

    name: str
    title: str
    suffix: str
    detail: Detail
    render: Callable[[Document, Options], str | bytes | Files]
    aliases: tuple[str, ...] = ()
    binary: bool = False
    commands: tuple[str, ...] = ()

    def check(self, command: str) -> None:
        """Refuse it for a command that has nothing to show in it."""
        if self.commands and command not in self.commands:
            have = ", ".join(f"lsmeter {name}" for name in self.commands)
            raise UsageError(
                f"--format {self.name}: not of lsmeter {command}; these have it: {have}"
            )


DEFAULT_OPTIONS = Options()


@functools.cache
def formats() -> tuple[Format, ...]:
    """Return all formats, sorted by name."""
    return registry.members("lsmeter.tables.formats", "FORMAT", Format)


def find_format(name: str) -> Format:
    """Return the format called `name`; UsageError names the known ones when there is none."""
    for item in formats():
        if name in item.aliases:
            tell_former(f"--format {name}", item.name)
        if name in (item.name, *item.aliases):
            return item
    raise registry.unknown("format", name, (item.name for item in formats()), where="--format")


def rendered(
    document: Document, form: str, options: Options = DEFAULT_OPTIONS
) -> str | bytes | Files:
    """Return a document in the format called `form`.

    Text that came from a guest is freed of control characters first, whatever the format.
    """
    return find_format(form).render(scrubbed(document), options)


def render(document: Document, form: str, options: Options = DEFAULT_OPTIONS) -> str:
    """Return a document as text; UsageError for a format that gives none."""
    found = rendered(document, form, options)
    if not isinstance(found, str):
        raise UsageError(f"--format {form}: not text")
    return found
