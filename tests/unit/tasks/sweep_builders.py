# SPDX-License-Identifier: GPL-2.0-or-later
"""Sweeps with a known truth, and the recorded ones of real guests."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from lsmeter.core.model import Benchmark, BenchmarkStatus, Boot, BootStatus, Kernel, Place, Samples
from lsmeter.guest.boot_image import make_request
from lsmeter.guest.session import Session, parse_session
from lsmeter.measure.experiment.plan import Plan, boot_order, delay_order
from tests.unit.guest.lines import bodies, lines
from tests.unit.model_builders import benchmark, kernel
from tests.unit.run_builders import plan_of

DELAYS_NS = tuple(range(0, 110_001, 10_000))
NS_PER_INSN = 16
WAIT_NS = 768  # beside the delay
PLACE = Place("6.1", "tunable", "file", "tmpfs", "root")

# What a guest with the tunable module in Linux 6.1 sent: 11 samples at each of 12 delays, which a
# boot had in ascending order when it was recorded.
_SWEEP = Path(__file__).parents[2] / "data" / "slopes" / "tunable-6.1.log"

# What a guest of Debian's 6.1 sent that counted the look-ups of SELinux without a policy.
LOOKUPS = _SWEEP.with_name("selinux-lookups-6.1.log")


def asked_as(*said: Benchmark) -> tuple[Benchmark, ...]:
    """Return the order of a catalogue with which a boot with seed 1 says them as here."""
    order = boot_order([str(number) for number in range(len(said))], 1)
    return tuple(said[order.index(str(number))] for number in range(len(said)))


# Of what is recorded.
READINGS = {"sampling": {"samples": 11}, "conditions": {"icount_shift": 4}}
SWEPT = asked_as(
    benchmark("getppid"),
    *(benchmark("open", depth=depth) for depth in range(1, 9)),
    benchmark("read", size=1),
    benchmark("rename", depth=2),
    *(benchmark("stat", depth=depth) for depth in range(1, 9)),
)
LOOKED_UP = asked_as(
    benchmark("creat", depth=1),
    benchmark("getppid"),
    benchmark("open", depth=1),
    *(benchmark("read", size=size) for size in (0, 1024, 2048, 4096, 1)),
    benchmark("rename", depth=1),
    *(benchmark("stat", depth=depth) for depth in (1, 2)),
)


def boot_of(session: Session) -> Boot:
    """Return the boot of a session, as if its setup had been verified."""
    return Boot(
        "00",
        0,
        1,
        BootStatus.OK,
        session.facts,
        session.samples,
        counts=session.counts,
        states=session.states,
    )


def made(samples: Sequence[Samples]) -> Boot:
    """Return a boot of a sweep with these samples."""
    facts = tuple((f"policy.{ns}", f"{ns + WAIT_NS} {ns + WAIT_NS}") for ns in DELAYS_NS)
    return Boot("00", 0, 1, BootStatus.OK, facts, tuple(samples))


def reading(
    item: Benchmark,
    delay_ns: int,
    *values: int,
    status: BenchmarkStatus = BenchmarkStatus.OK,
    detail: str = "",
) -> Samples:
    return Samples(item.id, status, values, detail=detail, delay_ns=delay_ns)


def exact(item: Benchmark, calls: int, insns: int) -> list[Samples]:
    """Return samples that lie on a line, with a disturbed reading at each delay."""
    found = []
    for delay in DELAYS_NS:
        value = insns + calls * delay // NS_PER_INSN
        found.append(reading(item, delay, value, value, value + 999))
    return found


@cache
def recorded_sweep() -> bytes:
    """Return what the guest sent, with its delays in the order of a boot with seed 1."""
    said = "\n".join(bodies(_SWEEP.read_bytes())[:-1])
    first, *parts = said.split("\nfact policy.")
    header, blocks = f"{first}\nfact policy.{parts[0]}", parts[1:]
    order = [blocks[DELAYS_NS.index(ns)] for ns in delay_order(DELAYS_NS, 1)]
    number = itertools.count()

    def renumbered(found: re.Match[str]) -> str:
        at = next(number)
        return f"begin {at}{found[1]} {at}{found[2]} {at}"

    text = "\n".join(f"fact policy.{block}" for block in order)
    text = re.sub(r"(?m)^begin \d+(.*\nsamples) \d+(.*\nend) \d+", renumbered, text)
    return lines(*header.split("\n"), *text.split("\n"), f"bye {next(number)}")


def recorded_boot() -> Boot:
    (planned,) = sweep_plan().boots
    return boot_of(parse_session(recorded_sweep(), make_request(planned.cell, 1)))


def lookups_boot() -> Boot:
    (planned,) = plan_of([kernel()], LOOKED_UP, {"setups": ["selinux"], "task": "lookups"}).boots
    return boot_of(parse_session(LOOKUPS.read_bytes(), make_request(planned.cell, 1)))


def tunable_kernel() -> Kernel:
    return replace(kernel(SECURITY_TUNABLE="y"), release="6.1.192", image_sha256="cd" * 32)


def sweep_plan(*more: dict[str, object], on: Kernel | None = None) -> Plan:
    """Plan the recorded sweep."""
    words = {"setups": ["tunable"], "task": "sweep", "delays_ns": list(DELAYS_NS), **READINGS}
    return plan_of([on or tunable_kernel()], SWEPT, words, *more)
