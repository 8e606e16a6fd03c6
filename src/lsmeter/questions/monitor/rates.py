# SPDX-License-Identifier: GPL-2.0-or-later
"""From the moments of a guest to series: counters become rates within a batch; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lsmeter.core.model.boot import BEGIN, END, Moment
from lsmeter.questions.monitor.proc import (
    PAGE_KIB,
    SECTOR_KIB,
    TICKS_PER_S,
    Numbers,
    Usage,
    numbers_of,
    processes_of,
)
from lsmeter.questions.monitor.series import Batch, Process, Series

_KIB = 1 / 1024
_CPU = {
    "cpu_user_percent": ("in user space", ("user", "nice")),
    "cpu_system_percent": ("in the kernel", ("system",)),
    "cpu_interrupts_percent": ("in interrupts and softirqs", ("irq", "softirq")),
    "cpu_wait_percent": ("waiting for disks", ("iowait",)),
    "cpu_steal_percent": ("taken by the host", ("steal",)),
    "cpu_idle_percent": ("idle", ("idle",)),
}
# Name of a series: group, title, the number that it is made of, and what that is multiplied by.
_MEMORY = {
    "memory_total_mib": ("all", "MemTotal"),
    "memory_free_mib": ("free", "MemFree"),
    "memory_available_mib": ("available", "MemAvailable"),
    "memory_cached_mib": ("page cache", "Cached"),
    "memory_buffers_mib": ("buffers", "Buffers"),
    "memory_anonymous_mib": ("of processes", "AnonPages"),
    "memory_shared_mib": ("shared, tmpfs", "Shmem"),
    "memory_slab_mib": ("slabs", "Slab"),
    "memory_active_mib": ("active", "Active"),
    "memory_inactive_mib": ("inactive", "Inactive"),
    "memory_dirty_mib": ("to be written", "Dirty"),
    "memory_swap_cached_mib": ("swap cache", "SwapCached"),
    "memory_swap_total_mib": ("swap", "SwapTotal"),
    "memory_swap_free_mib": ("free swap", "SwapFree"),
}
_GAUGES = {
    "runnable_tasks": ("tasks that can run", "stat.procs_running"),
    "blocked_tasks": ("tasks that wait for disks", "stat.procs_blocked"),
}
_RATES = {
    # Of all block devices: RAM disks and memory disks have no line of their own that counts.
    "disk_all_read_kib_per_s": ("disk", "all: read", "vm.pgpgin"),
    "disk_all_written_kib_per_s": ("disk", "all: written", "vm.pgpgout"),
    "context_switches_per_s": ("kernel", "context switches", "stat.ctxt"),
    "forks_per_s": ("kernel", "new tasks", "stat.processes"),
    "interrupts_per_s": ("kernel", "interrupts", "stat.intr"),
    "page_faults_per_s": ("kernel", "page faults", "vm.pgfault"),
    "major_page_faults_per_s": ("kernel", "page faults with a disk", "vm.pgmajfault"),
    "avc_lookups_per_s": ("avc", "look-ups", "avc.lookups"),
    "avc_hits_per_s": ("avc", "hits", "avc.hits"),
    "avc_misses_per_s": ("avc", "misses", "avc.misses"),
    "avc_reclaims_per_s": ("avc", "reclaimed", "avc.reclaims"),
}
_NETWORK = {
    "received_kib_per_s": ("received", "received_bytes", "KiB/s", _KIB),
    "sent_kib_per_s": ("sent", "sent_bytes", "KiB/s", _KIB),
    "received_packets_per_s": ("packets received", "received", "1/s", 1.0),
    "sent_packets_per_s": ("packets sent", "sent", "1/s", 1.0),
}
_DISK = {
    "read_kib_per_s": ("read", "read_sectors", "KiB/s", SECTOR_KIB),
    "written_kib_per_s": ("written", "written_sectors", "KiB/s", SECTOR_KIB),
    "busy_percent": ("busy", "busy_ms", "%", 0.1),
    "reads_per_s": ("reads", "reads", "1/s", 1.0),
    "writes_per_s": ("writes", "writes", "1/s", 1.0),
}
_DEVICES = {"network": ("net", _NETWORK), "disk": ("disk", _DISK)}


@dataclass(frozen=True)
class _Step:
    """A moment, and the one of the same batch before it."""

    time_s: float
    numbers: Numbers
    before: _Step | None

    def rate(self, name: str) -> float | None:
        """Return how fast a counter went since it was read last in the same batch."""
        here, step = self.numbers.get(name), self.before
        while step is not None and name not in step.numbers:
            step = step.before
        if here is None or step is None or here < step.numbers[name]:
            return None
        return (here - step.numbers[name]) / (self.time_s - step.time_s)


def series_of(moments: Sequence[Moment]) -> tuple[Series, ...]:
    """Return all series of moments that follow each other, one value for each moment."""
    steps = list(_steps(moments))
    names = dict.fromkeys(name for step in steps for name in step.numbers)
    return tuple(item for item in _series(steps, names) if item.known)


def _steps(moments: Sequence[Moment]) -> Iterator[_Step]:
    step: _Step | None = None
    for moment in moments:
        before = None if moment.when == BEGIN else step
        step = _Step(moment.time_ns / 1e9, numbers_of(moment.texts), before)
        yield step


def _series(steps: Sequence[_Step], names: Mapping[str, None]) -> Iterator[Series]:
    shares = [_shares(step) for step in steps]
    for name, (title, modes) in _CPU.items():
        values = (None if share is None else sum(share[mode] for mode in modes) for share in shares)
        yield Series("cpu", name, title, "%", tuple(values))
    for name, (title, key) in _MEMORY.items():
        kib = (step.numbers.get(f"memory.{key}") for step in steps)
        mib = tuple(None if number is None else number / 1024 for number in kib)
        yield Series("memory", name, title, "MiB", mib)
    for group, (kind, columns) in _DEVICES.items():
        devices = dict.fromkeys(
            name.split(".", 1)[1].rpartition(".")[0]
            for name in names
            if name.startswith(f"{kind}.")
        )
        for device in devices:
            for end, (title, key, unit, times) in columns.items():
                rates = (step.rate(f"{kind}.{device}.{key}") for step in steps)
                values = (None if rate is None else rate * times for rate in rates)
                name = f"{group}_{device}_{end}"
                yield Series(group, name, f"{device}: {title}", unit, tuple(values))
    for name, (group, title, key) in _RATES.items():
        unit = "KiB/s" if group == "disk" else "1/s"
        yield Series(group, name, title, unit, tuple(step.rate(key) for step in steps))
    for name, (title, key) in _GAUGES.items():
        numbers = tuple(step.numbers.get(key) for step in steps)
        yield Series("kernel", name, title, "tasks", numbers)


def _shares(step: _Step) -> dict[str, float] | None:
    """Return the share of each mode of the processors' time since the moment before, in %."""
    if step.before is None:
        return None
    modes = {name: key for _, keys in _CPU.values() for key in keys for name in [f"cpu.{key}"]}
    spent = {
        key: max(0, step.numbers.get(name, 0) - step.before.numbers.get(name, 0))
        for name, key in modes.items()
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
