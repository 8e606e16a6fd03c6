# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter demo`: two stored runs as report, page, comparison and gate."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from shlex import quote
from typing import Annotated

from lsmeter.cli.console import SCREEN
from lsmeter.cli.options import argument
from lsmeter.cli.show import HTML_FILE, deliver, write

_SCREEN = "screen.txt"  # 80 columns, in colour
_FIRST = """\
Nothing is measured here: these are two stored runs of the same benchmarks, on
Debian's kernels 6.1 and 6.12. The runs and the page are in {}.
"""
NEXT = """\
Next: lsmeter doctor says what this machine lacks, lsmeter run measures, and
lsmeter help first-steps goes on from here.
"""


def demo(
    folder: Annotated[Path, argument("DIR", "Where the runs and the page are put.")] = Path(
        "lsmeter-demo"
    ),
) -> None:
    """Show two stored runs as report, page, comparison and gate.

    Nothing is booted or measured. Each part stands below the command that shows it, and was
    recorded from it: loading what computes it takes longer than reading it.

        lsmeter demo
        lsmeter demo here
    """
    from rich.text import Text

    from lsmeter.core.storage import make_dir

    make_dir(folder)
    home = resources.files("lsmeter.questions.demo")
    for name in ("before.lsmeter", "after.lsmeter", HTML_FILE):
        write(folder / name, (home / name).read_bytes(), "DIR")
    screen = (home / _SCREEN).read_text("utf-8")
    if SCREEN.output is not None or not SCREEN.colour:
        screen = Text.from_ansi(screen).plain
    deliver("\n".join((_FIRST.format(folder), f"$ cd {quote(str(folder))}", screen, NEXT)))
