# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds the programs of the guest, and for releases QEMU's plugins, into the package.

`pip install .` builds for this machine what its compilers can. With LSMETER_WHEEL=ARCH a wheel is
for machines of that architecture, has all parts or is not made, and is the same, byte for byte,
wherever the compilers are (`make wheels`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Parts of lsmeter that need no dependency: pip builds where there is none.
sys.path.insert(0, str(Path(__file__).parent / "src"))

from lsmeter.core.errors import LsmeterError
from lsmeter.core.model.arch import ARCHES, X86_64, Arch, find_arch
from lsmeter.guest.probe import PACKAGES, SHIPPED, packages_for, probe_name
from lsmeter.machines.plugin_sources import (
    Recipe,
    compiler_for,
    kallsyms_recipe,
    shipped_plugins,
)

BPF = "lsmeter-bpf"
# Programs are static, and plugins take from the C library of QEMU's process what glibc 2.17 and
# musl have. pip and uv take such a wheel on both; linux_x86_64 they would too, but an index of
# packages takes no such file.
TAG = "py3-none-manylinux_2_17_{0}.manylinux2014_{0}.musllinux_1_1_{0}"


class ProbeBuildHook(BuildHookInterface[Any]):
    """Compile probe/, bpf/ and plugin/ for a wheel; for an editable one into src/lsmeter/_bin."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the programs, ship them, and tag the wheel for the machines they run on."""
        release = os.environ.get("LSMETER_WHEEL", "")
        try:
            arch = find_arch(release or os.uname().machine, where="LSMETER_WHEEL")
        except LsmeterError as error:
            raise SystemExit(f"lsmeter: {error}") from error
        build_data["pure_python"] = False
        build_data["tag"] = (TAG if release else "py3-none-linux_{0}").format(arch.uname)
        # Removed at the end of the process, when the wheel has been written.
        self._made = tempfile.TemporaryDirectory(prefix="lsmeter-wheel-")
        home = SHIPPED if version == "editable" else Path(self._made.name)
        root = Path(self.root)
        for path in build_release(root, arch, home) if release else self._build_some(root, home):
            build_data["force_include"][str(path)] = f"lsmeter/_bin/{path.name}"

    def _build_some(self, root: Path, home: Path) -> list[Path]:
        """Build what the compilers of this machine can, and its own probe in any case."""
        made = []
        for arch in ARCHES.values():
            target = home / probe_name(arch)
            if not arch.is_host and shutil.which(arch.compiler) is None:
                target.unlink(missing_ok=True)  # of an earlier source
                continue
            build_probe(root / "probe", target, compiler_for(arch))
            policies = home / f"{BPF}{arch.suffix}"
            made.append(target)
            if build_bpf(root / "bpf", policies, compiler_for(arch)):
                made.append(policies)
                continue
            policies.unlink(missing_ok=True)
            self.app.display_warning(
                f"lsmeter: without the setups lomac, bpf-allow and bpf-inject on {arch.name}; for "
                f"them, install {packages_for(BPF, arch)} and install lsmeter again"
            )
        return made


def build_release(root: Path, arch: Arch, home: Path) -> list[Path]:
    """Build all that machines of `arch` need, so that none of them needs a compiler."""
    for of in ARCHES.values():
        build_probe(root / "probe", home / probe_name(of), compiler_for(of))
    # libbpf is there for this machine only.
    if arch.is_host and not build_bpf(root / "bpf", home / BPF, compiler_for(arch)):
        raise SystemExit(f"lsmeter: a wheel has {BPF}: install {PACKAGES[BPF]}")
    for recipe in shipped_plugins():
        _compile(recipe, home, compiler_for(arch))
    for of in ARCHES.values():
        _compile(kallsyms_recipe(of), home, compiler_for(of))
    return sorted(home.iterdir())


def build_probe(source: Path, target: Path, compiler: str = "cc") -> None:
    """Run make in `source`, with its output outside the tree, and move the binary to `target`."""
    packages = next(
        (of.compiler_packages for of in ARCHES.values() if of.compiler == compiler), "gcc libc6-dev"
    )
    for program in ("make", compiler):
        if shutil.which(program) is None:
            raise SystemExit(f"lsmeter: {program} not found: install make {packages}")
    with tempfile.TemporaryDirectory(prefix="lsmeter-probe-") as output:
        done = _make(source, output, compiler)
        if done.returncode != 0:
            raise SystemExit(
                f"lsmeter: the probe could not be built; install {packages}\n{_why(done)}"
            )
        _place(Path(output) / probe_name(X86_64), target)


def build_bpf(source: Path, target: Path, compiler: str) -> bool:
    """Build the policies that are BPF programs; False where clang or libbpf is missing."""
    with tempfile.TemporaryDirectory(prefix="lsmeter-bpf-") as output:
        if _make(source, output, compiler, "available").returncode != 0:
            target.unlink(missing_ok=True)  # of an earlier source
            return False
        done = _make(source, output, compiler)
        if done.returncode != 0:
            raise SystemExit(f"lsmeter: the BPF programs could not be built\n{_why(done)}")
        _place(Path(output) / BPF, target)
    return True


def _compile(recipe: Recipe, home: Path, compiler: str) -> None:
    done = _run([compiler, "-s", "-o", str(home / recipe.name), *recipe.arguments])
    if done.returncode != 0:
        raise SystemExit(f"lsmeter: {recipe.name} could not be built\n{_why(done)}")


def _make(
    source: Path, output: str, compiler: str, *goals: str
) -> subprocess.CompletedProcess[str]:
    jobs = f"-j{os.cpu_count() or 1}"
    return _run(["make", jobs, "-C", str(source), f"O={output}", f"CC={compiler}", *goals])


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _why(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stderr.strip() or done.stdout.strip())[-2000:]


def _place(made: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    built = target.with_suffix(".new")
    shutil.copy2(made, built)
    built.replace(target)
