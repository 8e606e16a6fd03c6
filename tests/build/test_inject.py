# SPDX-License-Identifier: GPL-2.0-or-later
"""The module of the selftest in a guest: it costs what it was told, to the instruction."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from lsmeter.core.model import BenchmarkStatus
from lsmeter.core.model.arch import X86_64
from lsmeter.measure.results.directory import read_run
from lsmeter.questions.selftest.scenarios import Part, counted_insns, lost, selftest_kernel
from tests.build.kernels import plain
from tests.conftest import Lsmeter
from tests.runs import each, facts, measured, values

pytestmark = pytest.mark.build

BENCHMARKS = ("stat depth=1", "open depth=1", "chmod depth=1", "mkdir depth=1", "read size=1")
CONTROLS = ("empty", "getppid")  # measured whatever is asked for
SETUPS = (
    "inject",
    "inject:cost=flat",
    "inject:cost=cancel",
    "inject:cost=rows,burn=no",
    "inject:cost=rows",
    "inject:cost=elsewhere,burn=no",
    "inject:cost=elsewhere",
    "inject:cost=blob,burn=no",
    "inject:cost=blob",
)
SAMPLES = 100

# What is wrong with the parameter, and what the module has to say of it; a blank: given twice.
WRONG = {
    "getatr:insns=5": "unknown place: 'getatr'",
    "getattr": "place without settings: 'getattr'",
    "getattr:share=40": "no insns for the place: 'getattr'",
    "getattr:insns": "setting without a value: 'insns'",
    "getattr:insns=-5": "number out of range: '-5'",
    "getattr:insns=5000000": "number out of range: '5000000'",
    "getattr:insns=5,every=1": "number out of range: '1'",
    "getattr:insns=5,share=100": "number out of range: '100'",
    "getattr:insns=5,random=44": "no multiple of 5: '44'",
    "getattr:insns=5,share=40,every=8": "two of share, random and every: '8'",
    "getattr:insns=5;getattr:insns=6": "place given twice: 'getattr'",
    "getattr:insns=5;": "place without settings: ''",
    "getattr:insns=5,shar=40": "unknown setting: 'shar'",
    "open:insns=5;blob:insns=400": "blob has bytes only: 'insns'",
    "open:insns=5 open:insns=6": "parameter given twice: 'open:insns=6'",
    "open:insns=5;blob:bytes=5000": "number out of range: '5000'",
}


class Run:
    """One boot of every setup: estimates, readings, and what the module counted."""

    def __init__(self, lsmeter: Lsmeter, kernel: str) -> None:
        words = (*each("--setup", SETUPS), "--baseline", "inject")
        words = (*words, *each("--benchmark", BENCHMARKS))
        sampling = ("--samples", str(SAMPLES), "--jobs", "1")
        self.report = measured(lsmeter, "--kernel", kernel, *words, *sampling)
        data = read_run(lsmeter.home / "run")
        cells = {cell.hash: cell.place.setup for cell in data.manifest.cells}
        self.boots = {cells[boot.cell_hash]: boot for boot in data.boots}

    def typical(self, setup: str, benchmark: str) -> float:
        """Return the most frequent count."""
        return values(self.report, setup)[benchmark]

    def paired(self, before: str, after: str, benchmark: str) -> Counter[int]:
        """Return the differences of readings of the same index, with their number."""
        sides = [self.readings(setup, benchmark) for setup in (before, after)]
        return Counter(there - here for here, there in zip(*sides, strict=True))

    def readings(self, setup: str, benchmark: str) -> list[int]:
        """Return every reading, in time."""
        (found,) = [item for item in self.boots[setup].samples if item.benchmark == benchmark]
        return list(found.values)

    def counted(self, setup: str, benchmark: str, part: Part) -> float | None:
        """Return what the operation cost more in the mean by the module's counters."""
        (state,) = [item for item in self.boots[setup].states if item.benchmark == benchmark]
        assert lost(state.after) == 0
        operation = benchmark.partition(" ")[0]
        found = counted_insns(state.before, state.after, operation, part)
        return None if found is None else float(found)


@pytest.fixture(scope="module")
def kernel() -> str:
    plain()
    return selftest_kernel(X86_64).name


@pytest.fixture(scope="module")
def run(kernel: str, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(Lsmeter(tmp_path_factory.mktemp("inject")), kernel)


def test_every_guest_measured_everything(run: Run) -> None:
    assert set(run.boots) == set(SETUPS)
    for boot in run.boots.values():
        statuses = {samples.benchmark: samples.status for samples in boot.samples}
        assert statuses == dict.fromkeys((*CONTROLS, *BENCHMARKS), BenchmarkStatus.OK)


@pytest.mark.parametrize("benchmark", ["stat depth=1", "chmod depth=1", "read size=1"])
def test_a_cost_in_each_call_is_in_line_to_the_instruction(run: Run, benchmark: str) -> None:
    flat = run.typical("inject:cost=flat", benchmark)
    assert flat - run.typical("inject", benchmark) == 500
    assert run.counted("inject:cost=flat", benchmark, Part.IN_LINE) == 500


def test_a_place_that_was_not_named_costs_nothing(run: Run) -> None:
    assert run.typical("inject:cost=flat", "open depth=1") == run.typical("inject", "open depth=1")


def test_readings_in_step_differ_by_what_was_injected_and_nothing_else(run: Run) -> None:
    """Interrupts fall into a few readings of either side; all others have to fit."""
    found = run.paired("inject:cost=flat", "inject:cost=cancel", "stat depth=1")
    assert found[-500] + found[500] >= SAMPLES * 0.9
    assert abs(found[-500] - found[500]) <= SAMPLES * 0.1
    found = run.paired("inject:cost=rows,burn=no", "inject:cost=rows", "stat depth=1")
    assert found[0] + found[500] >= SAMPLES * 0.9
    assert 0.35 <= found[500] / SAMPLES <= 0.45
    found = run.paired("inject:cost=rows,burn=no", "inject:cost=rows", "read size=1")
    assert all(found[insns] >= SAMPLES / 10 - 2 for insns in range(20, 1020, 100))


def test_the_counters_know_what_typical_counts_do_not_show(run: Run) -> None:
    assert run.counted("inject:cost=rows", "stat depth=1", Part.WHOLE) == pytest.approx(200, 0.02)
    opened = run.counted("inject:cost=rows", "open depth=1", Part.WHOLE)
    assert opened == pytest.approx(275 + 1000 + 5000, 0.02)
    shown = run.typical("inject:cost=rows", "chmod depth=1")
    assert shown == run.typical("inject:cost=rows,burn=no", "chmod depth=1")
    assert run.counted("inject:cost=rows", "chmod depth=1", Part.WHOLE) == pytest.approx(500, 0.5)


def test_costs_are_put_off_and_outside_of_hooks(run: Run) -> None:
    before, after = "inject:cost=elsewhere,burn=no", "inject:cost=elsewhere"
    shown = {name: run.typical(after, name) - run.typical(before, name) for name in BENCHMARKS}
    assert shown == {
        "stat depth=1": 500,  # the inode operation, which is below no hook
        "open depth=1": 0,  # the RCU callback comes after close()
        "chmod depth=1": 500,  # task work is done on the way out
        "mkdir depth=1": 0,  # the worker waits for a tick
        "read size=1": 0,
    }
    assert run.counted(after, "open depth=1", Part.WHOLE) == 5000
    assert run.counted(after, "mkdir depth=1", Part.WHOLE) == 2000


def test_a_larger_blob_is_cleared(run: Run) -> None:
    """Where single readings vary with the slabs, the most frequent difference is meant."""
    found = run.paired("inject:cost=blob,burn=no", "inject:cost=blob", "mkdir depth=1")
    assert found.most_common(1)[0][0] == 125
    assert run.paired("inject:cost=blob,burn=no", "inject:cost=blob", "stat depth=1")[0] > 90


def test_a_wrong_parameter_is_told_and_injects_nothing(
    kernel: str, lsmeter: Lsmeter, tmp_path: Path
) -> None:
    files = []
    for number, (text, error) in enumerate(WRONG.items()):
        files.append(tmp_path / f"wrong{number}.toml")
        files[-1].write_text(
            f'name = "wrong{number}"\ntitle = "wrong"\nlsms = ["inject"]\n'
            f"cmdline = {['inject=' + word for word in text.split()]}\n"
            'needs_config = ["SECURITY_INJECT"]\n'
            '[reads]\n"inject.costs" = "/sys/kernel/security/inject/costs"\n'
            f'[[expect]]\nfact = "inject.costs"\nvalue = "error: {error}"\n'
        )
    names = ("inject", *map(str, files))
    few = ("--benchmark", "stat depth=1", "--samples", "20", "--jobs", "1")
    compared = (*each("--setup", names), "--baseline", "inject")
    report = measured(lsmeter, "--kernel", kernel, *compared, *few)
    expected = values(report, "inject")
    for number, error in enumerate(WRONG.values()):
        assert facts(report, f"wrong{number}")["inject.costs"] == f"error: {error}"
        assert values(report, f"wrong{number}") == expected


def test_a_parameter_that_the_module_reads_otherwise_gives_no_numbers(
    kernel: str, lsmeter: Lsmeter, tmp_path: Path
) -> None:
    """Shows that the guest is asked: the costs are right, and not those that are expected."""
    file = tmp_path / "other.toml"
    file.write_text(
        'name = "other"\ntitle = "other"\nlsms = ["inject"]\n'
        'cmdline = ["inject=stat:insns=5"]\nneeds_config = ["SECURITY_INJECT"]\n'
        '[reads]\n"inject.costs" = "/sys/kernel/security/inject/costs"\n'
        '[[expect]]\nfact = "inject.costs"\nvalue = "stat:insns=5"\n'
    )
    few = ("--benchmark", "stat depth=1", "--samples", "20")
    done = lsmeter("run", "--kernel", kernel, "--setup", str(file), "--boots", "1", *few)
    assert done.code != 0
    assert "unknown place: 'stat'" in done.out + done.err
