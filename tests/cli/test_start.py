# SPDX-License-Identifier: GPL-2.0-or-later
"""What a command loads before it does anything: an unchanged kernel answers within a second."""

from __future__ import annotations

import subprocess
import sys

HEAVY = (
    *("elftools", "lxml", "polars", "pydantic", "rich.progress", "scipy", "statsmodels"),
    "vl_convert",
)


def test_the_command_line_loads_no_heavy_library() -> None:
    code = f"import sys, lsmeter.app\nprint(*(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_cache_hit_of_a_built_kernel_needs_no_elf_reader() -> None:
    code = "import sys, lsmeter.sources.kernels.build.builder\nprint('elftools' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]
