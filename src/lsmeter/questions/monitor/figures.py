# SPDX-License-Identifier: GPL-2.0-or-later
"""What the boots of a monitored run say over time, and the exact counts of the same batches.

The moments are part of a boot's raw results, and are read from there each time.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lsmeter.core.model import Boot, Place
from lsmeter.core.printable import printable
from lsmeter.guest.session import parse_session
from lsmeter.measure.results.boots import read_boot, read_output
from lsmeter.measure.results.directory import RunData, asked_cell, request_of
from lsmeter.measure.results.manifest import ManifestCell
from lsmeter.measure.tasks.tally import PLUGIN, DamagedTallyError, Tally, parse_tally
from lsmeter.questions.monitor.rates import batches_of, process_uses, series_of
from lsmeter.questions.monitor.series import Monitoring


@dataclass(frozen=True)
class Monitored:
    """One boot over time. exact has what was counted in each batch, by benchmark and number."""

    place: Place
    boot: Boot
    found: Monitoring
    exact: Mapping[tuple[str, int], Tally] = field(default_factory=dict, hash=False)
    of_host: bool = False  # a server's host, not a guest


def is_monitored(run: RunData) -> bool:
    """Say whether any of the run's boots were to be monitored."""
    return any(cell.task.monitor_ms for cell in run.manifest.cells)


def find_monitored(run: RunData, *, first_only: bool = False) -> Iterator[Monitored]:
    """Give every boot that says anything over time, cell by cell; or each cell's first."""
    for cell in run.manifest.cells:
        boots = [boot for boot in run.boots_of(cell) if boot.status.usable]
        for boot in (boots[:1] if first_only else boots) if cell.task.monitor_ms else ():
            found = _monitored(run, cell, boot)
            if found.found.times_s:
                yield found


def _monitored(run: RunData, cell: ManifestCell, boot: Boot) -> Monitored:
    stored = read_boot(run.folder(boot), boot)
    if stored.capture is None:
        return Monitored(cell.place, boot, Monitoring(cell.place.setup, (), 0, (), ()))
    request = request_of(stored, asked_cell(run.manifest, cell))
    moments = parse_session(stored.capture.complete_lines, request).moments
    of_host = cell.task.name == "visit"
    clock = "" if of_host else " of guest time"
    facts = (
        ("setup", cell.place.label),
        ("boot", f"{boot.index}, seed {boot.seed}"),
        ("every", f"{cell.task.monitor_ms} ms{clock}, and at both ends of each batch"),
    )
    lost = sum(moment.lost for moment in moments)
    found = Monitoring(
        printable(cell.place.setup),
        facts,
        cell.task.monitor_ms,
        tuple(moment.time_ns / 1e9 for moment in moments),
        series_of(moments),
        batches_of(moments, cell.warmup),
        process_uses(moments),
        (f"{lost} moments were left out: the guest had no room for them",) if lost else (),
    )
    return Monitored(cell.place, boot, found, _exact(run, boot), of_host)


def _exact(run: RunData, boot: Boot) -> dict[tuple[str, int], Tally]:
    """Return what the plugin counted in each batch; nothing where that is damaged."""
    raw = read_output(run.folder(boot), PLUGIN)
    try:
        tallies = parse_tally(raw.decode("ascii", "replace")) if raw else ()
    except DamagedTallyError:
        return {}
    found: dict[tuple[str, int], Tally] = {}
    for at, benchmark in enumerate(item.benchmark for item in boot.samples):
        mine = [tally for tally in tallies if tally.region == at]
        numbered = enumerate(mine)
        found |= {(benchmark, number): tally for number, tally in numbered if not tally.lost}
    return found


@functools.cache
def modes() -> Mapping[str, tuple[str, str]]:
    """Return the rows of exact CPU by mode: account and kind of each count."""
    accounts = ("service", "client", "driver", "threads", "interrupts", "idle")
    kinds = {"user": "insns", "kernel": "kernel"}
    alone = {"threads", "interrupts", "idle"}
    return {
        (name if name in alone else f"{name}, {mode}"): (name, kind)
        for name in accounts
        for mode, kind in kinds.items()
        if name not in alone or mode == "kernel"
    }
