# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints documents in one of the formats; and what `run` prints before and after."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from lsmeter.cli.console import SCREEN
from lsmeter.tables.model import Column, Detail, Document, Section, Table, Value, rows

if TYPE_CHECKING:
    from lsmeter.experiment.plan import Plan
    from lsmeter.machines import Machine
    from lsmeter.model import Kernel

HTML_FILE = "report.html"


def _known_format(name: str) -> str:
    from lsmeter.tables.render import find_format

    return find_format(name).name


FormatOption = Annotated[
    str,
    typer.Option(
        "--format",
        "-f",
        callback=_known_format,
        help="table, text (72 columns), markdown, csv, json or html.",
    ),
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write to this file instead.")
]


def show(
    document: Document | Callable[[Detail], Document], form: str, output: Path | None = None
) -> None:
    """Print a document in a format, or write it to a file.

    A function makes the document for the room that the format has.
    """
    from lsmeter.tables.render import Options, find_format, render

    if not isinstance(document, Document):
        document = document(find_format(form).detail)
    colour = SCREEN.colour and output is None
    deliver(render(document, form, Options(width=SCREEN.out.width, colour=colour)), output)


def listed(
    name: str,
    title: str,
    key: str,
    heads: Sequence[Column],
    found: Iterable[Iterable[Value]],
    *,
    notes: tuple[str, ...] = (),
    data: object | None = None,
) -> Document:
    """Make a document of one table without words around it; no table where it has no rows."""
    table = Table(key, "", tuple(heads), rows(found))
    section = Section("", tables=(table,) if table.rows else ())
    return Document(name, 1, title, sections=(section,), notes=notes, data=data)


def deliver(text: str, output: Path | None) -> None:
    """Print text, or write it to a file."""
    from lsmeter.base.storage import write_atomic

    if output is None:
        SCREEN.out.file.write(text if text.endswith("\n") else text + "\n")
    else:
        write_atomic(output, text.encode())
        SCREEN.say(f"written to {output}")


def show_plan(plan: Plan, machine: Machine, *, commands: bool) -> None:
    """Print what will be measured, and how guests are started when that was asked for."""
    from lsmeter.experiment.plan import describe_size
    from lsmeter.instruments import find_instrument

    experiment = plan.experiment
    err = SCREEN.err
    if experiment.title:
        err.print(f"[bold]{escape(experiment.title)}[/]", soft_wrap=True)
    if experiment.question:
        err.print(escape(" ".join(experiment.question.split())))
    instrument = find_instrument(experiment.instrument)
    facts = [
        *(("kernel", _described(cell.kernel)) for cell in plan.cells),
        ("setups", ", ".join(dict.fromkeys(cell.setup.name for cell in plan.cells))),
        ("instrument", f"{instrument.name}: {instrument.title}"),
        ("machine", f"{machine.name}: {machine.title}"),
        ("plan", describe_size(plan)),
    ]
    for name, text in dict.fromkeys(facts):
        err.print(f"{name:<12}{escape(text)}")
    for problem in plan.problems:
        err.print(f"[yellow]problem[/]     {escape(problem.title)}", soft_wrap=True)
    if commands:
        for cell in plan.cells:
            SCREEN.tell(f"# {cell.setup.name} on {cell.kernel.name}")
            SCREEN.tell(shlex.join(machine.command(cell)))


def _described(kernel: Kernel) -> str:
    version = f", package {kernel.version}" if kernel.version else ""
    return f"{kernel.name} ({kernel.release}{version})"


def show_run(path: Path) -> None:
    """Write the page of a run, print its table, and say where the page is."""
    from lsmeter.base.storage import write_atomic
    from lsmeter.report.document import document_of
    from lsmeter.results.directory import read_run
    from lsmeter.tables.render import render

    make = document_of(read_run(path))
    page = path / HTML_FILE
    write_atomic(page, render(make(Detail.FULL), "html").encode())
    show(make, "table")
    SCREEN.tell(f"results {path}")
    SCREEN.tell(f"page    {page}")
