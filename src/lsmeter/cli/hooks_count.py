# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter hooks count`: how often each hook runs in one operation, counted by the kernel."""

from __future__ import annotations

import typer

from lsmeter.base.errors import ExitCode
from lsmeter.cli import options
from lsmeter.cli.options import Asked
from lsmeter.cli.show import FormatOption, OutputOption


def add_to(group: typer.Typer) -> None:
    """Add the command to `lsmeter hooks`."""
    group.command("count")(count)


@options.measuring
def count(
    asked: Asked,
    run: options.RunArgument = None,
    form: FormatOption = "table",
    output: OutputOption = None,
) -> int:
    """Let an unmodified kernel count how often each of its hooks runs in one operation.

    Only the measured system call is counted, not what sets it up or undoes it.

        lsmeter hooks count
        lsmeter hooks count --kernel debian:7.2 --setup selinux --benchmark open
        lsmeter hooks count --format json -o counts.json
    """
    from lsmeter.cli.measure import measure, showing
    from lsmeter.cli.show import show
    from lsmeter.report.counts import document
    from lsmeter.results.directory import read_run

    code = ExitCode.OK
    if run is None:
        title = "Runs of each hook in one operation"
        words = asked.words(title=title, task="count", setups=["capability"], boots=1, seed=1)
        run, code = measure([options.experiment(words)], "hooks-count", asked)
    with showing(code):
        show(document(read_run(run)), form, output)
    return int(code)
