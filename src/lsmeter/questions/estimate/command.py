# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter estimate`: what setups would cost a service, from its system calls."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lsmeter.cli import names
from lsmeter.cli.console import SCREEN
from lsmeter.cli.show import (
    AllOption,
    BenchmarkOption,
    CalibrationOption,
    SetupOption,
    calibration_for,
    show,
)
from lsmeter.core.errors import LsmeterError, UsageError

if TYPE_CHECKING:
    from lsmeter.measure.results.directory import RunData
    from lsmeter.questions.estimate.counted import Counted
    from lsmeter.questions.estimate.known import Known
    from lsmeter.questions.estimate.profiles.model import Profile


def estimate(
    profile: Annotated[
        Path,
        typer.Option(
            "--profile",
            metavar="FILE|RUN",
            help="What strace -c or perf trace -s wrote, or a run that counted a workload.",
        ),
    ],
    run: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RUN",
            help="Runs of suites.  [default: the latest in runs/ that has system calls]",
            autocompletion=names.runs,
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            metavar="N", min=1e-6, max=1e9, help="The profile was taken for so many seconds."
        ),
    ] = None,
    units: Annotated[
        float | None,
        typer.Option(
            metavar="N", min=1e-6, max=1e15, help="The profile covers so many requests (or others)."
        ),
    ] = None,
    setup: SetupOption = None,
    benchmark: BenchmarkOption = None,
    on: Annotated[
        list[str] | None,
        typer.Option(
            "--on",
            metavar="[CALL=]KIND",
            help="What read, write and so on are made on: file, pipe, unix, tcp, udp. Repeatable.  "
            "[default: what the profile says]",
        ),
    ] = None,
    calibration: CalibrationOption = None,
    everything: AllOption = False,
) -> int:
    """Say what each setup would cost a service, from a profile of its system calls.

    Each call costs what its proxy benchmarks cost more under a setup than under
    the baseline, on what the other calls suggest that it is made on (a service that accepts
    and waits has sockets). What no benchmark covers is named, call by call. Of a workload
    that was counted, the estimate stands beside the count (-b names some of its benchmarks).
    Nothing is measured.

        strace -c -f -o calls -p PID
        lsmeter estimate --profile calls --seconds 10
        lsmeter estimate --profile calls --units 200
        lsmeter estimate --profile calls runs/files runs/net -s selinux-enforcing
        lsmeter estimate --profile calls --on tcp --on write=file
        lsmeter estimate --profile runs/web-nginx runs/suites
    """
    from lsmeter.questions.cells.verify import damage_code
    from lsmeter.questions.estimate.counted import counted
    from lsmeter.questions.estimate.document import document
    from lsmeter.questions.estimate.figures import Estimated, estimate
    from lsmeter.questions.estimate.known import known_costs, together

    kinds = _kinds(on or [])
    items: list[tuple[Profile, Counted | None]]
    if profile.is_dir():
        for option, given in (("--seconds", seconds), ("--units", units)):
            if given is not None:
                raise UsageError(f"{option}: of a workload costs are those of a unit of its work")
        own = _picked(counted(_read(profile)), benchmark or [])
        items = [(item.profile, item) for item in own]
    else:
        if benchmark:
            raise UsageError("--benchmark: a file of system calls has none")
        items = [(_profile(profile, seconds, units), None)]
    runs = [_read(path) for path in run] if run else [_latest()]
    found = [one for data in runs for one in known_costs(data, calibration_for(data, calibration))]
    known = [_only(one, setup or []) for one in together(found)]
    if not any(one.costs for one in known):
        paths = ", ".join(str(data.path) for data in runs)
        raise UsageError(
            f"{paths}: no system call was measured under a setup and its baseline",
            hint="lsmeter run --suite file --suite net -s selinux; or name another run",
        )
    shown: list[tuple[Estimated, Counted | None]] = [
        (estimate(calls, one, kinds), own) for calls, own in items for one in known if one.costs
    ]
    show(partial(document, str(profile), shown), everything=everything)
    return max(map(damage_code, runs))


def _kinds(words: list[str]) -> dict[str, str]:
    """Read what calls are made on: `tcp` of all that can be, `read=tcp` of one."""
    from lsmeter.core.registry import unknown
    from lsmeter.questions.estimate.profiles.proxies import proxies

    table, found = proxies(), dict[str, str]()
    for word in words:
        call, _, kind = word.rpartition("=")
        name = table.name(call)
        if call and name not in table.of:
            raise unknown("call", call, table.of, where="--on")
        known = table.of[name].kinds if call else table.kinds
        if kind not in known or not kind:
            raise unknown("kind", kind, [item for item in known if item], where="--on")
        found[name] = kind
    return found


def _profile(path: Path, seconds: float | None, units: float | None) -> Profile:
    from lsmeter.questions.estimate.profiles import read_profile

    found = read_profile(path)
    return replace(found, seconds=found.seconds if seconds is None else seconds, units=units)


def _picked(found: tuple[Counted, ...], patterns: list[str]) -> list[Counted]:
    from fnmatch import fnmatchcase

    picked = [
        item
        for item in found
        if not patterns
        or any(fnmatchcase(item.benchmark, p) or item.benchmark.split()[0] == p for p in patterns)
    ]
    if not picked:
        known = ", ".join(item.benchmark for item in found)
        raise UsageError(f"--benchmark: none is '{patterns[0]}'", hint=f"the run has {known}")
    return picked


def _only(known: Known, setups: list[str]) -> Known:
    """Leave out the setups that were not asked for; one that no run has is a UsageError."""
    from lsmeter.core.registry import unknown

    for name in setups:
        if name not in known.costs:
            raise unknown("setup", name, known.costs, where="--setup")
    return replace(known, costs={n: c for n, c in known.costs.items() if n in setups or not setups})


def _read(path: Path) -> RunData:
    from lsmeter.measure.results.directory import read_run

    return read_run(path)


def _latest() -> RunData:
    """Return the latest run with system calls under a setup and its baseline."""
    from lsmeter.measure.results.directory import read_manifest
    from lsmeter.measure.results.held import known_runs
    from lsmeter.questions.estimate.known import is_of_use

    for path in known_runs():
        try:
            if is_of_use(read_manifest(path)):
                SCREEN.say(f"the latest run with system calls: {path}")
                return _read(path)
        except LsmeterError as error:
            SCREEN.say(f"{path} is passed over: {error.title}")
    raise UsageError(
        "no run in runs/ has system calls under a setup and its baseline",
        hint="make one: lsmeter run --suite file --suite process --suite ipc --suite net "
        "--suite syscall -s selinux; or name runs",
    )
