# SPDX-License-Identifier: GPL-2.0-or-later
"""A command that runs once: whose instructions are the user's, and whose the kernel's."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from lsmeter.core.model import BenchmarkStatus, Cell, Samples, Sampling
from lsmeter.core.model.arch import MEMORY_DISK
from lsmeter.core.model.commands import Command
from lsmeter.measure.tasks import TaskKind
from lsmeter.measure.tasks.tally import PLUGIN, Account, DamagedTallyError, Tally, parse_tally

NAME = "exec"
_SETTLE_MS = 40  # guest time in which what was put off is done
_ICOUNT_SHIFT = 2
_SILENCE_S = 300.0
_WORKLOADS = "what never ends is a workload: lsmeter help workloads"
_LEFT = re.compile(r"left with status ([1-9]\d{0,2})\b")
# Facts: how the pieces of what it said begin, its size, its exit status.
OUTPUT, OUTPUT_BYTES, STATUS = "command.output.", "command.output_bytes", "command.status"


def command_of(cell: Cell) -> Command:
    """Return the command of a cell; ValueError where it has none."""
    if cell.task.command is None:
        raise ValueError("the cell has no command")
    return cell.task.command


def request(cell: Cell) -> Mapping[str, Any]:
    """Ask for the command as the one client of a workload, in its tree."""
    command = command_of(cell)
    return {
        "benchmarks": (command.name,),
        "clients": ((command.name, "1", "service", *command.words),),
        "command": ((command.directory, str(command.status)),),
        "environment": tuple((item,) for item in command.environment),
        "settle_ms": _SETTLE_MS,
        "benchmark_deadline_ms": command.deadline_s * 1000,
    }


def judge(_: Cell, samples: Samples) -> Samples:
    """Name the guide where a command did not end, the option where it left with another status."""
    hint = ""
    if samples.status is BenchmarkStatus.TIMEOUT:
        hint = f"; {_WORKLOADS}"
    elif samples.status is BenchmarkStatus.FAILED and (left := _LEFT.search(samples.detail)):
        hint = f"; --expect-status {left[1]} counts it"
    return replace(samples, detail=samples.detail + hint) if hint else samples


def tally_of(outputs: Mapping[str, bytes], most_insns: float = math.inf) -> Tally:
    """Return what was counted of the command; DamagedTallyError if that is not known.

    most_insns is what the guest's clock counted meanwhile.
    """
    if PLUGIN not in outputs:
        raise DamagedTallyError("is missing")
    regions = parse_tally(outputs[PLUGIN].decode("ascii", "replace"), ended=True)
    # What the guest does before has regions as well, with other numbers.
    found = [item for item in regions if item.region == 0]
    if len(found) != 1:
        raise DamagedTallyError(f"has {len(found)} regions of the command")
    if found[0].lost:
        raise DamagedTallyError(f"lost track of {found[0].lost} tasks or frames")
    if found[0].exceeds(most_insns):
        raise DamagedTallyError("has more than the guest's clock")
    return found[0]


def derive(
    cell: Cell, outputs: Mapping[str, bytes], samples: tuple[Samples, ...]
) -> tuple[Samples, ...]:
    """Return the samples of what is counted of the command, of how it ended and of the tally."""
    ended = samples[0]
    values: Iterable[tuple[int, ...]] = ((), (), ())
    if ended.status is BenchmarkStatus.OK:
        try:
            tally = tally_of(outputs, most_insns=ended.values[0])
            kernel, user = tally.total("kernel"), tally.total("insns", of=[Account.SERVICE])
            values = ((kernel,), (kernel + user,), (user,))
        except DamagedTallyError as error:
            why = f"what the plugin counted {error}"
            ended = replace(ended, status=BenchmarkStatus.FAILED, detail=why)
    return tuple(
        replace(ended, benchmark=name, values=value)
        for name, value in zip(command_of(cell).benchmarks, values, strict=True)
    )


TASK = TaskKind(
    NAME,
    "a command that runs once, counted by account",
    request,
    modules=(MEMORY_DISK,),
    sampling=Sampling(samples=1, warmup=0, whole_ppm=0),
    icount_shift=_ICOUNT_SHIFT,
    plugin=PLUGIN,
    costs=True,
    silence_s=_SILENCE_S,
    judge=judge,
    derive=derive,
)
