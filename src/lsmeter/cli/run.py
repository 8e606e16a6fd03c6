# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter run`: plan, measure, report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lsmeter.cli.measure import BootDeadlineOption, carry_out, default_out, plan_for
from lsmeter.cli.show import show_plan, show_run
from lsmeter.errors import ExitCode, UsageError
from lsmeter.limits import BOOT_S, Limits

_CONDITIONS_HELP = (
    "What changes counts without being the setup: mitigations=off|auto|forced, "
    "init_on_alloc=true|false, tick=nohz|periodic, slabs=single|default, icount_shift=N, "
    "memory_mib=N, cpu=MODEL."
)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run")(run)


def run(
    experiment: Annotated[
        Path | None,
        typer.Argument(
            help="Experiment file (TOML); options are laid over it.", show_default=False
        ),
    ] = None,
    kernel: Annotated[
        list[str] | None,
        typer.Option(metavar="KERNEL", help="Kernel: debian:6.1, host, a path. Repeat for more."),
    ] = None,
    setup: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SETUP",
            help="Setup: selinux, landlock:layers=2, apparmor+bpf. Repeat for more.",
        ),
    ] = None,
    suite: Annotated[
        list[str] | None, typer.Option(metavar="SUITE", help="Suite of benchmarks.")
    ] = None,
    benchmark: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Only these: an operation or a pattern: 'open*'."),
    ] = None,
    filesystem: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="tmpfs or ext4.")
    ] = None,
    user: Annotated[
        list[str] | None, typer.Option(metavar="USER", help="root or user (uid 1000).")
    ] = None,
    image: Annotated[
        str | None,
        typer.Option(
            metavar="IMAGE", help="Root file system for the setups that need one: yours for theirs."
        ),
    ] = None,
    instrument: Annotated[
        str | None, typer.Option(metavar="NAME", help="How cost is read.")
    ] = None,
    backend: Annotated[str | None, typer.Option(hidden=True)] = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="SETUP", help="Setup that the others are compared with.")
    ] = None,
    boots: Annotated[int | None, typer.Option(metavar="N", help="Boots of each cell.")] = None,
    samples: Annotated[
        int | None, typer.Option(metavar="N", help="Samples of a benchmark in a boot.")
    ] = None,
    warmup: Annotated[
        int | None, typer.Option(metavar="N", help="Samples thrown away before.")
    ] = None,
    cold: Annotated[
        bool | None, typer.Option("--cold/--warm", help="Drop the kernel's caches each time.")
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="No whole costs: amortised and deferred work is not measured then."
        ),
    ] = False,
    condition: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help=_CONDITIONS_HELP)
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(metavar="FRACTION", help="Overheads within ± this fraction are equivalent."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Seed of orders and random numbers.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Guests at a time; default: the cores.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Run directory to write.")] = None,
    boot_deadline: BootDeadlineOption = BOOT_S,
    attribute: Annotated[
        bool, typer.Option("--attribute", help="Also find which hook and function it comes from.")
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Measure again what is known.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and stop.")] = False,
) -> int:
    """Boot kernels with different security setups and measure what each operation costs.

    Without any words it runs the main experiment: Debian's 6.1 kernel, every module that
    it has, the file-access suite, counted in instructions. It can be stopped at any time
    (Ctrl-C); the same words go on where it stopped, and nothing is measured twice.

        lsmeter run
        lsmeter run --kernel debian:6.1 --kernel debian:7.2 --setup selinux --setup apparmor
        lsmeter run --setup 'landlock:layers=4,rules=16' --benchmark open --filesystem ext4
        lsmeter run experiments/main.toml --boots 3
    """
    from lsmeter.backend import find_backend
    from lsmeter.experiment import build_experiment, merge, read_experiment

    words: dict[str, Any] = {
        "kernels": kernel,
        "setups": setup,
        "suites": suite,
        "benchmarks": benchmark,
        "filesystems": filesystem,
        "users": user,
        "image": image,
        "instrument": instrument,
        "baseline": baseline,
        "boots": boots,
        "margin": margin,
        "seed": seed,
        "sampling": {
            "samples": samples,
            "warmup": warmup,
            "cold": cold,
            "whole_ppm": 0 if quick else None,
        },
        "conditions": _conditions(condition or []),
    }
    data = read_experiment(experiment) if experiment is not None else {}
    asked = build_experiment(merge(data, words), where=str(experiment or "command line"))
    runner = find_backend(backend or ("attributed" if attribute else asked.instrument))
    plan = plan_for(asked, runner)
    show_plan(plan, runner, commands=dry_run)
    if dry_run:
        return int(ExitCode.OK)
    limits = Limits(boot_s=boot_deadline)
    where = out or default_out(experiment.stem if experiment is not None else "run")
    code = carry_out(plan, runner, where, (jobs, fresh, limits))
    show_run(where)
    return int(code)


def _conditions(settings: list[str]) -> dict[str, Any]:
    """Read KEY=VALUE words into what TOML would have given."""
    found: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise UsageError(f"--condition: '{setting}' is not KEY=VALUE", hint=_CONDITIONS_HELP)
        value: Any = text
        if text in {"true", "false"}:
            value = text == "true"
        elif text.isdigit():
            value = int(text)
        found[key] = value
    return found
