# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter selftest`: shows that an instrument says what is true, by costs that are known."""

from __future__ import annotations

from typing import Annotated

from lsmeter.cli.console import SCREEN
from lsmeter.cli.options import Options, RunArgument, but, declared
from lsmeter.cli.show import show
from lsmeter.core.errors import ExitCode, UsageError
from lsmeter.core.model.arch import Arch, arch_of_host, find_arch

_NEITHER = ("setup", "suite", "benchmark", "filesystem", "user", "image")


def exact(
    options: Annotated[Options, but(*_NEITHER, "machine", kernel="built for this")],
    run: RunArgument = None,
    boots: Annotated[int, declared("selftest-exact.boots")] = 3,
    seed: Annotated[int, declared("selftest-exact.seed")] = 42,
) -> int:
    """Inject known costs into a kernel, and check every number of them.

    The kernel is the smallest one that runs the probe, with a security module that costs
    what it is set to: in all calls or in some, at once or in an RCU callback, in a hook or
    outside of hooks. It is built once, which takes a minute or two. With --kernel, BPF
    programs inject the like into a kernel as it ships. Each row is one such
    cost with what every number and the verdict say of it, and with the functions that are
    charged with it. A cost that is called equivalent, a whole cost that is wrong, or another
    function's name fails the test. The run is kept: `lsmeter report`, `lsmeter hooks cost`
    and the like read it as any other.

        lsmeter selftest exact
        lsmeter selftest exact --arch arm64
        lsmeter selftest exact --kernel debian:6.1 --condition icount_shift=1
        lsmeter selftest exact --boots 4 --fresh
        lsmeter selftest exact --format json -o selftest.json

    Exit code 0 if all of it is as it should be, 8 if any is not.
    """
    from lsmeter.catalogue.setups.inject import Way
    from lsmeter.cli.live import LiveTasks
    from lsmeter.cli.measure import measure, showing
    from lsmeter.measure.results.directory import read_run
    from lsmeter.questions.attribution.load import run_cells
    from lsmeter.questions.selftest.document import document, selftest_report
    from lsmeter.questions.selftest.scenarios import PLANS, selftest_experiment, selftest_kernel

    code = ExitCode.OK
    for key, names in (("kernel", options.kernel), ("arch", options.arch)):
        if len(names or ()) > 1:
            raise UsageError(f"--{key}: one at a time", hint="the table is of one kernel")
    if run is None:
        keys = options.keys(boots=boots, seed=seed)
        if not options.kernel:
            with LiveTasks(SCREEN.err) as tasks:
                keys["kernels"] = [selftest_kernel(_arch(options), tasks).name]
        plan = PLANS[Way.BPF if options.kernel else Way.MODULE]
        run, code = measure([selftest_experiment(plan, keys)], "selftest", options)
    with showing(code):
        data = read_run(run)
        attributed, damaged = run_cells(data)
        for problem in damaged:
            SCREEN.say(f"{problem.title}: {problem.detail}")
        # Damaged attribution names no function, which is a failure of the selftest.
        report = selftest_report(data, () if damaged else attributed)
        show(document(report))
        if SCREEN.output is not None:
            SCREEN.say(report.summary)
        SCREEN.say(f"results {run}")
        if code is not ExitCode.INTERRUPTED:
            return int(ExitCode.OK if report.passed else ExitCode.SELFTEST)
    return int(code)


def _arch(options: Options) -> Arch:
    return find_arch(options.arch[0], where="--arch") if options.arch else arch_of_host()


def timed(
    options: Annotated[Options, but(*_NEITHER, "kernel", "condition", "jobs")],
    run: RunArgument = None,
    boots: Annotated[int, declared("selftest-timed.boots")] = 20,
) -> int:
    """Spin a known time on this machine, and find it again.

    The probe spins at the end of readings. The instrument has to find that time, in the mean and,
    where every reading spins, in the median. What its statistics do where the noise is known is
    part of the tests.

        lsmeter selftest timed
        lsmeter selftest timed --boots 60

    Exit code 0 if all of it is as it should be, 8 if any is not.
    """
    from lsmeter.cli.measure import measure, showing
    from lsmeter.measure.results.directory import read_run
    from lsmeter.questions.selftest.spun import TimedReport, document, experiment, recoveries

    code = ExitCode.OK
    if run is None:
        seed = 42 if options.seed is None else options.seed
        here = experiment(boots, seed, (options.machine or ["here"])[0])
        run, code = measure([here], "selftest-timed", options)
    with showing(code):
        report = TimedReport(recoveries(read_run(run)))
    if code is ExitCode.INTERRUPTED:
        return int(code)
    show(document(report))
    if SCREEN.output is not None:
        SCREEN.say(report.summary)
    SCREEN.say(f"results {run}")
    return int(code or (ExitCode.OK if report.passed else ExitCode.SELFTEST))
