# SPDX-License-Identifier: GPL-2.0-or-later
"""From run directories with policies to evidence and layers; old and foreign ones too."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.core.errors import InfrastructureError
from lsmeter.core.model import (
    BenchmarkStatus,
    Boot,
    BootStatus,
    Problem,
    Samples,
    Setup,
    StateReading,
)
from lsmeter.core.model.setup import EnforcementCheck, Layer, Step
from lsmeter.measure.experiment.options import build_experiment
from lsmeter.measure.experiment.plan import Plan, PlannedBoot
from lsmeter.measure.results.directory import MANIFEST_FILE, read_run
from lsmeter.measure.results.manifest import links_of
from lsmeter.questions.cells.cells import CellResult, cell_results, versions
from lsmeter.questions.cells.evidence import BOOT_TITLE, MAX_MESSAGE, Evidence, Gauge, gather
from lsmeter.questions.cells.layers import LayeredCost, layered_costs
from tests.unit.model_builders import benchmark, cell
from tests.unit.run_builders import rewrite, stored

BENCHMARKS = (benchmark("open", depth=1), benchmark("open", depth=2))
PERMISSIVE = replace(
    parse_setup("selinux"),
    name="logging",
    over="selinux",
    layer=Layer.PERMISSIVE,
    steps=(Step("write", ("/x", "0")),),
)
ENFORCED = replace(
    parse_setup("selinux"),
    name="enforced",
    over="logging",
    layer=Layer.POLICY,
    steps=(
        Step("write", ("/x", "1")),
        Step("run", ("/load",), "policy load"),
        Step("run", ("/label",), "relabelling"),
    ),
    checks=(
        EnforcementCheck("secret", "read", "/secret", denied=True, message="avc:"),
        EnforcementCheck("public", "read", "/public", denied=False),
    ),
)
SETUPS = (parse_setup("capability"), parse_setup("selinux"), PERMISSIVE, ENFORCED)
VALUES = {"capability": 100, "selinux": 130, "logging": 190, "enforced": 185}
GOOD = {
    "proof.secret": "denied",
    "proof.secret.errno": "EACCES",
    "proof.secret.before": "allowed",
    "proof.secret.message": "avc:  denied  { read }",
    "proof.public": "allowed",
    "proof.public.errno": "0",
    # `try` is the first step, then the one that nobody asks for.
    "step.1": "11",
    "step.2": "22",
    "step.3": "3000",
    "step.4": "4000",
    "boot.insns": "777",
}
AVC = StateReading(
    "open depth=1",
    "avc",
    (("lookups", 1000), ("hits", 900), ("entries", 5)),
    (("lookups", 1240), ("hits", 1138), ("entries", 7), ("new", 1)),
)


@dataclass
class Run:
    """A run directory in the making; facts, states and status are those of `enforced`."""

    path: Path
    facts: tuple[dict[str, str], ...] = (GOOD, GOOD)
    states: tuple[StateReading, ...] = (AVC,)
    status: BootStatus = BootStatus.OK
    setups: tuple[Setup, ...] = SETUPS
    samples: dict[str, int] = field(default_factory=lambda: dict(VALUES))

    def write(self) -> Path:
        words = {"kernels": ["k"], "boots": len(self.facts), "sampling": {"warmup": 4}}
        experiment = build_experiment({**words, "setups": ["selinux"]}, where="test")
        cells = tuple(
            replace(cell(setup, samples=8), benchmarks=tuple(item.id for item in BENCHMARKS))
            for setup in self.setups
        )
        boots = tuple(
            PlannedBoot(item, index, 7 + index)
            for index in range(len(self.facts))
            for item in cells
        )
        plan = Plan(experiment, cells, boots, (), BENCHMARKS)
        stored(plan, self.path, lambda planned: (self._boot(planned), {}))
        return self.path

    def _boot(self, planned: PlannedBoot) -> Boot:
        name = planned.cell.setup.name
        tested = name == "enforced"
        good = not tested or self.status is BootStatus.OK
        values = (self.samples[name],) * 8
        return Boot(
            **vars(planned.id),
            status=self.status if tested else BootStatus.OK,
            facts=tuple(self.facts[planned.index].items()) if tested else (("boot.insns", "600"),),
            samples=tuple(
                Samples(item.id, BenchmarkStatus.OK, values) for item in BENCHMARKS if good
            ),
            states=self.states if tested and good else (),
        )


@dataclass(frozen=True)
class Found:
    """What a run directory says."""

    evidence: Evidence
    layers: tuple[LayeredCost, ...]
    cells: tuple[CellResult, ...]


def found_in(path: Path) -> Found:
    run = read_run(path)
    cells = cell_results(run)
    estimates = [item for cell in cells for item in cell.estimates]
    layers = layered_costs(links_of(run.manifest), estimates, versions(run.manifest))
    evidence = gather(run.manifest, [(item.cell, item.boots) for item in cells])
    return Found(evidence, layers, cells)


def found_of(path: Path, **changes: Any) -> Found:
    return found_in(Run(path / "run", **changes).write())


def evidence_of(path: Path, **changes: Any) -> Evidence:
    return found_of(path, **changes).evidence


def test_a_run_with_a_policy_is_read_from_its_directory(tmp_path: Path) -> None:
    found = found_of(tmp_path)
    secret, public = found.evidence.checks
    assert (secret.place.setup, secret.happened, secret.error) == ("enforced", "denied", "EACCES")
    assert (secret.before, secret.held, secret.boots) == ("allowed", 2, 2)
    assert secret.message == "avc:  denied  { read }"
    assert (public.denied, public.happened, public.error, public.before) == (
        False,
        "allowed",
        "",
        "",
    )
    layers = {
        item.place.setup: item for item in found.layers if item.benchmark.id == "open depth=1"
    }
    assert layers["enforced"].chain == ("capability", "selinux", "logging", "enforced")
    assert [layer.difference for layer in layers["enforced"].layers] == [30, 60, -5]
    costs = {(item.place.setup, item.title): item for item in found.evidence.one_off}
    assert costs["enforced", "policy load"].insns == 3000
    assert costs["enforced", "relabelling"].insns == 4000
    assert costs["capability", BOOT_TITLE].insns == 600
    assert {title for _, title in costs} == {"policy load", "relabelling", BOOT_TITLE}


def test_states_are_differences_over_all_readings_of_a_boot(tmp_path: Path) -> None:
    found = evidence_of(tmp_path).states
    assert [item.boot for item in found] == [0, 1]
    assert found[0].readings == 8 + 4
    assert [(item.name, item.difference) for item in found[0].counters] == [
        ("lookups", 240),
        ("hits", 238),
    ]
    assert found[0].gauges == (Gauge("entries", 5, 7), Gauge("new", None, 1))


def test_numbers_that_only_grow_are_known_by_their_ending(tmp_path: Path) -> None:
    injected = replace(
        AVC,
        state="inject",
        before=(("open_calls", 10), ("open_insns", 500), ("lost", 0)),
        after=(("open_calls", 130), ("open_insns", 33500), ("lost", 0)),
    )
    found = evidence_of(tmp_path, states=(injected,)).states[0]
    assert {item.name: item.difference for item in found.counters} == {
        "open_calls": 120,
        "open_insns": 33000,
    }
    assert found.gauges == (Gauge("lost", 0, 0),)


def test_states_of_what_nobody_measured_are_left_out(tmp_path: Path) -> None:
    strange = replace(AVC, benchmark="open depth=99")
    assert evidence_of(tmp_path, states=(strange,)).states == ()


def test_a_boot_in_which_a_check_failed_is_what_is_shown(tmp_path: Path) -> None:
    allowed = GOOD | {"proof.secret": "allowed", "proof.secret.errno": "0"}
    secret, public = evidence_of(tmp_path, facts=(GOOD, allowed)).checks
    assert (secret.happened, secret.error, secret.held, secret.boots) == ("allowed", "", 1, 2)
    assert public.held == 2


def test_a_setup_that_showed_nothing_has_its_checks_and_no_numbers(tmp_path: Path) -> None:
    found = found_of(tmp_path, facts=({},), status=BootStatus.WRONG_SETUP)
    checks = found.evidence.checks
    assert [(item.happened, item.held, item.boots) for item in checks] == [("", 0, 0)] * 2
    assert not [
        item for item in found.cells if item.cell.place.setup == "enforced" if item.estimates
    ]
    assert "enforced" not in {item.place.setup for item in found.layers}
    assert found.evidence.states == ()


@pytest.mark.parametrize("text", ["", "-5", "1e9", "9" * 40, "\N{SUPERSCRIPT TWO}", "0x10"])
def test_what_is_no_number_of_instructions_is_left_out(tmp_path: Path, text: str) -> None:
    found = evidence_of(tmp_path, facts=(GOOD | {"step.3": text},))
    titles = {item.title for item in found.one_off if item.place.setup == "enforced"}
    assert titles == {"relabelling", BOOT_TITLE}


def test_texts_of_a_guest_are_cut(tmp_path: Path) -> None:
    endless = GOOD | {"proof.secret.message": "x" * 5000, "proof.secret.errno": "E" * 50}
    secret, _ = evidence_of(tmp_path, facts=(endless,)).checks
    assert (len(secret.message), len(secret.error)) == (MAX_MESSAGE, 20)


def test_a_run_of_setups_that_this_lsmeter_has_not_got_keeps_its_layers(tmp_path: Path) -> None:
    path = Run(tmp_path / "run", setups=(SETUPS[0], ENFORCED)).write()
    # As where `logging` is a setup that only the other lsmeter has.
    more = (
        {"setup": "logging", "over": "selinux", "adds": ["permissive"]},
        {"setup": "selinux", "over": "capability", "adds": ["hooks"]},
    )
    rewrite(path / MANIFEST_FILE, lambda document: document["run"]["links"].extend(more))
    (first, _) = found_in(path).layers
    assert [(layer.over, layer.adds) for layer in first.layers] == [
        ("capability", (Layer.HOOKS, Layer.PERMISSIVE, Layer.POLICY))
    ]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda run: run["links"][0].update(adds=["hoooks"]),
        lambda run: run["links"][0].update(over=7),
        lambda run: run["setups"][0].update(layer="top"),
        lambda run: run["setups"][3]["checks"][0].update(denied="yes"),
        lambda run: run["setups"].pop(0),
        lambda run: run.update(setups="none"),
        lambda run: run["kernels"].pop(0),
    ],
)
def test_a_spoilt_manifest_is_named_and_no_traceback(tmp_path: Path, spoil: Any) -> None:
    path = Run(tmp_path / "run").write()
    rewrite(path / MANIFEST_FILE, lambda document: spoil(document["run"]))
    with pytest.raises(InfrastructureError, match="damaged or not a result of lsmeter"):
        read_run(path)


def test_links_that_close_a_circle_end(tmp_path: Path) -> None:
    path = Run(tmp_path / "run").write()

    def closed(document: Any) -> None:
        for link in document["run"]["links"]:
            if link["setup"] == "capability":
                link["over"] = "enforced"

    rewrite(path / MANIFEST_FILE, closed)
    found = {item.place.setup: item for item in found_in(path).layers}
    assert found["enforced"].chain[-1] == "enforced"


def test_problems_say_that_a_check_failed(tmp_path: Path) -> None:
    found = found_of(tmp_path, status=BootStatus.WRONG_SETUP)
    problems = [problem for item in found.cells for problem in item.problems]
    assert [type(item) for item in problems] == [Problem, Problem]
    assert all("wrong-setup" in item.title for item in problems)
