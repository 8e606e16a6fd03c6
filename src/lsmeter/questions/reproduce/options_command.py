# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of `lsmeter reproduce`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from lsmeter.cli.options import MEASURED, OUTPUT, READING, Options, flag, option


@dataclass(frozen=True)
class ReproduceOptions(Options):
    """The options of `lsmeter reproduce`."""

    kernel: Annotated[
        list[str] | None,
        option("SERIES", "Only these, as 6.1.", "--kernel", "-k", group=MEASURED, default="all"),
    ] = None
    quick: Annotated[bool, flag("Less: fewer kernels, variants, boots.", "--quick", READING)] = (
        False
    )
    measured: Annotated[
        bool, flag("Boot nothing: judge by the runs that are there.", "--measured", READING)
    ] = False
    run_dir: Annotated[
        Path | None,
        option("DIR", "Keep the runs here.", group=OUTPUT, default="runs/reproduce/STUDY"),
    ] = None
    dry_run: Annotated[
        bool, flag("Show the parts, and how long each would take.", "--dry-run", OUTPUT)
    ] = False
