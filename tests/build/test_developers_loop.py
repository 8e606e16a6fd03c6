# SPDX-License-Identifier: GPL-2.0-or-later
"""A developer's loop: change a hook, rebuild, run both kernels, and be told what it costs."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lsmeter.sources.kernels.build.builder import build_kernel
from lsmeter.sources.kernels.build.fragment import shipped_lsm
from tests.build.kernels import SOURCE, plain
from tests.conftest import Done, Lsmeter

pytestmark = pytest.mark.build

FRAGMENTS = ["tiny"]
# The names are of the tests' own: kernels of the user's stay as they are.
BEFORE, AFTER = "test-loop-before", "test-loop-after"
HOOK, FUNCTION = "security_inode_permission", "example_inode_permission"
ADDED_INSNS, TOLERANCE_INSNS = 100, 5

COUNTS = "\tatomic64_inc(&example_inode_checks);\n"
DEARER = COUNTS + f'\tasm volatile(".rept {ADDED_INSNS}; nop; .endr");\n'
# Of every benchmark of the file suite; counts of most repeat at the first reading.
SAMPLES = 5


def measure(lsmeter: Lsmeter, runs: Mapping[str, str]) -> None:
    """Run the file suite on each kernel, side by side: one guest keeps one core busy."""
    with ThreadPoolExecutor(len(runs)) as pool:
        for done in pool.map(lambda item: _measure(lsmeter, *item), runs.items()):
            assert done.code == 0, done.err


def _measure(lsmeter: Lsmeter, run: str, kernel: str) -> Done:
    return lsmeter(
        *("run", "--kernel", f"built:{kernel}", "--setup", "example"),
        *("--suite", "file", "--attribute", "--boots", "1"),
        *("--samples", str(SAMPLES), "--run-dir", run),
    )


def test_a_hook_that_costs_more_is_named_with_what_it_costs(
    lsmeter: Lsmeter, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain()
    own = Path(shutil.copytree(shipped_lsm("example-lsm"), tmp_path / "example-lsm"))
    build_kernel(SOURCE, FRAGMENTS, [own], BEFORE)  # what a developer already has

    started = time.monotonic()
    code = own / "example.c"
    text = code.read_text()
    assert text.count(COUNTS) == 1
    # A text that was never built: a kernel kept from an earlier test would hide the rebuild.
    code.write_text(f"{text.replace(COUNTS, DEARER)}\n/* {time.time_ns()} */\n")
    build_kernel(SOURCE, FRAGMENTS, [own], AFTER)
    built = time.monotonic()
    measure(lsmeter, {"before": BEFORE, "after": AFTER})
    ran = time.monotonic()
    done = lsmeter("hooks", "diff", "before", "after", "--format", "json")
    assert done.code == 0, done.err
    ended = time.monotonic()
    with capsys.disabled():
        sys.stdout.write(
            f"\ndeveloper's loop: {ended - started:.1f} s (rebuild {built - started:.1f}, "
            f"two runs {ran - built:.1f}, diff {ended - ran:.1f})\n"
        )

    assert_named(json.loads(done.out))


def assert_named(document: dict[str, Any]) -> None:
    """Hold what was named against the change: hook, function, cost of a call, nothing else."""
    found = {item["setup"]: item for item in document["setups"]}
    assert len(found) == len(document["setups"])
    assert found.keys() == {"capability", "example"}
    baseline, setup = found["capability"], found["example"]
    # The module does not run there: no hook costs more, and slabs alone may differ.
    assert baseline["hooks"] == []
    assert all(item["module"] == "" for item in baseline["functions"])
    unchanged = {item["benchmark"]: item["difference_insns"] for item in baseline["operations"]}
    (hook,) = setup["hooks"]
    assert hook["hook"] == HOOK
    assert hook["difference_per_call"] == pytest.approx(ADDED_INSNS, abs=TOLERANCE_INSNS)
    function, *others = setup["functions"]
    assert (function["function"], function["module"]) == (FUNCTION, "example")
    assert function["difference_per_call"] == pytest.approx(ADDED_INSNS, abs=TOLERANCE_INSNS)
    # Slabs refill at another moment in another kernel: a few samples of mkdir see it.
    noise = sum(abs(item["difference_insns"]) for item in others)
    assert noise < 0.05 * function["difference_insns"]
    assert all(item["module"] == "" for item in others)
    # Each operation pays for its own calls of the hook, and for nothing else.
    changed = {item["benchmark"]: item["difference_insns"] for item in setup["operations"]}
    for name in ("empty", "getppid", *(f"read size={size}" for size in (0, 1, 1024, 2048, 4096))):
        assert changed[name] == unchanged[name] == 0
    for depth in range(1, 9):
        assert unchanged[f"stat depth={depth}"] == unchanged[f"open depth={depth}"] == 0
        assert changed[f"stat depth={depth}"] == ADDED_INSNS * depth
        assert changed[f"open depth={depth}"] == ADDED_INSNS * (depth + 1)
    assert not any(item[only] for item in found.values() for only in ("only_a", "only_b"))
