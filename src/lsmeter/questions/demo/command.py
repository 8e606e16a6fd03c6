# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter demo`: two stored runs as report, page, comparison and gate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import resources
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Annotated

from lsmeter.cli.options import argument
from lsmeter.cli.show import HTML_FILE, deliver, screen_options, write

if TYPE_CHECKING:
    from lsmeter.tables.model import Detail, Document

_RUNS = ("before.lsmeter", "after.lsmeter")
_RULE = "open*<=2%"
_FIRST = """\
Nothing is measured here: these are two stored runs of the same benchmarks, on
Debian's kernels 6.1 and 6.12. The runs and the page are in {}.
"""
_NEXT = """\
Next: lsmeter doctor says what this machine lacks, lsmeter run measures, and
lsmeter help first-steps goes on from here.
"""


def demo(
    folder: Annotated[Path, argument("DIR", "Where the runs and the page are put.")] = Path(
        "lsmeter-demo"
    ),
) -> None:
    """Show two stored runs as report, page, comparison and gate.

    Nothing is booted or measured. Each part stands below the command that shows it.

        lsmeter demo
        lsmeter demo here
    """
    from lsmeter.measure.results.samples import start_reader

    start_reader()  # beside what is loaded here
    from lsmeter.core.storage import make_dir

    make_dir(folder)
    home = resources.files("lsmeter.questions.demo")
    for name in (*_RUNS, HTML_FILE):  # the page is made beforehand: its plots take a second
        write(folder / name, (home / name).read_bytes(), "DIR")
    parts = (_FIRST.format(folder), *_parts(folder), _NEXT)
    deliver("\n".join(parts))


def _parts(folder: Path) -> Iterator[str]:
    """Yield each command with what it shows."""
    from lsmeter.measure.results.directory import read_run
    from lsmeter.questions.compare.document import document as compared
    from lsmeter.questions.cost.document import document_of
    from lsmeter.questions.gate.document import document as gated
    from lsmeter.questions.gate.judge import judge_runs
    from lsmeter.questions.gate.rules import parse_rule

    paths = [folder / name for name in _RUNS]
    before, after = map(read_run, paths)
    names = [str(path) for path in paths]
    yield _shown(("report", names[1]), document_of(after))
    html = ("report", names[1], "--format", "html", "-o", str(folder / HTML_FILE))
    yield f"$ {join(('lsmeter', *html))}\n"
    yield _shown(("compare", *names), partial(compared, before, after))
    judged = judge_runs(before, after, [parse_rule(_RULE)], "skip")
    yield _shown(("gate", *names, "--max", _RULE), partial(gated, judged))


def _shown(words: tuple[str, ...], make: Callable[[Detail], Document]) -> str:
    from lsmeter.tables.model import Detail
    from lsmeter.tables.render import render

    shown = render(make(Detail.SHORT), "table", screen_options())
    return f"$ {join(('lsmeter', *words))}\n{shown}"
