# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter run`: plan, measure, report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from lsmeter.cli import options
from lsmeter.cli.options import Asked
from lsmeter.cli.show import AllOption, BesideOption, CalibrationOption
from lsmeter.core.errors import UsageError


@options.measuring
def run(
    asked: Asked,
    experiment: Annotated[
        Path | None,
        typer.Argument(
            metavar="EXPERIMENT", help="Experiment file (TOML); options are laid over it."
        ),
    ] = None,
    instrument: Annotated[
        str | None, typer.Option(metavar="NAME", help="How cost is read.")
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="SETUP",
            help="Setup that the others are compared with.",
            show_default="capability, or dac if asked for",
        ),
    ] = None,
    copies: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N",
            help="Of times: N processes do the same at once; cpus: one a CPU. Repeatable.",
            show_default="1",
        ),
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
    margin: options.MarginOption = None,
    attribute: Annotated[
        bool, typer.Option("--attribute", help="Also find which hook and function it comes from.")
    ] = False,
    events: Annotated[
        bool,
        typer.Option(
            "--events",
            help="Also count what a processor does: loads, locks, branches, misses; implies"
            " --attribute.",
        ),
    ] = False,
    monitor: Annotated[
        int | None,
        typer.Option(
            metavar="MS",
            help="Of workloads: watch the whole guest every MS of its time: `lsmeter monitor`.",
        ),
    ] = None,
    client: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE",
            help="Of a workload: namespace (one guest), guest (one of its own), loopback, or "
            "ssh:USER@HOST (with --server).",
            show_default="namespace",
        ),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            metavar="ssh:USER@HOST",
            help="Of a workload: the host on which its services already run.",
        ),
    ] = None,
    until_conclusive: Annotated[
        bool,
        typer.Option(
            "--until-conclusive",
            help="Of times: add blocks until every comparison has a verdict; --boots to begin.",
        ),
    ] = False,
    blocks_max: Annotated[
        int | None,
        typer.Option(metavar="N", help="Blocks at most, with --until-conclusive.  [default: 200]"),
    ] = None,
    minutes_max: Annotated[
        int | None,
        typer.Option(metavar="N", help="Add no more blocks after N minutes."),
    ] = None,
    tune: Annotated[
        bool,
        typer.Option(
            "--tune",
            help="Of --machine here: governor, turbo, ASLR, a CPU alone; put back at the end.",
        ),
    ] = False,
    calibration: CalibrationOption = None,
    beside: BesideOption = None,
    everything: AllOption = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan, and how long it would take.")
    ] = False,
) -> int:
    """Boot kernels with different security setups and measure what each operation costs.

    Without any words it runs the main experiment: Debian's 6.1 kernel, every module that
    it has, the file-access suite, counted in instructions. The baseline and the controls are
    measured whatever is asked. It can be stopped at any time (Ctrl-C); the same words resume
    it, and nothing is measured twice.

        lsmeter run
        lsmeter run -k debian:6.1 -k debian:7.2 -s selinux -s apparmor
        lsmeter run -s landlock:layers=4,rules=16 -b open --filesystem ext4
        lsmeter run experiments/main.toml --boots 3
        lsmeter run --instrument timed -s landlock -b stat --until-conclusive
    """
    from lsmeter.cli.measure import measure, showing
    from lsmeter.cli.show import check_calibration, show_run, studies_of
    from lsmeter.measure.experiment.asked import MAIN, is_main

    asked, client = _between_hosts(asked, server, client)
    words = {
        "instrument": instrument,
        "baseline": baseline,
        "copies": [int(n) if n.isdecimal() else n for n in copies] if copies else None,
        "boots": boots,
        "margin": margin,
        "client": client,
        "task": "events" if events else "attribute" if attribute else None,
        "monitor_ms": monitor,
        "until_conclusive": until_conclusive or None,
        "blocks_max": blocks_max,
        "minutes_max": minutes_max,
        "sampling": {
            "samples": samples,
            "warmup": warmup,
            "cold": cold,
            "whole_ppm": 0 if quick else None,
        },
    }
    said = asked.words(**words)
    stem = experiment.stem if experiment is not None else "run"
    if experiment is None and is_main(said):
        said, stem = {**said, **MAIN}, "main"
    found = options.experiment(said, experiment)
    if tune and found.copies != [1]:
        raise UsageError(
            "--tune: it keeps one CPU apart, and each copy wants one of its own",
            hint="leave out --tune, or --copies",
        )
    check_calibration(calibration, found.task)
    studies = studies_of(beside)
    where, code = measure([found], stem, asked, dry_run=dry_run, tune=tune)
    if not dry_run:
        with showing(code):
            show_run(where, calibration, studies=studies, everything=everything)
    return int(code)


def _between_hosts(
    asked: Asked, server: str | None, client: str | None
) -> tuple[Asked, str | None]:
    """Return the options for services on one host under load from another, if that is asked for."""
    hosts = [word for word in (server, client) if word and word.startswith("ssh:")]
    if not hosts and server is None:
        return asked, client
    if len(hosts) < 2 or asked.machine:
        raise UsageError(
            "--server and --client name a host each, and no --machine goes with them",
            hint="--server ssh:USER@HOST --client ssh:USER@HOST",
        )
    pair = ",".join(word.removeprefix("ssh:") for word in hosts)
    return replace(asked, machine=[f"pair:{pair}"]), "host"
