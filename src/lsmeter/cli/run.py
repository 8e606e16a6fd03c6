# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter run`: plan, measure, report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lsmeter.cli import options
from lsmeter.cli.options import Asked


@options.measuring
def run(
    asked: Asked,
    experiment: Annotated[
        Path | None,
        typer.Argument(
            help="Experiment file (TOML); options are laid over it.", show_default=False
        ),
    ] = None,
    instrument: Annotated[
        str | None, typer.Option(metavar="NAME", help="How cost is read.")
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="SETUP", help="Setup that the others are compared with.")
    ] = None,
    boots: options.BootsOption = None,
    samples: options.SamplesOption = None,
    warmup: options.WarmupOption = None,
    cold: Annotated[
        bool | None, typer.Option("--cold/--warm", help="Drop the kernel's caches each time.")
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="No whole costs: amortised and deferred work is not measured then."
        ),
    ] = False,
    margin: Annotated[
        float | None,
        typer.Option(metavar="FRACTION", help="Overheads within ± this fraction are equivalent."),
    ] = None,
    attribute: Annotated[
        bool, typer.Option("--attribute", help="Also find which hook and function it comes from.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and stop.")] = False,
) -> int:
    """Boot kernels with different security setups and measure what each operation costs.

    Without any words it runs the main experiment: Debian's 6.1 kernel, every module that
    it has, the file-access suite, counted in instructions. It can be stopped at any time
    (Ctrl-C); the same words resume it, and nothing is measured twice.

        lsmeter run
        lsmeter run --kernel debian:6.1 --kernel debian:7.2 --setup selinux --setup apparmor
        lsmeter run --setup 'landlock:layers=4,rules=16' --benchmark open --filesystem ext4
        lsmeter run experiments/main.toml --boots 3
    """
    from lsmeter.cli.measure import measure, showing
    from lsmeter.cli.show import show_run

    words = {
        "instrument": instrument,
        "baseline": baseline,
        "boots": boots,
        "margin": margin,
        "task": "attribute" if attribute else None,
        "sampling": {
            "samples": samples,
            "warmup": warmup,
            "cold": cold,
            "whole_ppm": 0 if quick else None,
        },
    }
    found = options.experiment(asked.words(**words), experiment)
    stem = experiment.stem if experiment is not None else "run"
    where, code = measure([found], stem, asked, dry_run=dry_run)
    if not dry_run:
        with showing(code):
            show_run(where)
    return int(code)
