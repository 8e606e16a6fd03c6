# SPDX-License-Identifier: GPL-2.0-or-later
"""Run directories around what real guests of Linux 6.1 wrote, before and after a patch.

The patch put 100 one-byte NOPs into selinux_inode_rename; each file under data/ is the plugin's
output of one guest, values.json what the guests' clock said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from lsmeter.core.model import BenchmarkStatus, Boot, Round, Samples, Whole
from lsmeter.measure.experiment.options import build_experiment
from lsmeter.measure.experiment.plan import PlannedBoot, make_plan
from lsmeter.measure.tasks.attribute import ATTRIBUTION, MARKER_INSNS
from lsmeter.measure.tasks.events import EVENTS, EVENTS_OUTPUT, HEADER
from lsmeter.questions.attribution.profile import Tree
from lsmeter.statistics.whole import seen_rounds
from tests.unit.attribution.trees import nodes_text
from tests.unit.model_builders import benchmark, kernel
from tests.unit.run_builders import ended, stored

DATA = Path(__file__).parent / "data"
SETUPS = ("capability", "smack", "selinux")
BENCHMARKS = (benchmark("getppid"), benchmark("rename", depth=1), benchmark("stat", depth=2))
VALUES: dict[str, dict[str, int]] = json.loads((DATA / "values.json").read_text())


def output(name: str) -> bytes:
    return (DATA / f"{name}.txt").read_bytes()


def write_run(
    path: Path,
    when: str,
    *,
    attributed: bool = True,
    events: bool = False,
    windows: tuple[Tree, Tree, Tree] | None = None,
    rounds: tuple[Round, ...] = (),
) -> Path:
    """Write the run `when` (before, after) as `lsmeter run --attribute` does.

    With events, as `lsmeter run --events` does: each function loads once in a call, and each
    instruction is one. windows are the sum of the rounds' windows, and of what whole and short ones
    left to be done, the same of each benchmark.
    """
    whole = Whole(BenchmarkStatus.OK, rounds) if rounds else None
    words: dict[str, object] = {"kernels": ["vmlinux"], "setups": list(SETUPS), "boots": 2}
    words["task"] = "events" if events else "attribute" if attributed else "readings"
    built = kernel("vmlinux", SECURITY_SMACK="y")
    plan = make_plan(build_experiment(words, where="test"), [built], BENCHMARKS, {}, ("tmpfs",))

    def boot(planned: PlannedBoot) -> tuple[Boot, Mapping[str, bytes]]:
        name = f"{when}-{planned.cell.setup.name}"
        samples = (
            Samples(item.id, BenchmarkStatus.OK, (VALUES[name][item.id],) * 3, whole=whole)
            for item in BENCHMARKS
        )
        data = output(name) if attributed else b""
        if windows is not None:
            data = _with_windows(data, windows, rounds)
        outputs = {ATTRIBUTION: data} if data else {}
        if events:
            outputs = {ATTRIBUTION: with_events(data), EVENTS_OUTPUT: vectors(VALUES[name])}
        return ended(planned, samples), outputs

    stored(plan, path, boot, "attributed")
    return path


def with_events(data: bytes) -> bytes:
    """Give each node of the trees its instructions, and a load for each call."""

    def line(found: re.Match[str]) -> str:
        counts = {0: int(found[2]), 1: int(found[1])}
        return f"{found[0]}\ne{''.join(f' {at}:{n}' for at, n in counts.items() if n)}"

    return re.sub(r"(?m)^n \d+ \d+ (\d+) (\d+) .*", line, data.decode()).encode()


def vectors(values: Mapping[str, int]) -> bytes:
    """Write two samples to warm up, and three of each benchmark: 7, 8, 8 loads and no more."""
    text = f"{HEADER}\nnames {' '.join(EVENTS)}\n"
    for place, item in enumerate(BENCHMARKS):
        text += f"region {place} 0\n"
        for loads in (900, 901, 7, 8, 8):
            rest = "0 " * (len(EVENTS) - 3)
            text += f"v {values[item.id] + MARKER_INSNS} {loads} {place} {rest}".rstrip() + "\n"
        text += f"end {place}\n"
    return (text + "eof\n").encode()


def _with_windows(
    data: bytes, windows: tuple[Tree, Tree, Tree], rounds: tuple[Round, ...]
) -> bytes:
    """Add to a plugin's output the windows of each benchmark, and what they left to be done."""
    head, tail = data.decode().replace("attribution 1", "attribution 2").split("stray ")
    counts = (len(rounds), *map(len, seen_rounds(rounds)))
    for place in range(len(BENCHMARKS)):
        for first, found, count in zip((0x4000, 0x6000, 0x8000), windows, counts, strict=True):
            number = first + place
            head += f"region {number} {count} 0 0 0\nt {found.insns // count} {count}\n"
            head += f"sum {found.insns} {count}\n{nodes_text(found)}end {number}\n"
    return f"{head}stray {tail}".encode()
