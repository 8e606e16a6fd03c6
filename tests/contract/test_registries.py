# SPDX-License-Identifier: GPL-2.0-or-later
"""Everything registered is valid, documented and unique."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields

import pytest

from lsmeter.catalogue.setups import Choice, SetupDefinition, Word, definitions, parse_setup
from lsmeter.catalogue.workloads import load_workload, workload_names
from lsmeter.core.model import Benchmark, Conditions
from lsmeter.guest.probe import catalogue, find_probe
from lsmeter.guest.request import GUEST_KEYS
from lsmeter.machines import (
    Addressed,
    BootsByHand,
    ComesBack,
    HasHosts,
    Machine,
    Prepares,
    Spreads,
    TakesTurns,
    Tunable,
    machines,
)
from lsmeter.measure.instruments import DEFAULT, instruments
from lsmeter.measure.tasks import kinds
from lsmeter.sources.images.definition import definition_names, load_definition
from lsmeter.sources.kernels.resolve import sources
from lsmeter.tables.render import formats

ABILITIES = (Addressed, BootsByHand, ComesBack, HasHosts, Prepares, Spreads, TakesTurns, Tunable)
NAME = re.compile(r"[a-z][a-z0-9-]*")
COUNTED = b"/usr/lib/lsmeter/counted"


@pytest.mark.parametrize("definition", definitions().values(), ids=lambda item: item.setup.name)
class TestSetups:
    def test_is_found_by_its_name(self, definition: SetupDefinition) -> None:
        assert NAME.fullmatch(definition.setup.name.removeprefix("stack:"))
        assert parse_setup(definition.setup.name) == definition.setup

    def test_says_what_it_is(self, definition: SetupDefinition) -> None:
        assert definition.setup.title
        assert definition.setup.note, "a reader has to know what the numbers do not show"
        nothing = definition.setup.lsms == () or definition.setup.name in {"running", "spin"}
        assert definition.setup.needs_config or nothing

    def test_verifies_more_than_the_list_of_modules(self, definition: SetupDefinition) -> None:
        # These have no state of their own; what is active is all there is to check.
        if definition.setup.name not in {"capability", "bpf", "dac", "distribution", "example"}:
            assert definition.setup.expect or definition.setup.checks

    def test_has_parameters_with_working_limits(self, definition: SetupDefinition) -> None:
        for parameter in definition.parameters:
            values: tuple[int | str, ...]
            if isinstance(parameter, Choice):
                values = parameter.choices
                assert parameter.default in values
            elif isinstance(parameter, Word):
                values = ("any-name", parameter.default)
            else:
                values = parameter.limits
                assert values[0] <= parameter.default <= values[1]
            for value in values:
                setup = parse_setup(f"{definition.setup.name}:{parameter.name}={value}")
                assert (
                    setup.name == definition.setup.name or f"{parameter.name}={value}" in setup.name
                )

    def test_asks_the_probe_only_for_what_it_can(self, definition: SetupDefinition) -> None:
        assert {key for key, _ in definition.setup.guest} <= set(GUEST_KEYS)


@pytest.mark.parametrize("name", workload_names())
def test_a_workload_says_what_must_hold(name: str) -> None:
    offer = load_workload(name)
    assert NAME.fullmatch(name)
    assert offer.title
    assert offer.workload.image in definition_names()
    # Where there is a server, a policy has to be seen at work: in a domain, and in a refusal.
    for service in offer.workload.services:
        assert service.selinux.endswith("_t")
        assert service.apparmor
    if offer.workload.services:
        assert any(check.allowed != check.denied for check in offer.workload.denials)
    parts = {part.path: part.data for part in load_definition(offer.workload.image).parts}
    for batch in offer.workload.batches:
        # What has no server counts its client, or what its client runs by `counted`.
        counted = batch.account == "service" or COUNTED in parts[batch.client[0]]
        assert counted is not bool(offer.workload.services)


@pytest.mark.parametrize("name", workload_names())
def test_what_a_workload_names_is_in_its_image(name: str) -> None:
    workload = load_workload(name).workload
    parts = {part.path: part for part in load_definition(workload.image).parts}
    commands = [
        *(words for item in workload.services for words in (item.start, item.ready)),
        *(item.ask for item in workload.denials),
        *(batch.client for batch in workload.batches),
    ]
    said = " ".join(word for words in commands for word in words)
    scripts = set(re.findall(r"/usr/lib/lsmeter/[a-z/]+", said))
    assert all(parts[script].executable for script in scripts)
    needs = parts[f"/etc/lsmeter/workloads/{name}"].data.decode()
    profiles = set(re.findall(r"^profile (.*)$", needs, re.MULTILINE))
    assert {item.apparmor.removeprefix("lsmeter-") for item in workload.services} <= profiles
    for profile in profiles:
        text = parts[f"/etc/lsmeter/apparmor/servers/{profile}"].data
        assert b"\nprofile lsmeter-%s " % profile.encode() in text


def test_instruments_and_tasks_are_named_and_described() -> None:
    for name, item in instruments().items():
        assert NAME.fullmatch(name) and item.title and item.covers and item.unit
        assert set(item.machines) <= set(machines())
        # What is measured on a machine as it runs has facts of that machine in their place.
        if item.reusable:
            assert set(item.comparable) <= {field.name for field in fields(Conditions)}
    assert DEFAULT in instruments()
    assert kinds().keys() >= {"readings", "attribute", "sweep", "count"}
    assert all(NAME.fullmatch(kind.name) and kind.title for kind in kinds().values())


def test_machines_are_named_and_described() -> None:
    assert {"emulation", "replay"} <= set(machines())
    assert all(NAME.fullmatch(name) and item.title for name, item in machines().items())


def test_a_machine_has_three_methods_and_abilities_apart() -> None:
    own = {name for name, item in vars(Machine).items() if callable(item) and name[0] != "_"}
    assert own == Machine.__abstractmethods__ == {"identity", "command", "run"}
    # An ability is said, never had by chance: else isinstance would not find it.
    for machine in machines().values():
        for ability in ABILITIES:
            has_all = all(hasattr(type(machine), name) for name in ability.__abstractmethods__)
            assert has_all == isinstance(machine, ability), (machine.name, ability.__name__)


@pytest.mark.parametrize("ability", ABILITIES)
def test_some_machine_has_each_ability_and_another_has_not(ability: type[object]) -> None:
    assert {isinstance(machine, ability) for machine in machines().values()} == {True, False}


def test_formats_are_unique_named_and_described() -> None:
    names = [item.name for item in formats()]
    assert set(names) >= {"table", "markdown", "text", "csv", "json", "html", "parquet", "svg"}
    assert len(set(names)) == len(names)
    assert all(item.title and item.suffix.startswith(".") for item in formats())


def test_kernel_sources_are_unique_and_have_examples_they_accept() -> None:
    found = sources()
    assert len({item.name for item in found}) == len(found)
    for item in found:
        assert item.title
        assert item.examples
        assert all(item.matches(example) for example in item.examples)


@pytest.fixture(scope="module")
def benchmarks() -> tuple[Benchmark, ...]:
    return catalogue(find_probe())


def of(benchmarks: Iterable[Benchmark], operation: str) -> list[Benchmark]:
    return [item for item in benchmarks if item.operation == operation]


def test_the_file_suite_has_the_operations_of_the_study(
    benchmarks: tuple[Benchmark, ...],
) -> None:
    """Names the fourteen operations of ASIA CCS'21, Table 3."""
    study = (
        *("open", "openat", "rename", "creat", "mkdir", "rmdir", "unlink", "symlink"),
        *("chmod", "stat", "fstatat", "read", "write", "copy"),
    )
    assert set(study) <= {item.operation for item in benchmarks}
    assert len([item for item in benchmarks if not item.control]) >= 59


def test_the_variants_that_the_study_names_are_there(benchmarks: tuple[Benchmark, ...]) -> None:
    named = [item for item in benchmarks if item.origin == "asiaccs21"]
    assert len(named) >= 51
    for operation, depths in (("open", 8), ("stat", 8), ("rename", 5), ("chmod", 5)):
        found = {dict(item.params).get("depth") for item in of(benchmarks, operation)}
        assert set(range(1, depths + 1)) <= found


def test_there_are_controls(benchmarks: tuple[Benchmark, ...]) -> None:
    assert {item.operation for item in benchmarks if item.control} >= {"empty", "getppid"}


def test_ids_are_unique(benchmarks: tuple[Benchmark, ...]) -> None:
    ids = [(item.suite, item.id) for item in benchmarks]
    assert len(set(ids)) == len(ids)
