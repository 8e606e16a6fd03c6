# SPDX-License-Identifier: GPL-2.0-or-later
"""The recipes for CI: what their steps are, and running one as a runner does."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

RECIPES = Path(__file__).parents[1] / "docs/guides/recipes"
GITHUB = {name: RECIPES / f"github-{name}.yml" for name in ("kernel", "program")}
GITLAB = {name: RECIPES / f"gitlab-{name}.yml" for name in ("kernel", "program")}
RUNS = "/tmp/runs"


def load(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = YAML(typ="safe").load(path)
    return found


def steps(path: Path) -> dict[str, str]:
    """Return the scripts of a recipe's job by name: those of GitLab have their place for one."""
    job = load(path)
    if "jobs" in job:
        return {step["name"]: step["run"] for step in job["jobs"]["gate"]["steps"] if "run" in step}
    (job,) = job.values()
    return {
        f"{part} {place}": script
        for part in ("before_script", "script", "after_script")
        for place, script in enumerate(job[part])
    }


def run_step(script: str, where: Path, environment: Mapping[str, str]) -> int:
    """Run a script as GitHub and GitLab do: a failing command ends it."""
    words = ["bash", "-e", "-o", "pipefail", "-c", script]
    return subprocess.run(words, cwd=where, env=environment, check=False).returncode
