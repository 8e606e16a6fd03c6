# SPDX-License-Identifier: GPL-2.0-or-later
"""What the boots of a monitored run say over time: from their moments to numbers, and to series.

The moments are part of a boot's raw results, and are read from there each time. They have texts of
/proc and of SELinux's cache, as the probe cuts them: lines that end in a semicolon, of words with
commas between (`lsmeter help protocol`). They come from a guest: what is not of the known form is
left out, and nothing raises. Counters become rates within a batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from lsmeter.core.groups import grouped
from lsmeter.core.inputs import whole_number
from lsmeter.core.model import Boot, Place
from lsmeter.core.model.boot import BEGIN, END, Moment
from lsmeter.core.printable import printable
from lsmeter.guest.session import parse_session
from lsmeter.measure.results.boots import read_boot, read_output
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.results.manifest import ManifestCell
from lsmeter.measure.tasks.tally import PLUGIN, DamagedTallyError, Tally, parse_tally
from lsmeter.questions.monitor.series import GROUPS, TABLES, Batch, Monitoring, Process, Series

TICKS_PER_S = 100  # of the times in /proc/stat and /proc/PID/stat, on every x86
PAGE_KIB = 4
_MOST_DEVICES = 16  # disks, interfaces
Numbers = dict[str, int]
Lines = list[list[str]]

_MODES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_DISK = {3: "reads", 5: "read_sectors", 7: "writes", 9: "written_sectors", 12: "busy_ms"}
_NET = {1: "received_bytes", 2: "received", 9: "sent_bytes", 10: "sent"}
_CPU = TABLES["cpu"]
_DEVICES = {"network": "net", "disk": "disk"}  # what its numbers begin with


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
            stored = read_boot(run.folder(boot), boot)
            if stored.capture is None or stored.request is None:
                continue
            if moments := parse_session(stored.capture.complete_lines, stored.request).moments:
                yield _monitored(run, cell, boot, moments)


def _monitored(
    run: RunData, cell: ManifestCell, boot: Boot, moments: Sequence[Moment]
) -> Monitored:
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
    regions = grouped((tally.region, tally) for tally in tallies)
    return {
        (item.benchmark, number): tally
        for at, item in enumerate(boot.samples)
        for number, tally in enumerate(regions.get(at, ()))
        if not tally.lost
    }


@dataclass(frozen=True)
class Usage:
    """What /proc/PID/stat says of one process."""

    name: str
    pid: int
    user_ticks: int
    system_ticks: int
    minor_faults: int
    major_faults: int
    threads: int
    size_bytes: int
    resident_pages: int


_USAGE = 8  # numbers of it


def numbers_of(texts: Mapping[str, str]) -> Numbers:
    """Return all numbers of a moment by name: `cpu.user`, `net.eth0.sent_bytes`, `avc.misses`."""

    def lines(source: str) -> Lines:
        return lines_of(texts.get(source, ""))

    spent = (words for name, *words in lines("stat") if name == "cpu")
    words = (
        *((f"cpu.{mode}", of) for words in spent for mode, of in zip(_MODES, words, strict=False)),
        *_pairs("stat", lines("stat")),
        *_pairs("memory", lines("meminfo")),
        *_pairs("vm", lines("vmstat")),
        *_rows("disk", 2, _DISK, lines("disks")),
        *_rows("net", 0, _NET, lines("net")),
    )
    read = ((name, whole_number(word)) for name, word in words)
    return {n: number for n, number in read if number is not None} | dict(_avc(lines("avc")))


def processes_of(texts: Mapping[str, str]) -> dict[int, Usage]:
    """Return what each process has used until a moment."""
    found = {}
    for *words, name in lines_of(texts.get("processes", "")):
        numbers = [number for number in map(whole_number, words) if number is not None]
        if len(numbers) == len(words) == _USAGE:
            found[numbers[0]] = Usage(name, *numbers)
    return found


def lines_of(text: str) -> Lines:
    """Take a text apart."""
    return [line.split(",") for line in text.split(";")[:-1]]


def _pairs(prefix: str, lines: Lines) -> Iterator[tuple[str, str]]:
    for name, *words in lines:
        if words:
            yield f"{prefix}.{name.removesuffix(':')}", words[0]


def _rows(
    kind: str, name_at: int, places: Mapping[int, str], lines: Lines
) -> Iterator[tuple[str, str]]:
    """Read a line for each device; places are those of its numbers."""
    for line in lines[:_MOST_DEVICES]:
        for at, name in places.items():
            if at < len(line):
                yield f"{kind}.{line[name_at].removesuffix(':')}.{name}", line[at]


def _avc(lines: Lines) -> Iterator[tuple[str, int]]:
    """Add up the processors' lines, which stand below the names."""
    head, *rows = lines or [[]]
    for at, name in enumerate(head):
        column = [whole_number(row[at]) for row in rows if at < len(row)]
        known = [number for number in column if number is not None]
        if known and not name.isdigit():
            yield f"avc.{name}", sum(known)


class _Step(NamedTuple):
    """What a moment says; no rate is of the span before the first one of a batch."""

    is_first: bool
    time_s: float
    numbers: Numbers


def series_of(moments: Sequence[Moment]) -> tuple[Series, ...]:
    """Return all series of moments that follow each other, one value for each moment."""
    steps = [
        _Step(moment.when == BEGIN, moment.time_ns / 1e9, numbers_of(moment.texts))
        for moment in moments
    ]
    names = dict.fromkeys(name for step in steps for name in step.numbers)
    return tuple(item for item in _series(steps, names) if item.known)


def _rates(steps: Sequence[_Step], name: str) -> Iterator[float | None]:
    """Give how fast a counter went since it was read last in the same batch."""
    last: tuple[float, int] | None = None
    for is_first, time_s, numbers in steps:
        last, here = None if is_first else last, numbers.get(name)
        if last is None or here is None or here < last[1]:
            yield None
        else:
            yield (here - last[1]) / (time_s - last[0])
        last = last if here is None else (time_s, here)


def _series(steps: Sequence[_Step], names: Mapping[str, None]) -> Iterator[Series]:
    shares = [None, *(_shares(*pair) for pair in pairwise(steps))]
    for name, item in _CPU.items():
        of = item["of"]
        values = (None if share is None else sum(share[mode] for mode in of) for share in shares)
        yield Series("cpu", name, item["title"], "%", tuple(values))
    for name, item in TABLES["memory"].items():
        kib = (step.numbers.get(f"memory.{item['of']}") for step in steps)
        mib = tuple(None if number is None else number / 1024 for number in kib)
        yield Series("memory", name, item["title"], "MiB", mib)
    for group, kind in _DEVICES.items():
        mine = (name for name in names if name.startswith(f"{kind}."))
        for device in dict.fromkeys(name.split(".", 1)[1].rpartition(".")[0] for name in mine):
            for end, item in TABLES["devices"][kind].items():
                rates = _rates(steps, f"{kind}.{device}.{item['of']}")
                values = (None if rate is None else rate * item["times"] for rate in rates)
                title = f"{device}: {item['title']}"
                yield Series(group, f"{group}_{device}_{end}", title, item["unit"], tuple(values))
    for name, item in TABLES["rates"].items():
        rated = tuple(_rates(steps, item["of"]))
        yield Series(item["group"], name, item["title"], GROUPS[item["group"]]["axis"], rated)
    for name, item in TABLES["gauges"].items():
        numbers = tuple(step.numbers.get(item["of"]) for step in steps)
        yield Series("kernel", name, item["title"], "tasks", numbers)


def _shares(last: _Step, step: _Step) -> dict[str, float] | None:
    """Return the share of each mode of the processors' time since the moment before, in %."""
    if step.is_first:
        return None
    here, before = step.numbers, last.numbers
    spent = {
        mode: max(0, here.get(f"cpu.{mode}", 0) - before.get(f"cpu.{mode}", 0))
        for item in _CPU.values()
        for mode in item["of"]
    }
    whole = sum(spent.values())
    return {key: 100 * ticks / whole for key, ticks in spent.items()} if whole else None


def batches_of(moments: Sequence[Moment], warmup: int) -> tuple[Batch, ...]:
    """Return the batches that came to their end; so many of each benchmark are for warming up."""
    found, begin_s = [], 0.0
    for moment in moments:
        time_s = moment.time_ns / 1e9
        if moment.when == BEGIN:
            begin_s = time_s
        elif moment.when == END:
            number = moment.batch
            found.append(Batch(moment.benchmark, number, number < warmup, begin_s, time_s))
    return tuple(found)


def process_uses(moments: Sequence[Moment]) -> tuple[Process, ...]:
    """Return what each process used between the moments of a batch that speak of processes."""
    found: list[Process] = []
    before: dict[int, Usage] = {}
    before_s = 0.0
    for moment in moments:
        time_s, here = moment.time_ns / 1e9, processes_of(moment.texts)
        if moment.when != BEGIN and here:
            span_s = time_s - before_s
            known = ((before[pid], usage) for pid, usage in here.items() if pid in before)
            found += [
                _process(time_s, span_s, *pair) for pair in known if pair[0].name == pair[1].name
            ]
        if here:
            before, before_s = here, time_s
    return tuple(found)


def _process(time_s: float, span_s: float, before: Usage, here: Usage) -> Process:
    def rate(name: str, times: float = 1.0) -> float:
        used: int = getattr(here, name) - getattr(before, name)
        return max(0, used) * times / span_s

    percent = 100 / TICKS_PER_S
    return Process(
        time_s,
        span_s,
        here.pid,
        here.name,
        rate("user_ticks", percent),
        rate("system_ticks", percent),
        here.size_bytes / 1024,
        here.resident_pages * PAGE_KIB,
        rate("minor_faults"),
        rate("major_faults"),
    )
