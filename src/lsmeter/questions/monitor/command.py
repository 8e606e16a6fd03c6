# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter monitor`: what a monitored run says over time."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

from lsmeter.cli.options import LatestRunArgument, declared
from lsmeter.cli.show import show, the_latest
from lsmeter.core.errors import UsageError

if TYPE_CHECKING:
    from lsmeter.measure.results.directory import RunData
    from lsmeter.questions.monitor.figures import Monitored


def monitor(
    run: LatestRunArgument = None,
    setup: Annotated[str | None, declared("only_setup", text="Only this setup.")] = None,
    boot: Annotated[int | None, declared("monitor.boot")] = None,
    everything: Annotated[bool, declared("monitor.everything")] = False,
) -> int:
    """Show what a guest does over time: CPU, memory, network, load.

    For runs that were made with `run --monitor MS`. A page has plots; csv and json have
    every value.

        lsmeter run --suite web -s selinux-enforcing --monitor 50
        lsmeter monitor
        lsmeter monitor runs/2026-11-20T10-00-00-run -f html -o page.html
        lsmeter monitor runs/web -s selinux-enforcing -f csv
    """
    from lsmeter.measure.results.directory import read_run
    from lsmeter.questions.cells.verify import damage_code
    from lsmeter.questions.monitor.document import document

    data = read_run(run or the_latest())
    found = _chosen(data, setup, boot)
    show(partial(document, data, boots=found), everything=everything)
    return damage_code(data)


def _chosen(run: RunData, setup: str | None, boot: int | None) -> list[Monitored]:
    from lsmeter.questions.monitor.figures import find_monitored, is_monitored

    if not is_monitored(run):
        raise UsageError(
            f"{run.title}: no boot of it was monitored",
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
        raise UsageError(f"{run.title}: {which} that says anything over time")
    return found
