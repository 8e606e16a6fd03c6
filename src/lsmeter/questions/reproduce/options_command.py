# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of `lsmeter reproduce`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from lsmeter.cli.options import Options, declared


@dataclass(frozen=True)
class ReproduceOptions(Options):
    """The options of `lsmeter reproduce`."""

    kernel: Annotated[list[str] | None, declared("reproduce.kernel")] = None
    quick: Annotated[bool, declared("reproduce.quick")] = False
    measured: Annotated[bool, declared("reproduce.measured")] = False
    run_dir: Annotated[Path | None, declared("reproduce.run_dir")] = None
    dry_run: Annotated[bool, declared("reproduce.dry_run")] = False
