# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel as Debian ships it counts its hooks, and agrees with what a plugin saw in QEMU."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lsmeter.questions.attribution.load import load_run
from lsmeter.questions.hooks.agreement.compare import hook_runs
from tests.conftest import Lsmeter

pytestmark = [pytest.mark.guest, pytest.mark.usefixtures("debian_kernel")]

ONLY = tuple(
    word
    for name in ("getppid", "stat", "open depth=*", "read size=1", "creat", "rename", "unlink")
    for word in ("--benchmark", name)
)


def name_of(item: dict[str, Any]) -> str:
    return " ".join((item["benchmark"], *(f"{k}={v}" for k, v in item["params"].items())))


@pytest.fixture
def counts(lsmeter: Lsmeter) -> dict[str, dict[str, int]]:
    done = lsmeter("hooks", "count", *ONLY, "--format", "json")
    assert done.code == 0, done.err + done.out
    data = json.loads(done.out)
    assert data["watched"][0]["functions"] > 200
    assert all(item["steady"] for item in data["counts"])
    found: dict[str, dict[str, int]] = {name_of(item): {} for item in data["benchmarks"]}
    for item in data["counts"]:
        found[name_of(item)][item["hook"]] = item["runs"]
    return found


def test_counts_are_those_of_slopes_and_of_attribution(
    counts: dict[str, dict[str, int]], lsmeter: Lsmeter
) -> None:
    assert counts["getppid"] == {}
    for depth in range(1, 9):
        assert counts[f"stat depth={depth}"] == {"inode_permission": depth, "inode_getattr": 1}
        assert counts[f"open depth={depth}"]["inode_permission"] == depth + 1
    assert counts["read size=1"] == {"file_permission": 1}
    seen = seen_by_plugin(lsmeter)  # the controls as well
    assert {name: seen[name] for name in counts} == counts


def seen_by_plugin(lsmeter: Lsmeter) -> dict[str, dict[str, int]]:
    """Return the same counts as the attribution of a run has them."""
    words = ("--attribute", "--setup", "capability", "--samples", "15", "--boots", "1")
    done = lsmeter("run", *words, *ONLY, "--run-dir", "seen")
    assert done.code == 0, done.err
    _, (cell,), _ = load_run(lsmeter.home / "seen")
    return {
        benchmark: {hook.removeprefix("security_"): runs for hook, runs in hook_runs(tree).items()}
        for benchmark, tree in cell.trees.items()
    }


def test_a_kernel_that_cannot_count_is_said_to_be_unable(lsmeter: Lsmeter) -> None:
    done = lsmeter("hooks", "count", "--setup", "smack", "--benchmark", "stat", "-f", "json")
    assert done.code == 1
    data = json.loads(done.out)
    assert data["counts"] == data["benchmarks"] == []
    assert "built without CONFIG_SECURITY_SMACK" in data["problems"][0]["title"]
