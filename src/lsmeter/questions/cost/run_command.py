# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter run`: plan, measure, report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from lsmeter.cli.options import (
    AllOption,
    BesideOption,
    BootsOption,
    CalibrationOption,
    MarginOption,
    Options,
    SamplesOption,
    TuneOption,
    argument,
    declared,
    make_experiment,
)
from lsmeter.core.errors import UsageError


@dataclass(frozen=True)
class RunOptions(Options):
    """The options of `lsmeter run`."""

    baseline: Annotated[str | None, declared("run.baseline")] = None
    instrument: Annotated[str | None, declared("run.instrument")] = None
    boots: BootsOption = None
    samples: SamplesOption = None
    warmup: Annotated[int | None, declared("run.warmup")] = None
    cold: Annotated[bool | None, declared("run.cold")] = None
    quick: Annotated[bool, declared("run.quick")] = False
    margin: MarginOption = None
    attribute: Annotated[bool, declared("run.attribute")] = False
    events: Annotated[bool, declared("run.events")] = False
    calibration: CalibrationOption = None
    client: Annotated[str | None, declared("run.client")] = None
    server: Annotated[str | None, declared("run.server")] = None
    monitor: Annotated[int | None, declared("run.monitor")] = None
    copies: Annotated[list[str] | None, declared("run.copies")] = None
    until_conclusive: Annotated[bool, declared("run.until_conclusive")] = False
    tune: TuneOption = False
    blocks_max: Annotated[int | None, declared("run.blocks_max")] = None
    minutes_max: Annotated[int | None, declared("run.minutes_max")] = None
    beside: BesideOption = None
    everything: AllOption = False
    dry_run: Annotated[bool, declared("run.dry_run")] = False

    def keys(self, **defaults: Any) -> dict[str, Any]:
        """Return the keys of an experiment: those of the options over defaults."""
        found = {
            **{key: getattr(self, key) for key in ("instrument", "baseline", "boots", "margin")},
            **{key: getattr(self, key) for key in ("client", "blocks_max", "minutes_max")},
            "copies": [int(n) if n.isdecimal() else n for n in self.copies or ()] or None,
            "task": "events" if self.events else "attribute" if self.attribute else None,
            "monitor_ms": self.monitor,
            "until_conclusive": self.until_conclusive or None,
            "sampling": {
                "samples": self.samples,
                "warmup": self.warmup,
                "cold": self.cold,
                "whole_ppm": 0 if self.quick else None,
            },
        }
        return super().keys(**defaults, **found)


def run(
    options: RunOptions,
    file: Annotated[
        Path | None,
        argument("EXPERIMENT", "Experiment file (TOML) under the options."),
    ] = None,
) -> int:
    """Measure what security setups cost each operation.

    It boots kernels with the setups and measures in each. Without options it runs the main
    experiment: Debian's 6.1 kernel with every module it has, the file suite, counted in
    instructions. The controls and the baseline are always measured; the baseline is dac where
    that is a setup of the run. It can be stopped at any time (Ctrl-C); the same command resumes
    it, and nothing is measured twice.

    --events implies --attribute. Copies, --until-conclusive and --tune are for times
    (--instrument timed); --tune also wants --machine here. --client and --server name two hosts
    by ssh:USER@HOST; the other places of a client are in guests.

        lsmeter run -k debian:6.1 -k debian:7.2 -s selinux -s apparmor
        lsmeter run -s landlock:layers=4,rules=16 -b open --filesystem ext4
        lsmeter run experiments/main.toml --boots 3
        lsmeter run --instrument timed -s landlock -b stat --until-conclusive
    """
    from lsmeter.cli.measure import measure, showing
    from lsmeter.cli.show import check_calibration, show_run, studies_of
    from lsmeter.measure.experiment.options import MAIN, is_main

    options = _between_hosts(options)
    keys = options.keys()
    stem = file.stem if file is not None else "run"
    if file is None and is_main(keys):
        keys, stem = {**keys, **MAIN}, "main"
    found = make_experiment(keys, file)
    if options.tune and found.copies != [1]:
        raise UsageError(
            "--tune: it keeps one CPU apart, and each copy wants one of its own",
            hint="leave out --tune, or --copies",
        )
    check_calibration(options.calibration, found.task)
    studies = studies_of(options.beside)
    where, code = measure([found], stem, options, dry_run=options.dry_run, tune=options.tune)
    if not options.dry_run:
        with showing(code):
            show_run(where, options.calibration, studies=studies, everything=options.everything)
    return int(code)


def _between_hosts(options: RunOptions) -> RunOptions:
    """Return the options for services on one host under load from another, if they name hosts."""
    hosts = [name for name in (options.server, options.client) if name and name.startswith("ssh:")]
    if not hosts and options.server is None:
        return options
    if len(hosts) < 2 or options.machine:
        raise UsageError(
            "--server and --client name a host each, and no --machine goes with them",
            hint="--server ssh:USER@HOST --client ssh:USER@HOST",
        )
    pair = ",".join(name.removeprefix("ssh:") for name in hosts)
    return replace(options, machine=[f"pair:{pair}"], client="host")
