# SPDX-License-Identifier: GPL-2.0-or-later
"""What the plugin `tally` writes: instructions and events of each region, by account; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from lsmeter.core.model.arch import ARCHES

PLUGIN = "tally"  # the plugin, and its output in Capture.outputs
HEADER = "lsmeter-tally 1"
_CALLS = ("__do_sys_", *(arch.calls for arch in ARCHES.values()))
_MOST_LINES = 2_000_000
_REGION = re.compile(r"region (0|[1-9][0-9]{0,4})")
_COUNT = re.compile(
    r"([a-z]{1,20}) (insns|kernel|events|calls|hook|syscall|errors|within) "
    r"([A-Za-z0-9_.]{1,100}(?:/[A-Za-z0-9_.]{1,100})?) ([0-9]{1,19})"
)


class Account(StrEnum):
    """Whose an instruction is (plugin/tally/accounts.h)."""

    SERVICE = "service"
    CLIENT = "client"
    DRIVER = "driver"  # lsmeter's own init
    THREADS = "threads"  # of the kernel
    INTERRUPTS = "interrupts"  # and softirqs: the network of both ends, whoever they interrupt
    CLOCK = "clock"  # ticks, timers and grace periods: they come with time, not with requests
    CLEANUP = "cleanup"  # what the client and the driver put off: callbacks of RCU, work of threads
    IDLE = "idle"


# What a service costs: its tasks, and what the kernel does on their behalf elsewhere. Interrupts
# and threads work for both ends of a link; neither the client's tasks nor the driver's are in it,
# nor what they put off, nor what comes with time.
ON_BEHALF = (Account.SERVICE, Account.INTERRUPTS, Account.THREADS)

EVERYBODY = (*Account, "none")
# What the plugin counts and the clock does not: instructions after a page fault in their block,
# a second time, and the markers, which are outside of the clock's two readings.
_TWICE, _MARKERS_INSNS = 0.002, 1000


class DamagedTallyError(Exception):
    """What is wrong with a tally: one line."""


@dataclass
class Tally:
    """One region: numbers by account, kind (insns, kernel, events, calls, hook, ...) and name."""

    region: int
    counts: dict[tuple[str, str, str], int] = field(default_factory=dict)

    @property
    def lost(self) -> int:
        """How often the plugin lost track of a task or a frame: the numbers are wrong then."""
        return self.counts.get(("none", "events", "lost"), 0)

    def by_name(self, kind: str, of: Iterable[str] = ON_BEHALF) -> dict[str, int]:
        """Add up what accounts have of a kind, by name."""
        accounts, found = set(of), dict[str, int]()
        for (account, its, name), count in self.counts.items():
            if its == kind and account in accounts:
                found[name] = found.get(name, 0) + count
        return found

    def syscalls(self) -> dict[str, int]:
        """Return how often the service made each system call, by the kernel's name of it.

        A call without arguments has one function of two names; of another with two functions the
        outer one is it. What came in by none of them (of 32-bit programs) is called `other`.
        """
        found = self.by_call("syscall")
        rest = self.total("events", "syscalls", of=[Account.SERVICE]) - sum(found.values())
        return found | ({"other": rest} if found and rest > 0 else {})

    def by_call(self, kind: str) -> dict[str, int]:
        """Return numbers of the service's system calls by the kernel's name of the call.

        kind: syscall (how often it was made), errors, or within: instructions, by CALL/MODULE.
        """
        counts = self.by_name(kind, of=[Account.SERVICE])
        return {
            name.removeprefix(prefix): count
            for prefix in _CALLS
            for name, count in counts.items()
            if name.startswith(prefix)
        }

    @property
    def errors_known(self) -> bool:
        """Whether the result of each system call was read."""
        results = self.total("events", "results", of=[Account.SERVICE])
        return bool(results) and not self.counts.get(("none", "events", "unread"))

    def total(self, kind: str, name: str | None = None, of: Iterable[str] = ON_BEHALF) -> int:
        """Add up what accounts have of a kind, of one name or of all."""
        found = self.by_name(kind, of)
        return sum(found.values()) if name is None else found.get(name, 0)

    def exceeds(self, clock_insns: float) -> bool:
        """Whether it counts more than the guest's clock did, beyond what only the plugin counts."""
        counted = sum(self.total(kind, of=EVERYBODY) for kind in ("kernel", "insns"))
        return counted > clock_insns * (1 + _TWICE) + _MARKERS_INSNS


def parse_tally(text: str, *, ended: bool = False) -> tuple[Tally, ...]:
    """Read the regions that ended, in their order; DamagedTallyError for anything unexpected.

    A guest that ended early leaves no `eof`: what ended before is whole all the same. ended: it
    ended well, and so must its tally.
    """
    *whole, _ = text.split("\n")  # what stands behind the last newline was cut off
    if whole and whole[-1] == "eof":
        whole.pop()
    elif ended:
        raise DamagedTallyError("it has no end")
    lines = iter(whole)
    if next(lines, "") != HEADER:
        raise DamagedTallyError(f"it does not begin with '{HEADER}'")
    return tuple(_regions(lines))


def _regions(lines: Iterator[str]) -> Iterator[Tally]:
    tally: Tally | None = None
    for number, line in enumerate(lines, 2):
        if number > _MOST_LINES:
            raise DamagedTallyError(f"it has more than {_MOST_LINES} lines")
        begin, count = _REGION.fullmatch(line), _COUNT.fullmatch(line)
        if tally is None and begin:
            tally = Tally(int(begin[1]))
        elif tally is not None and line == "end":
            yield tally
            tally = None
        elif tally and count and (key := (count[1], count[2], count[3])) not in tally.counts:
            tally.counts[key] = int(count[4])
        else:
            raise DamagedTallyError(f"line {number} cannot stand there: {line[:60]!r}")
