# SPDX-License-Identifier: GPL-2.0-or-later
"""A commit that makes a hook costlier, found in a real history of a real kernel."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from lsmeter.core.errors import UsageError
from lsmeter.questions.bisect.history import SHORT, find_history, own_tree
from lsmeter.sources.kernels.build.source import resolve_source
from lsmeter.sources.kernels.sources.built import remove_built
from tests.build.kernels import SOURCE, plain
from tests.conftest import Lsmeter
from tests.unit.bisection.repositories import commit, git

pytestmark = pytest.mark.build

HOOK = "int security_inode_permission(struct inode *inode, int mask)\n{\n"
ADDED_INSNS = 100
COSTLIER = HOOK + f'\tasm volatile(".rept {ADDED_INSNS}; nop; .endr");\n'
# Files that a kernel without devices compiles nothing of; their Kconfig is read all the same.
LEFT_OUT = (
    *("Documentation", "samples", "sound", "tools/perf", "tools/testing", "fs/xfs", "fs/btrfs"),
    *(f"drivers/{name}" for name in ("gpu", "net", "media", "staging", "infiniband", "scsi")),
    *(f"drivers/{name}" for name in ("usb", "iio", "crypto", "clk", "pinctrl", "hwmon")),
)
_READ_ALWAYS = ("Kconfig", "Makefile", "Kbuild")


def make_history(tree: Path, commits: int, first_bad: int, broken: int | None = None) -> list[str]:
    """Commit a kernel's source, and changes of which one makes a hook costlier."""
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
    changes = (
        _commit(tree, at, costlier=at == first_bad, broken=at == broken)
        for at in range(1, commits + 1)
    )
    return [commit(tree, "Linux 6.1", {}), *changes]


def _commit(tree: Path, at: int, *, costlier: bool, broken: bool) -> str:
    path = "security/security.c" if costlier else ("mm/util.c", "fs/namei.c", "README")[at % 3]
    text = (tree / path).read_text()
    if costlier:
        assert text.count(HOOK) == 1
        text, subject = text.replace(HOOK, COSTLIER), "security: think twice before a permission"
    else:
        text, subject = f"{text}\n/* note {at} */\n", f"{path}: note {at}"
    files = {path: text}
    bits = tree / "mm/maccess.c"
    if broken:
        files[str(bits.relative_to(tree))] = bits.read_text() + "\n#error unfinished\n"
        subject = "mm: half of a change"
    elif "#error unfinished" in bits.read_text():
        files[str(bits.relative_to(tree))] = bits.read_text().replace("\n#error unfinished\n", "")
    return commit(tree, subject, files)


def test_the_commit_that_makes_a_hook_costlier_is_found(lsmeter: Lsmeter, tmp_path: Path) -> None:
    plain()  # whose objects the commits share, but for what they change
    tree = tmp_path / "linux"
    commits = make_history(tree, 4, first_bad=4, broken=2)
    try:
        _find(lsmeter, tree, commits)
    finally:
        for name in commits:
            with suppress(UsageError):  # of a commit that was not built
                remove_built(f"commit-{name[:SHORT]}")
        shutil.rmtree(own_tree(find_history(tree)))


def _find(lsmeter: Lsmeter, tree: Path, commits: list[str]) -> None:
    done = lsmeter(
        *("bisect", str(tree), "--good", commits[0], "--bad", commits[-1], "--config", "tiny"),
        *("--benchmark", "stat depth=4", "--samples", "5", "--max", "stat*<=50insns"),
        *("--run-dir", "found", "--format", "json"),
    )
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["first_bad"] == commits[4]
    skipped = [step for step in found["steps"] if step["ruling"] == "skip"]
    assert [step["commit"] for step in skipped] == [commits[2]]
    assert "#error unfinished" in skipped[0]["detail"]
    (setup,) = found["difference"]["setups"]
    (hook, *_) = setup["hooks"]
    assert hook["hook"] == "security_inode_permission"
    assert hook["difference_per_call"] == pytest.approx(ADDED_INSNS, abs=5)
    assert git(tree, "status", "--porcelain") == ""
