# SPDX-License-Identifier: GPL-2.0-or-later
"""Series as an nmon file, which existing viewers read; pure.

The clock of nmon's files has whole seconds, and a guest's moments lie milliseconds apart: in the
file the time between two of them is stretched to a second. Rates stay those of the guest's
seconds; the section LSMETER has each snapshot's own time, and BBBP lines the batches.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from lsmeter import __version__
from lsmeter.core.groups import grouped
from lsmeter.questions.monitor.series import Batch, Monitoring, Process

TIMES = "LSMETER"  # the section of the snapshots' own times
BATCHES = "lsmeter batches"
_UNKNOWN = "-1.0"  # as nmon writes what the kernel does not say
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
MEMORY = {
    "memtotal": "memory_total_mib",
    "hightotal": "",
    "lowtotal": "",
    "swaptotal": "memory_swap_total_mib",
    "memfree": "memory_free_mib",
    "highfree": "",
    "lowfree": "",
    "swapfree": "memory_swap_free_mib",
    "memshared": "memory_shared_mib",
    "cached": "memory_cached_mib",
    "active": "memory_active_mib",
    "bigfree": "",
    "buffers": "memory_buffers_mib",
    "swapcached": "memory_swap_cached_mib",
    "inactive": "memory_inactive_mib",
}
PROCESSES = {
    "Runnable": "runnable_tasks",
    "Blocked": "blocked_tasks",
    "pswitch": "context_switches_per_s",
    **dict.fromkeys(("syscall", "read", "write"), ""),
    "fork": "forks_per_s",
    **dict.fromkeys(("exec", "sem", "msg"), ""),
}
AVC = {
    "lookups/s": "avc_lookups_per_s",
    "hits/s": "avc_hits_per_s",
    "misses/s": "avc_misses_per_s",
}
# Section of devices: title, and the ends of the series that make a column of each device.
_DISKS = {
    "DISKBUSY": ("Disk %Busy", ("busy_percent",)),
    "DISKREAD": ("Disk Read KB/s", ("read_kib_per_s",)),
    "DISKWRITE": ("Disk Write KB/s", ("written_kib_per_s",)),
    "DISKXFER": ("Disk transfers per second", ("reads_per_s", "writes_per_s")),
}
_NETS = {
    "NET": ("Network I/O", "KB/s", ("received_kib_per_s", "sent_kib_per_s")),
    "NETPACKET": ("Network Packets", "/s", ("received_packets_per_s", "sent_packets_per_s")),
}
_TOP = "PID,Time,%CPU,%Usr,%Sys,Size,ResSet,ResText,ResData,ShdLib,MinorFault,MajorFault,Command"

Columns = list[str]  # of one section, value by value


def write_nmon(found: Monitoring, begun: datetime) -> str:
    """Return the file; begun is the time that its first snapshot is given."""
    return "".join(f"{line}\n" for line in _lines(_with_rates(found), begun.astimezone(UTC)))


def _with_rates(found: Monitoring) -> Monitoring:
    """Leave out the moments at which batches begin: they end no span that there is a rate of."""
    begins = {batch.begin_s for batch in found.batches}
    kept = [at for at, time_s in enumerate(found.times_s) if time_s not in begins]
    series = (replace(item, values=tuple(item.values[at] for at in kept)) for item in found.series)
    return replace(found, times_s=tuple(found.times_s[at] for at in kept), series=tuple(series))


def _lines(found: Monitoring, begun: datetime) -> Iterator[str]:
    sections = [*_sections(found)]
    seconds = stretched(found.times_s, found.every_ms)
    yield from _head(found, begun)
    for name, title, columns in sections:
        yield ",".join((name, f"{title} {found.host}", *columns))
    names = {time_s: f"T{at + 1:04}" for at, time_s in enumerate(found.times_s)}
    if found.processes:
        yield "TOP,%CPU Utilisation"
        yield f"TOP,+{_TOP}"
    by_time = grouped((process.time_s, process) for process in found.processes)
    for at, time_s in enumerate(found.times_s):
        name, when = names[time_s], begun + timedelta(seconds=seconds[at])
        yield f"ZZZZ,{name},{when:%H:%M:%S},{_date(when)}"
        for section, _, columns in sections:
            yield ",".join((section, name, *(values[at] for values in columns.values())))
        yield from (_top(name, process) for process in by_time.get(time_s, ()))


def stretched(times_s: Sequence[float], every_ms: int) -> list[int]:
    """Return a whole second for each time, each later than the last."""
    found: list[int] = []
    for time_s in times_s:
        due = round((time_s - times_s[0]) * 1000 / max(every_ms, 1))
        found.append(max(due, found[-1] + 1) if found else 0)
    return found


def _head(found: Monitoring, begun: datetime) -> Iterator[str]:
    facts = {
        "progname": "lsmeter",
        "command": "lsmeter monitor",
        "version": __version__,
        "disks_per_line": "150",
        "host": found.host,
        "user": "root",
        "OS": "Linux",
        "runname": found.host,
        "time": f"{begun:%H:%M.%S}",
        "date": _date(begun),
        "interval": "1",
        "snapshots": str(len(found.times_s)),
        "cpus": "1",
        "note0": f"a second stands for {found.every_ms} ms of the guest's time; {TIMES} has it",
    }
    for name, value in facts.items():
        yield f"AAA,{name},{_word(value)}"
    told = [("lsmeter", f"{_word(name)}: {_word(value)}") for name, value in found.facts]
    told += [(BATCHES, _batch(batch)) for batch in found.batches]
    for number, (what, text) in enumerate(told):
        yield f'BBBP,{number:03},{what},"{text}"'


def _batch(batch: Batch) -> str:
    times = f"{batch.begin_s:.9f},{batch.end_s:.9f}"
    return f"{_word(batch.benchmark)},{batch.number},{int(batch.warmup)},{times}"


def _sections(found: Monitoring) -> Iterator[tuple[str, str, dict[str, Columns]]]:
    """Give name, title and columns of each section that there is anything for."""
    yield TIMES, "Guest time in s", {"guest_s": [f"{time_s:.9f}" for time_s in found.times_s]}
    cpu = _cpu(found)
    yield "CPU001", "CPU 1", {name: cpu[name] for name in list(cpu)[:5]}
    yield "CPU_ALL", "CPU Total", cpu
    yield "MEM", "Memory MB", _columns(found, MEMORY)
    yield "PROC", "Processes", _columns(found, PROCESSES)
    for name, (title, unit, ends) in _NETS.items():
        words = ((end, word) for end, word in zip(ends, ("read", "write"), strict=True))
        columns = {
            f"{device}-{word}-{unit}".replace("-/s", "/s"): _sum(found, f"network_{device}", (end,))
            for end, word in words
            for device in devices(found, "network")
        }
        if columns:
            yield name, title, columns
    for name, (title, parts) in _DISKS.items():
        # Also where there is no disk: viewers look for these sections.
        disks = devices(found, "disk")
        yield name, title, {disk: _sum(found, f"disk_{disk}", parts) for disk in disks}
    if found.of("avc"):
        yield "AVC", "SELinux access vector cache", _columns(found, AVC)


def devices(found: Monitoring, group: str) -> list[str]:
    """Return the names of the disks or interfaces."""
    titles = (item.title.rpartition(": ")[0] for item in found.series if item.group == group)
    return list(dict.fromkeys(titles))


def _cpu(found: Monitoring) -> dict[str, Columns]:
    system = ("cpu_system_percent", "cpu_interrupts_percent")
    modes = {
        "User%": ("cpu_user_percent",),
        "Sys%": system,
        "Wait%": ("cpu_wait_percent",),
        "Idle%": ("cpu_idle_percent",),
        "Steal%": ("cpu_steal_percent",),
        "Busy": ("cpu_user_percent", *system),
    }
    columns = {name: _added(found, names) for name, names in modes.items()}
    return {**columns, "CPUs": ["1"] * len(found.times_s)}


def _columns(found: Monitoring, names: dict[str, str]) -> dict[str, Columns]:
    return {
        column: _added(found, (name,)) if name else [_UNKNOWN] * len(found.times_s)
        for column, name in names.items()
    }


def _sum(found: Monitoring, device: str, ends: Sequence[str]) -> Columns:
    return _added(found, [f"{device}_{end}" for end in ends])


def _added(found: Monitoring, names: Sequence[str]) -> Columns:
    """Add series up; what is not known at a time is 0 there, as in nmon's own first snapshot."""
    values = [series.values for name in names if (series := found.find(name))]
    if not values:
        return [_UNKNOWN] * len(found.times_s)
    return [f"{math.fsum(value or 0.0 for value in row):.1f}" for row in zip(*values, strict=True)]


def _top(name: str, process: Process) -> str:
    both = process.user_percent + process.system_percent
    shares = (both, process.user_percent, process.system_percent)
    sizes = (process.size_kib, process.resident_kib, 0, 0, 0)
    faults = (process.minor_faults_per_s, process.major_faults_per_s)
    words = (
        f"{process.pid:07}",
        name,
        *(f"{share:.2f}" for share in shares),
        *(f"{number:.0f}" for number in (*sizes, *faults)),
        _word(process.name),
    )
    return f"TOP,{','.join(words)}"


def _word(text: str) -> str:
    """Take out what ends a field or a line."""
    return "".join(" " if c in ',"' or not c.isprintable() else c for c in text)


def _date(when: datetime) -> str:
    """Write a date as nmon does, whatever the language."""
    return f"{when.day:02}-{MONTHS[when.month - 1]}-{when.year}"
