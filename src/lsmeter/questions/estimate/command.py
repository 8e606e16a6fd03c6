# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter estimate`: what setups would cost a service, from its system calls."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from lsmeter.cli.console import SCREEN
from lsmeter.cli.names import runs
from lsmeter.cli.options import (
    AllOption,
    BenchmarkOption,
    CalibrationOption,
    SetupOption,
    argument,
    declared,
)
from lsmeter.cli.show import calibration_for, show
from lsmeter.core.errors import LsmeterError, UsageError

if TYPE_CHECKING:
    from lsmeter.measure.results.directory import RunData
    from lsmeter.questions.estimate.known import Counted, Known
    from lsmeter.questions.estimate.profiles.model import Profile


@dataclass(frozen=True)
class EstimateOptions:
    """The options of `lsmeter estimate`, but for the profile."""

    seconds: Annotated[float | None, declared("estimate.seconds")] = None
    units: Annotated[float | None, declared("estimate.units")] = None
    setup: SetupOption = None
    benchmark: BenchmarkOption = None
    on: Annotated[list[str] | None, declared("estimate.on")] = None
    calibration: CalibrationOption = None
    everything: AllOption = False


def estimate(
    options: EstimateOptions,
    profile: Annotated[Path, declared("estimate.profile")],
    run: Annotated[
        list[Path] | None,
        argument("RUN", "Runs of suites. [default: the latest in runs/ with system calls]", runs),
    ] = None,
) -> int:
    """Estimate what setups would cost a service, from its system calls.

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
    from lsmeter.questions.estimate.document import document
    from lsmeter.questions.estimate.figures import estimate
    from lsmeter.questions.estimate.known import known_costs, together

    kinds = _kinds(options.on or [])
    items = _profiles(profile, options)
    runs = [_read(path) for path in run] if run else [_latest()]
    named = options.calibration
    found = [one for data in runs for one in known_costs(data, calibration_for(named, data))]
    known = [_only(one, options.setup or []) for one in together(found)]
    if not any(one.costs for one in known):
        paths = ", ".join(data.title for data in runs)
        raise UsageError(
            f"{paths}: no system call was measured under a setup and its baseline",
            hint="lsmeter run --suite file --suite net -s selinux; or name another run",
        )
    shown = [estimate(calls, one, kinds, own) for calls, own in items for one in known if one.costs]
    show(partial(document, str(profile), shown), everything=options.everything)
    return max(map(damage_code, runs))


def _profiles(path: Path, options: EstimateOptions) -> list[tuple[Profile, Counted | None]]:
    """Return the profile of a file, or those of a counted workload's benchmarks."""
    from lsmeter.questions.estimate.known import counted
    from lsmeter.questions.estimate.profiles import read_profile

    if not path.is_dir():
        if options.benchmark:
            raise UsageError("--benchmark: a file of system calls has none")
        found = read_profile(path)
        seconds = found.seconds if options.seconds is None else options.seconds
        return [(replace(found, seconds=seconds, units=options.units), None)]
    for name in ("seconds", "units"):
        if getattr(options, name) is not None:
            raise UsageError(f"--{name}: of a workload costs are those of a unit of its work")
    own = _picked(counted(_read(path)), options.benchmark or [])
    return [(item.profile, item) for item in own]


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
    """Leave out the setups that were not named; one that no run has is a UsageError."""
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
