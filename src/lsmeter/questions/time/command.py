# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter calibrate` and `validate`: what each event takes here, and whether that tells times."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from lsmeter.cli import names
from lsmeter.cli.console import SCREEN
from lsmeter.cli.options import (
    AllOption,
    Options,
    argument,
    but,
    declared,
    make_experiment,
)
from lsmeter.cli.show import show, write
from lsmeter.core.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from lsmeter.core.model import Kernel
    from lsmeter.measure.experiment.options import Experiment

BLOCKS = 25  # and as many of the control, which are as good
_ASKED = Path(__file__).with_name("experiments.toml")
WITHOUT = ("filesystem", "user", "image", "condition", "machine")
DEFAULTS = {"kernel": "the nearest", "suite": "file"}
BlocksOption = Annotated[int, declared("calibrate.boots")]


def calibrate(
    options: Annotated[Options, but("setup", *WITHOUT, **DEFAULTS)],
    words: Annotated[
        list[str] | None,
        argument(
            "show|RUN", "show [CALIBRATION]: what is known; TIMED_RUN EVENTS_RUN: fit to two."
        ),
    ] = None,
    boots: BlocksOption = BLOCKS,
    output: Annotated[Path | None, declared("calibrate.output")] = None,
) -> int:
    """Learn what each event takes here, to predict times.

    Runs the suites on this machine as it runs, and once in a guest that counts events, on
    the kernel nearest to this machine's, both with and without Landlock and seccomp. Weights
    are fitted to the operations without these, and stored with two errors: of each operation,
    predicted from weights that were fitted without it, and of overheads. It takes about four
    minutes and needs no root. Measure on an idle machine.

        lsmeter calibrate
        lsmeter calibrate show
        lsmeter calibrate --output server.json

    Reports of runs with --events then have predicted nanoseconds; --calibration names
    another one than the newest of this machine.
    """
    from lsmeter.cli.measure import check_shown, showing

    if words and words[0] == "show":
        check_shown(options, "a calibration", "show", boots=_given(boots))
        return _show(words[1:], output)
    if words and len(words) != 2:
        raise UsageError(
            f"calibrate: {words[0]!r} alone is neither show nor two runs",
            hint="lsmeter calibrate, lsmeter calibrate show, or TIMED_RUN EVENTS_RUN",
        )
    from lsmeter.measure.results.directory import read_run
    from lsmeter.questions.time.calibration import keep, to_bytes
    from lsmeter.questions.time.document import document, error_words
    from lsmeter.questions.time.validation import fitted

    timed, counted, code = _both_runs([Path(word) for word in words or ()], options, boots)
    if code is not ExitCode.INTERRUPTED:
        with showing(code):
            found = fitted(read_run(timed), read_run(counted))
            where = keep(found)
            show(document(found, str(where)))
            if output is not None:
                write(output, to_bytes(found))
            SCREEN.say(f"calibration {found.name}: {error_words(found)}")
    return int(code)


def validate(
    options: Annotated[Options, but(*WITHOUT, **DEFAULTS)],
    runs: Annotated[
        list[Path] | None,
        argument("RUN", "TIMED_RUN EVENTS_RUN: two that were made before.", names.runs),
    ] = None,
    setup: Annotated[
        list[str] | None,
        declared(
            "setup",
            text="Setups that need no reboot: landlock:layers=2.",
            default="Landlock, seccomp",
        ),
    ] = None,
    boots: BlocksOption = BLOCKS,
    everything: AllOption = False,
) -> int:
    """Predict what Landlock and seccomp cost here, and measure it.

    Times operations on this machine with and without each setup, and counts their events in
    a guest on the kernel nearest to it. Weights are fitted to the operations without a setup
    only; what a setup adds is predicted by them from its events.

        lsmeter validate
        lsmeter validate -s landlock:layers=2 -b open -b stat -b read
        lsmeter validate --format markdown
    """
    from lsmeter.cli.measure import showing
    from lsmeter.measure.results.directory import read_run
    from lsmeter.questions.time.validation import document, fitted, validated

    if runs and len(runs) != 2:
        raise UsageError("validate: name both runs, TIMED_RUN EVENTS_RUN, or none")
    timed, counted, code = _both_runs(runs or (), options, boots, setup or (), "validate")
    if code is ExitCode.INTERRUPTED:
        return int(code)
    with showing(code):
        data = read_run(timed), read_run(counted)
        calibration = fitted(*data)
        found = validated(*data, calibration)
        if not found:
            raise UsageError(
                f"{timed} and {counted} have no setup in common",
                hint="measure the same setups in both: lsmeter validate does it",
            )
        show(lambda detail: document(found, calibration, detail), everything=everything)
    return int(code)


def _show(words: list[str], output: Path | None) -> int:
    from lsmeter.questions.time.calibration import find_calibration, kept, this_host, to_bytes
    from lsmeter.questions.time.document import document, listing

    if len(words) > 1:
        raise UsageError("calibrate show: names one calibration at most")
    if not words:
        same = [item.name for item in kept() if item.host.like(this_host())]
        show(listing(kept(), same))
        return int(ExitCode.OK)
    found = find_calibration(words[0])
    show(document(found))
    if output is not None:
        write(output, to_bytes(found))
    return int(ExitCode.OK)


def _given(blocks: int) -> int | None:
    return None if blocks == BLOCKS else blocks


def _both_runs(
    runs: Sequence[Path],
    options: Options,
    blocks: int,
    setups: Sequence[str] = (),
    stem: str = "calibrate",
) -> tuple[Path, Path, ExitCode]:
    """Return the two runs that were named, or time the suites here and count events in a guest.

    With these setups, or the usual ones, besides none.
    """
    from lsmeter.cli.measure import check_shown, measure

    if runs:
        timed_run, counted_run = runs
        own = {"setup": setups or None, "boots": _given(blocks)}
        check_shown(options, timed_run, "both runs", **own)
        return timed_run, counted_run, ExitCode.OK
    from lsmeter.core.storage import make_dir
    from lsmeter.measure.results.directory import read_run
    from lsmeter.measure.results.held import new_directory
    from lsmeter.questions.time.figures import lsms_of
    from lsmeter.questions.time.likeness import lsms_beside
    from lsmeter.sources.kernels.resolve import resolve

    timed, counted = _experiments(options, blocks, setups)
    _check_enough(make_experiment(timed))
    guest = resolve(counted["kernels"][0])  # a wrong name is said before anything is timed
    # Both stand in one directory, so that a stopped command can go on.
    folder = options.run_dir or new_directory(stem)
    resume = None if options.run_dir else folder

    def measured(keys: dict[str, Any], name: str) -> tuple[Path, ExitCode]:
        own = replace(options, run_dir=folder / name)
        return measure([make_experiment(keys)], stem, own, resume=resume)

    try:
        make_dir(folder)
        here, code = measured(timed, "timed")
        if code is ExitCode.INTERRUPTED:
            return here, here, code
        counted["conditions"]["lsms"] = lsms_beside(lsms_of(read_run(here)), guest.config)
        there, second = measured(counted, "events")
    except KeyboardInterrupt:
        SCREEN.say(f"stopped; what was measured is kept in {folder}: --run-dir goes on with it")
        raise
    finally:
        with suppress(OSError):
            folder.rmdir()  # where nothing came into it
    return here, there, ExitCode.INTERRUPTED if second is ExitCode.INTERRUPTED else code or second


def _check_enough(experiment: Experiment) -> None:
    """Refuse so few operations that nothing could be fitted to them, before any is measured."""
    from lsmeter.guest.probe import catalogue, find_probe
    from lsmeter.measure.experiment.select import select_benchmarks
    from lsmeter.measure.instruments.timed import EMPTY
    from lsmeter.questions.time.fit import GROUND, LEAST_OPERATIONS

    offered = catalogue(find_probe())
    found = select_benchmarks(offered, experiment.suites, experiment.benchmarks, controls=True)
    told = [item for item in found if item.operation != EMPTY and item.suite != GROUND]
    count = len({(item.suite, item.operation) for item in told})
    if count < LEAST_OPERATIONS:
        raise UsageError(
            f"--benchmark: names {count} operations with the controls; a fit needs "
            f"{LEAST_OPERATIONS}",
            hint="name more, or leave it out",
        )


def _experiments(
    options: Options, blocks: int, setups: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the keys of both experiments."""
    from lsmeter.core.host import cgroups, command_line, flags
    from lsmeter.machines import find_machine
    from lsmeter.questions.time.calibration import this_host
    from lsmeter.questions.time.fit import GROUND
    from lsmeter.questions.time.likeness import conditions, unlike
    from lsmeter.sources.kernels.running import running_kernel

    host, running = this_host(), running_kernel()
    kernel, why = (options.kernel[0], "as named") if options.kernel else nearest(running)
    suites = [*dict.fromkeys((*(options.suite or ["file"]), GROUND))]
    chosen = [*options.benchmark, f"{GROUND}/*"] if options.benchmark else None
    user = getattr(find_machine("here"), "users", ("root",))[0]
    like = conditions(host.mitigations, running.config, command_line(), flags(), cgroups())
    SCREEN.say(f"events are counted on {kernel}; this machine runs Linux {running.release}: {why}")
    for text in unlike(host.mitigations):
        SCREEN.say(text, style="yellow")
    asked = tomllib.loads(_ASKED.read_text(encoding="utf-8"))
    timed, counted = asked["timed"], asked["counted"]
    for keys in (timed, counted):
        keys["setups"] = [keys["baseline"], *(setups or asked["setups"])]
    timed["boots"] = blocks
    counted |= {"kernels": [kernel], "conditions": like}
    given = {"suites": suites, "users": [user], "benchmarks": chosen, "seed": options.seed}
    known = {key: value for key, value in given.items() if value is not None}
    return {**timed, **known}, {**counted, **known}


def nearest(running: Kernel) -> tuple[str, str]:
    """Return the name of the kernel to count on, and why: this machine's own, else the nearest.

    What the archive has counts, cached or not; only where it cannot be asked, what is cached.
    """
    from lsmeter.core.errors import InfrastructureError
    from lsmeter.core.model.series import series_of
    from lsmeter.questions.time.likeness import nearest_kernel
    from lsmeter.sources.kernels.resolve import resolve
    from lsmeter.sources.kernels.sources.debian import SOURCE

    try:
        return resolve("host").name, "its own image"
    except InfrastructureError as error:
        SCREEN.say(error.title)
    series = str(series_of(running.release) or running.release)
    try:
        names, of = SOURCE.offered(series), "Debian's archive"
    except InfrastructureError as error:
        SCREEN.say(error.title)
        names, of = tuple(item.name for item in SOURCE.listing() if item.cached), "the cache"
    offered = {name: name.partition(":")[2] for name in names}
    found = nearest_kernel(running.release, offered)
    if found is None:
        raise InfrastructureError(
            f"no kernel near Linux {running.release} is available",
            hint="name one: --kernel debian:6.1, or the path of an image",
        )
    same = "the same series" if offered[found] == series else "the nearest series"
    return found, f"{same}, of those in {of}"
