# SPDX-License-Identifier: GPL-2.0-or-later
"""The recipe for a program's CI, step by step, on a program that came to do more."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from lsmeter.core.storage import cache_dir
from tests.recipes import GITHUB, RUNS, run_step, steps
from tests.unit.bisection.repositories import commit, git

pytestmark = [pytest.mark.guest, pytest.mark.usefixtures("debian_kernel")]

SETUPS = "-s selinux -s apparmor"
PROGRAM = """\
#include <fcntl.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 10; i++)
		close(open("/dev/null", O_RDONLY));
	return 0;
}
"""


def prepared(script: str, runs: Path) -> str:
    """Make a step measure less, and keep its runs here."""
    return script.replace(SETUPS, "-s capability --boots 1").replace(RUNS, str(runs))


def make_program(tree: Path) -> str:
    tree.mkdir()
    git(tree, "init", "-q", "-b", "main")
    made = "program: program.c\n\tcc -static -O2 -o program program.c\n"
    commit(tree, "a program", {"Makefile": made, "program.c": PROGRAM})
    return commit(tree, "do more", {"program.c": PROGRAM.replace("10", "90")})


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "LSMETER_CACHE": str(cache_dir()),
        "LSMETER_DATA": str(tmp_path / "data"),
    }


def test_each_step_runs_and_what_is_not_known_does_not_pass(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    tree, runs = tmp_path / "tree", tmp_path / "runs"
    head = make_program(tree)
    github = {name: prepared(script, runs) for name, script in steps(GITHUB["program"]).items()}
    output, summary = tmp_path / "output", tmp_path / "summary"
    told = {"GITHUB_SHA": head, "GITHUB_OUTPUT": output, "GITHUB_STEP_SUMMARY": summary}
    environment |= {name: str(value) for name, value in told.items()}
    codes = {
        name: run_step(github[name], tree, environment)
        for name in ("Digest", "Measure", "Gate", "Summary")
    }
    # One boot shows no differences between boots: the answer is neither yes nor no.
    assert codes == {"Digest": 0, "Measure": 0, "Gate": 125, "Summary": 0}
    key, _, digest = output.read_text().strip().partition("=")
    assert (key, len(digest)) == ("cache", 64)
    assert "program part=all" in summary.read_text()
    assert "<skipped" in (tree / "gate.xml").read_text()
