# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel in an RPM boots as it does from the archive it came from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from lsmeter.core.model import Kernel
from tests.conftest import Lsmeter
from tests.unit.kernels.test_rpm import rpm

pytestmark = pytest.mark.guest


def test_a_stack_on_a_kernel_in_an_rpm(
    lsmeter: Lsmeter, debian_kernel: Kernel, tmp_path: Path
) -> None:
    base = tmp_path / "root/lib/modules" / debian_kernel.release
    base.mkdir(parents=True)
    shutil.copyfile(debian_kernel.image, base / "vmlinuz")
    text = "".join(f'CONFIG_{name}="{value}"\n' for name, value in debian_kernel.config.items())
    (base / "config").write_text(text)
    path = rpm(tmp_path, "kernel-core", tmp_path / "root")
    words = ("run", "--kernel", str(path), "--setup", "stack:fedora", "--benchmark", "getppid")
    done = lsmeter(*words, "--quick", "--boots", "1", "--run-dir", "run")
    assert done.code == 0, done.err + done.out
    report = json.loads(lsmeter("report", "run", "--format", "json").out)
    assert report["problems"] == []
    assert {item["setup"] for item in report["estimates"]} == {"capability", "stack:fedora"}
    assert "lacks ipe" in lsmeter("report", "run").out
