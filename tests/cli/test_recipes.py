# SPDX-License-Identifier: GPL-2.0-or-later
"""What the recipes for a kernel tree do with two runs, once they are measured."""

from __future__ import annotations

import os
import shutil
import sys
from importlib import resources
from pathlib import Path

import pytest

from tests.recipes import GITHUB, GITLAB, RUNS, run_step, steps


@pytest.mark.parametrize(("recipe", "step"), [(GITHUB, "Gate"), (GITLAB, "script 1")])
def test_a_broken_rule_fails_the_job_and_stands_in_the_comment(
    recipe: dict[str, Path], step: str, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    for name in ("before", "after"):
        stored = resources.files("lsmeter.questions.demo") / f"{name}.lsmeter"
        shutil.copyfile(str(stored), runs / name)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    script = steps(recipe["kernel"])[step].replace(RUNS, str(runs))
    assert run_step(script, tmp_path, {"PATH": path, "HOME": str(tmp_path)}) == 1
    comment = (tmp_path / "comment.md").read_text()
    assert comment.startswith("# Gate: a rule is broken\n")
    assert "9 broken, 4 inconclusive, 3 kept of 16 comparisons" in comment
    assert "<failure" in (tmp_path / "gate.xml").read_text()
