# SPDX-License-Identifier: GPL-2.0-or-later
"""What `run` prints: the plan before, the table and the page after."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from lsmeter.cli.console import SCREEN

if TYPE_CHECKING:
    from lsmeter.backend import Backend
    from lsmeter.plan import Plan

HTML_FILE = "report.html"


def show_plan(plan: Plan, backend: Backend, *, commands: bool) -> None:
    """Print what will be measured, and how guests are started when that was asked for."""
    from lsmeter.plan import describe_size

    experiment = plan.experiment
    err = SCREEN.err
    if experiment.title:
        err.print(f"[bold]{escape(experiment.title)}[/]", soft_wrap=True)
    if experiment.question:
        err.print(escape(" ".join(experiment.question.split())))
    kernels = dict.fromkeys(cell.kernel for cell in plan.cells)
    for kernel in kernels:
        version = f", package {kernel.version}" if kernel.version else ""
        err.print(f"kernel      {escape(kernel.name)} ({escape(kernel.release + version)})")
    setups = dict.fromkeys(cell.setup.name for cell in plan.cells)
    err.print(f"setups      {escape(', '.join(setups))}")
    err.print(f"instrument  {escape(backend.name)}: {escape(backend.title)}")
    err.print(f"plan        {describe_size(plan)}")
    for problem in plan.problems:
        err.print(f"[yellow]problem[/]     {escape(problem.title)}", soft_wrap=True)
    if commands:
        for cell in plan.cells:
            SCREEN.out.print(f"# {escape(cell.setup.name)} on {escape(cell.kernel.name)}")
            SCREEN.out.print(escape(shlex.join(backend.command(cell))), soft_wrap=True)


def show_run(path: Path) -> None:
    """Write the page of a run, print its table, and say where the page is."""
    from lsmeter.report.format import RenderOptions
    from lsmeter.report.render import render
    from lsmeter.run.report import read_report
    from lsmeter.storage import write_atomic

    report = read_report(path)
    options = RenderOptions(width=SCREEN.out.width, colour=SCREEN.colour)
    page = path / HTML_FILE
    write_atomic(page, render(report, "html", options).encode())
    print_text(render(report, "table", options))
    SCREEN.out.print(f"results {escape(str(path))}", soft_wrap=True)
    SCREEN.out.print(f"page    {escape(str(page))}", soft_wrap=True)


def print_text(text: str) -> None:
    """Print text that a format has made, as it is."""
    SCREEN.out.file.write(text if text.endswith("\n") else text + "\n")
