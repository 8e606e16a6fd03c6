# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds the programs of the guest with the compilers of the machine, into the package."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TARGET = Path("src/lsmeter/_bin/lsmeter-probe")
# By uname's name of the machine: the file, and the compiler on machines of another architecture.
PROBES = {
    "x86_64": ("lsmeter-probe", "x86_64-linux-gnu-gcc"),
    "aarch64": ("lsmeter-probe-arm64", "aarch64-linux-gnu-gcc"),
}
BPF_TARGET = Path("src/lsmeter/_bin/lsmeter-bpf")
BPF_PACKAGES = "clang libbpf-dev libelf-dev zlib1g-dev"


class ProbeBuildHook(BuildHookInterface[Any]):
    """Compile probe/ and bpf/ into src/lsmeter/_bin before a wheel, also an editable one."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Build the programs, ship them, and tag the wheel for the one platform they run on."""
        own = os.uname().machine
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-linux_{own}"
        if own not in PROBES:
            raise SystemExit(f"lsmeter: the probe needs Linux on {' or '.join(PROBES)}, not {own}")
        for machine, (name, cross) in PROBES.items():
            target = Path(self.root) / TARGET.with_name(name)
            compiler = os.environ.get("CC", "cc") if machine == own else cross
            if machine != own and shutil.which(cross) is None:
                target.unlink(missing_ok=True)  # of an earlier source
                continue
            build_probe(Path(self.root) / "probe", target, compiler)
            build_data["force_include"][str(target)] = f"lsmeter/_bin/{name}"
        bpf = Path(self.root) / BPF_TARGET
        if build_bpf(Path(self.root) / "bpf", bpf):
            build_data["force_include"][str(bpf)] = "lsmeter/_bin/lsmeter-bpf"
        else:
            self.app.display_warning(
                "lsmeter: without the setups lomac, bpf-allow and bpf-inject; for them, install "
                f"{BPF_PACKAGES} and install lsmeter again"
            )


def build_probe(source: Path, target: Path, compiler: str = "cc") -> None:
    """Run make in `source`, with its output outside the tree, and move the binary to `target`."""
    for program in ("make", compiler):
        if shutil.which(program) is None:
            raise SystemExit(f"lsmeter: {program} not found: install make, gcc and libc6-dev")
    with tempfile.TemporaryDirectory(prefix="lsmeter-probe-") as output:
        done = _make(source, output, compiler)
        if done.returncode != 0:
            raise SystemExit(
                f"lsmeter: the probe could not be built; install gcc and libc6-dev\n{_why(done)}"
            )
        _place(Path(output) / TARGET.name, target)


def build_bpf(source: Path, target: Path) -> bool:
    """Build the policies that are BPF programs; False where clang or libbpf is missing."""
    compiler = os.environ.get("CC", "cc")
    with tempfile.TemporaryDirectory(prefix="lsmeter-bpf-") as output:
        if _make(source, output, compiler, "available").returncode != 0:
            target.unlink(missing_ok=True)  # of an earlier source
            return False
        done = _make(source, output, compiler)
        if done.returncode != 0:
            raise SystemExit(f"lsmeter: the BPF programs could not be built\n{_why(done)}")
        _place(Path(output) / target.name, target)
    return True


def _make(
    source: Path, output: str, compiler: str, *goals: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "-C", str(source), f"O={output}", f"CC={compiler}", *goals],
        capture_output=True,
        text=True,
        check=False,
    )


def _why(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stderr.strip() or done.stdout.strip())[-2000:]


def _place(made: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    built = target.with_suffix(".new")
    shutil.copy2(made, built)
    built.replace(target)
