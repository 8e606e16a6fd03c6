# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds the probe with the C compiler of the machine and puts it into the package."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TARGET = Path("src/lsmeter/_bin/lsmeter-probe")


class ProbeBuildHook(BuildHookInterface[Any]):
    """Compile probe/ into src/lsmeter/_bin before a wheel, also an editable one, is made."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Build the probe, ship it, and tag the wheel for the one platform it runs on."""
        target = Path(self.root) / TARGET
        build_probe(Path(self.root) / "probe", target)
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-linux_x86_64"
        build_data["force_include"][str(target)] = "lsmeter/_bin/lsmeter-probe"


def build_probe(source: Path, target: Path) -> None:
    """Run make in `source`, with its output outside the tree, and move the binary to `target`."""
    machine = os.uname()
    if machine.sysname != "Linux" or machine.machine != "x86_64":
        raise SystemExit(f"lsmeter: the probe needs Linux on x86_64, not {machine.machine}")
    compiler = os.environ.get("CC", "cc")
    for program in ("make", compiler):
        if shutil.which(program) is None:
            raise SystemExit(f"lsmeter: {program} not found: install make, gcc and libc6-dev")
    with tempfile.TemporaryDirectory(prefix="lsmeter-probe-") as output:
        done = subprocess.run(
            ["make", "-C", str(source), f"O={output}", f"CC={compiler}"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            reason = (done.stderr.strip() or done.stdout.strip())[-2000:]
            raise SystemExit(
                f"lsmeter: the probe could not be built; install gcc and libc6-dev\n{reason}"
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        built = target.with_suffix(".new")
        shutil.copy2(Path(output) / target.name, built)
        built.replace(target)
