# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter monitor`: what a monitored run, or an nmon file, says over time."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lsmeter.cli import names
from lsmeter.cli.show import show, the_latest, write
from lsmeter.core.errors import UsageError

if TYPE_CHECKING:
    from lsmeter.measure.results.directory import RunData
    from lsmeter.questions.monitor.figures import Monitored


def monitor(
    source: Annotated[
        Path | None,
        names.run_argument(
            "RUN|FILE.nmon",
            "Run directory, or a file that nmon wrote.  [default: the latest in runs/]",
        ),
    ] = None,
    setup: Annotated[str | None, names.setup_option("Only this setup of the run.")] = None,
    boot: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="This boot of each cell.  [default: the first]"),
    ] = None,
    nmon: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write one boot as an nmon file, too.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also the mean, least and most of every series.")
    ] = False,
) -> int:
    """Show what a server does over time, beside the load: CPU, memory, network, cache of SELinux.

    For runs that were made with `run --monitor MS`. What nmon recorded elsewhere is shown in the
    same way. A page has plots; csv and json have every value.

        lsmeter run --suite web -s selinux-enforcing --monitor 50
        lsmeter monitor
        lsmeter monitor runs/2026-11-20T10-00-00-run -f html -o page.html
        lsmeter monitor runs/web -s selinux-enforcing --nmon web.nmon
        lsmeter monitor server_261120_1000.nmon -f csv
    """
    from lsmeter.measure.results.directory import read_run
    from lsmeter.questions.cells.verify import damage_code
    from lsmeter.questions.monitor.document import document

    named = source is not None and (source.suffix == ".nmon" or source.is_file())
    if source is not None and named and not source.is_dir():
        if setup or boot is not None or nmon:
            raise UsageError(f"{source} is a file: --setup, --boot and --nmon are for runs")
        return _show_file(source, everything=everything)
    run = read_run(source or the_latest())
    found = _chosen(run, setup, boot)
    if nmon is not None:
        _write_nmon(run, found, nmon)
    show(partial(document, run, boots=found), everything=everything)
    return damage_code(run)


def _chosen(run: RunData, setup: str | None, boot: int | None) -> list[Monitored]:
    from lsmeter.questions.monitor.figures import find_monitored, is_monitored

    if not is_monitored(run):
        raise UsageError(
            f"{run.path}: no boot of it was monitored",
            hint="lsmeter run --suite web --monitor 50 makes a run that is",
        )
    every = list(find_monitored(run, first_only=boot is None))
    setups = dict.fromkeys(item.place.setup for item in every)
    found = [
        item
        for item in every
        if setup in {None, item.place.setup} and boot in {None, item.boot.index}
    ]
    if not found and setup is not None and setup not in setups:
        raise UsageError(
            f"--setup: nothing of '{setup}' was monitored", hint=f"there is: {', '.join(setups)}"
        )
    if not found:
        which = "no boot" if boot is None else f"no boot {boot}"
        raise UsageError(f"{run.path}: {which} that says anything over time")
    return found


def _write_nmon(run: RunData, found: list[Monitored], path: Path) -> None:
    from lsmeter.questions.monitor.nmon_writer import write_nmon

    if len(found) > 1:
        one = found[0].place
        raise UsageError(
            f"--nmon: a file has one boot, and these are {len(found)} cells",
            hint=f"name one, as in --setup {one.setup}",
        )
    begun = datetime.fromisoformat(run.manifest.created)
    write(path, write_nmon(found[0].found, begun).encode(), "--nmon")


def _show_file(path: Path, *, everything: bool) -> int:
    from lsmeter.core.inputs import read_file
    from lsmeter.questions.monitor.document import file_document
    from lsmeter.questions.monitor.nmon_reader import MAX_BYTES, DamagedNmonError, read_nmon

    try:
        found = read_nmon(read_file(path, MAX_BYTES, "a file of nmon's"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except DamagedNmonError as error:
        raise UsageError(f"{path}: {error}", hint="`nmon -f` writes such files") from None
    show(partial(file_document, found, path.name), everything=everything)
    return 0
