# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole costs in real guests: what they hold, and what becomes of cycles that go wrong."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lsmeter.core.model import Kernel
from tests.conftest import DEADLINE_S, Lsmeter
from tests.runs import each

pytestmark = pytest.mark.guest

SOURCES = Path(__file__).parents[2] / "probe"


def measured(
    lsmeter: Lsmeter, *benchmarks: str, code: int = 0, suite: str = "file", **extra: str
) -> dict[str, dict[str, Any]]:
    words = ("run", "--setup", "capability", "--boots", "1", "--run-dir", "run", "--samples", "20")
    done = lsmeter(*words, "--suite", suite, *each("--benchmark", benchmarks), **extra)
    assert done.code == code, done.err + done.out
    report = json.loads(lsmeter("report", "run", "--format", "json", **extra).out)
    return {item["id"]: item for item in report["estimates"]}


def test_pairs_cost_the_same_from_either_end(lsmeter: Lsmeter, debian_kernel: Kernel) -> None:
    found = measured(lsmeter, "open depth=1", "close after=open", "creat depth=1", "unlink depth=1")
    whole = {name: item["whole"]["value"] for name, item in found.items() if item["whole"]}
    # open+close, and creat+close+unlink with one call of another name.
    assert whole["close after=open"] == pytest.approx(whole["open depth=1"], rel=0.01)
    assert whole["unlink depth=1"] == pytest.approx(whole["creat depth=1"], rel=0.01)
    in_line = found["open depth=1"]["value"] + found["close after=open"]["value"]
    # What closing leaves to RCU is in no reading.
    assert whole["open depth=1"] > in_line + 100


def test_a_call_that_leaves_nothing_costs_what_it_costs(
    lsmeter: Lsmeter, debian_kernel: Kernel
) -> None:
    found = measured(lsmeter, "stat depth=[148]", "getppid", "empty")
    for name in ("stat depth=1", "stat depth=4", "stat depth=8", "getppid"):
        # A reading holds 14 instructions of its own.
        alone = found[name]["value"] - 14
        assert found[name]["whole"]["value"] == pytest.approx(alone, rel=0.005, abs=5), name
        assert found[name]["mean"]["ticked"] == 0
    assert found["empty"]["whole"] is None


def probe_with(source: Path, folder: Path) -> Path:
    """Build the probe with one more file of operations."""
    words: list[str | Path] = [
        "make",
        "-s",
        "-C",
        SOURCES,
        f"O={folder}",
        f"OPS={source}",
        "CFLAGS=-O1",
    ]
    subprocess.run(words, check=True, timeout=DEADLINE_S)
    return folder / "lsmeter-probe"


def test_cycles_that_go_wrong_cost_their_own_number_only(
    lsmeter: Lsmeter, debian_kernel: Kernel, tmp_path: Path
) -> None:
    probe = str(probe_with(Path(__file__).with_name("faulty_cycles.c"), tmp_path / "probe"))
    found = measured(lsmeter, "faulty", "stat depth=1", code=1, LSMETER_PROBE=probe)
    why = {name: item["whole_missing"] for name, item in found.items()}
    assert "EEXIST" in why["faulty fault=not-undone"]
    assert "number 1 of the cycle" in why["faulty fault=not-undone"]
    assert "EMFILE" in why["faulty fault=files-left"]
    assert "not finished" in why["faulty fault=endless"]
    assert "not finished" in why["faulty fault=dies"]
    # All readings are kept, and what comes next is measured whole.
    assert all(item["samples"] == 20 for item in found.values())
    assert all(found[name]["whole"] is None for name in found if name.startswith("faulty"))
    assert found["stat depth=1"]["whole"]["value"] > 2000


def test_quick_runs_measure_no_whole_cost(lsmeter: Lsmeter, debian_kernel: Kernel) -> None:
    words = ("--setup", "capability", "--setup", "tomoyo", "--boots", "1", "--quick")
    done = lsmeter("run", *words, "--benchmark", "read size=1", "--run-dir", "run")
    assert done.code == 0, done.err
    report = json.loads(lsmeter("report", "run", "--format", "json").out)
    assert all(item["whole"] is None for item in report["estimates"])
    verdicts = {item["id"]: item["verdict"] for item in report["comparisons"]}
    assert verdicts["read size=1"] == "inconclusive"
    assert "amortised and deferred costs were not measured" in done.out


def test_an_operation_that_runs_by_itself_is_measured_whole(
    lsmeter: Lsmeter, debian_kernel: Kernel, tmp_path: Path
) -> None:
    source = Path(__file__).parents[1] / "probe" / "run_ops.c"
    extra = {"LSMETER_PROBE": str(probe_with(source, tmp_path / "probe"))}
    found = measured(lsmeter, "fork", "map", "pair", suite="run", code=1, **extra)
    # Nothing is left to be done later but what fork and sockets free.
    assert found["map offset=0"]["whole"]["value"] == pytest.approx(
        found["map offset=0"]["value"], rel=0.1
    )
    for name in ("fork status=0", "pair"):
        assert found[name]["whole"]["value"] > 0.9 * found[name]["value"]
    assert not {"fork status=3", "map offset=1"} & found.keys()
