# SPDX-License-Identifier: GPL-2.0-or-later
"""Commits that make hooks costlier, measured and found in a real history of a real kernel."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lsmeter.questions.bisect.history import SHORT, find_history, own_history
from lsmeter.sources.kernels.build.source import resolve_source
from lsmeter.sources.kernels.sources.built import KERNELS, remove_built
from tests.build.kernels import SOURCE, plain
from tests.conftest import Lsmeter
from tests.unit.bisection.repositories import commit, git

pytestmark = pytest.mark.build

PERMISSION = "int security_inode_permission(struct inode *inode, int mask)\n{\n"
GETATTR = "int security_inode_getattr(const struct path *path)\n{\n"
ADDED_INSNS, EVERY = 100, 64
COSTLIER = PERMISSION + f'\tasm volatile(".rept {ADDED_INSNS}; nop; .endr");\n'
NOW_AND_THEN = (
    GETATTR
    + f"""\
	static unsigned int asked;

	if (!(++asked % {EVERY}))
		asm volatile(".rept {ADDED_INSNS * EVERY}; nop; .endr");
"""
)
BROKEN = "\n#error unfinished\n"
# What each commit of the series changes: in README it is nothing that is compiled.
SERIES = (
    ("say what it is", "README", "", "\n"),
    ("think twice before a permission", "security/security.c", PERMISSION, COSTLIER),
    ("half of a change", "mm/maccess.c", "", BROKEN),
    ("the other half", "mm/maccess.c", BROKEN, ""),
    ("count now and then", "security/security.c", GETATTR, NOW_AND_THEN),
)
# Files that a kernel without devices compiles nothing of; their Kconfig is read all the same.
LEFT_OUT = (
    *("Documentation", "samples", "sound", "tools/perf", "tools/testing", "fs/xfs", "fs/btrfs"),
    *(f"drivers/{name}" for name in ("gpu", "net", "media", "staging", "infiniband", "scsi")),
    *(f"drivers/{name}" for name in ("usb", "iio", "crypto", "clk", "pinctrl", "hwmon")),
)
_READ_ALWAYS = ("Kconfig", "Makefile", "Kbuild")


def make_history(tree: Path) -> list[str]:
    """Commit a kernel's source, and a series of which some commits make a hook costlier."""
    source = resolve_source(SOURCE).path
    for folder, _, names in os.walk(source):
        below = os.path.relpath(folder, source)
        left = below.startswith(LEFT_OUT) or (
            below.startswith("arch/") and not below.startswith("arch/x86")
        )
        kept = [name for name in names if not left or name.startswith(_READ_ALWAYS)]
        (tree / below).mkdir(parents=True, exist_ok=True)
        for name in kept:
            shutil.copy2(Path(folder, name), tree / below / name, follow_symlinks=False)
    git(tree, "init", "-q", "-b", "main")
    git(tree, "config", "core.compression", "0")
    git(tree, "add", "-f", "-A")  # its .gitignore leaves out what is part of it
    return [commit(tree, "Linux 6.1", {}), *(_commit(tree, *change) for change in SERIES)]


def _commit(tree: Path, subject: str, path: str, old: str, new: str) -> str:
    text = (tree / path).read_text()
    assert not old or text.count(old) == 1
    return commit(tree, subject, {path: text.replace(old, new) if old else text + new})


@dataclass(frozen=True)
class Known:
    """A history, and the command in a place where what was measured is known to all tests."""

    lsmeter: Lsmeter
    tree: Path
    commits: list[str]


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Known]:
    plain()  # whose objects the commits share, but for what they change
    home = tmp_path_factory.mktemp("series")
    tree = home / "linux"
    commits = make_history(tree)
    try:
        yield Known(Lsmeter(home), tree, commits)
    finally:
        made = tuple(f"commit-{name[:SHORT]}-" for name in commits)
        for kernel in KERNELS.all():
            if kernel.name.startswith(made):
                remove_built(kernel.name)
        shutil.rmtree(own_history(find_history(tree)).tree)


MEASURED = ("--config", "tiny", "--samples", "5")


def test_a_series_says_of_each_commit_what_it_changes(known: Known) -> None:
    done = known.lsmeter(
        *("patches", str(known.tree), "HEAD~5..HEAD", *MEASURED, "--benchmark", "stat depth=4"),
        *("--run-dir", "series", "--format", "json"),
    )
    assert done.code == 1, done.err
    found = json.loads(done.out)
    members = found["commits"]
    assert [item["commit"] for item in members] == known.commits[1:]
    outcomes = ["identical", "changed", "not built", "identical", "changed"]
    assert [item["outcome"] for item in members] == outcomes
    assert [members[at]["same_kernel"] for at in (0, 3)] == [True, True]
    assert members[3]["against"] == known.commits[2]
    assert "#error unfinished" in members[2]["why"]
    # The hook runs for each component of the path.
    (hook,) = members[1]["effects"]
    assert hook["typical"]["difference"] == hook["moved"]["hook_insns"] == 4 * ADDED_INSNS
    assert hook["moved"]["hook"] == "security_inode_permission"
    # What the typical call does not see is in the whole cost.
    (rare,) = members[4]["effects"]
    assert rare["typical"]["difference"] < ADDED_INSNS / 10
    assert rare["decided_by"] != "typical" and rare["verdict"] == "slower"
    assert rare["whole"]["low"] <= ADDED_INSNS + rare["typical"]["difference"]
    assert rare["whole"]["high"] >= ADDED_INSNS
    assert rare["moved"]["hook"] == "security_inode_getattr"
    letter = (known.lsmeter.home / "series/cover-letter.txt").read_text()
    assert all(len(line) <= 72 for line in letter.splitlines())
    assert "- Changes nothing: the kernel is the same." in letter
    assert git(known.tree, "status", "--porcelain") == ""


def test_the_commit_that_makes_a_hook_costlier_is_found(known: Known) -> None:
    commits = known.commits
    done = known.lsmeter(
        *("bisect", str(known.tree), "--good", commits[1], "--bad", commits[-1], *MEASURED),
        *("--benchmark", "stat depth=4", "--max", "stat*<=200insns"),
        *("--run-dir", "found", "--format", "json"),
    )
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["first_bad"] == commits[2]
    skipped = [step for step in found["steps"] if step["ruling"] == "skip"]
    assert [step["commit"] for step in skipped] == [commits[3]]
    assert "#error unfinished" in skipped[0]["detail"]
    (setup,) = found["difference"]["setups"]
    (hook, *_) = setup["hooks"]
    assert hook["hook"] == "security_inode_permission"
    assert hook["difference_per_call"] == pytest.approx(ADDED_INSNS, abs=5)
    assert git(known.tree, "status", "--porcelain") == ""
