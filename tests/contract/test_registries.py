# SPDX-License-Identifier: GPL-2.0-or-later
"""Everything registered is valid, documented and unique."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from lsmeter.backend import backends
from lsmeter.guest.probe import catalogue, find_probe
from lsmeter.guest.request import GUEST_KEYS
from lsmeter.kernels.resolve import sources
from lsmeter.model import Benchmark
from lsmeter.report.render import formats
from lsmeter.setup import Choice, SetupDefinition, definitions, parse_setup

NAME = re.compile(r"[a-z][a-z0-9-]*")
SETUPS = Path(__file__).parents[2] / "src/lsmeter/setups"


@pytest.mark.parametrize("definition", definitions().values(), ids=lambda item: item.name)
class TestSetups:
    def test_is_named_as_its_file(self, definition: SetupDefinition) -> None:
        assert (SETUPS / f"{definition.name.replace('-', '_')}.py").is_file()

    def test_is_found_by_its_name(self, definition: SetupDefinition) -> None:
        assert parse_setup(definition.name) == definition.setup

    def test_says_what_it_is(self, definition: SetupDefinition) -> None:
        assert definition.setup.title
        assert definition.setup.note, "a reader has to know what the numbers do not show"
        assert definition.setup.needs_config or definition.setup.lsms == ()

    def test_verifies_more_than_the_list_of_modules(self, definition: SetupDefinition) -> None:
        # These have no state of their own; what is active is all there is to check.
        if definition.name not in {"capability", "bpf", "dac", "distribution", "example"}:
            assert definition.setup.expect or definition.setup.proofs

    def test_has_parameters_with_working_limits(self, definition: SetupDefinition) -> None:
        for parameter in definition.parameters:
            values: tuple[int | str, ...]
            if isinstance(parameter, Choice):
                values = parameter.choices
                assert parameter.default in values
            else:
                values = (parameter.minimum, parameter.maximum)
                assert parameter.minimum <= parameter.default <= parameter.maximum
            for value in values:
                setup = parse_setup(f"{definition.name}:{parameter.name}={value}")
                assert setup.name == definition.name or f"{parameter.name}={value}" in setup.name

    def test_asks_the_probe_only_for_what_it_can(self, definition: SetupDefinition) -> None:
        assert {key for key, _ in definition.setup.guest} <= set(GUEST_KEYS)


def test_backends_are_named_and_described() -> None:
    assert {"exact", "replay"} <= set(backends())
    assert all(NAME.fullmatch(name) and item.title for name, item in backends().items())


def test_formats_are_unique_named_and_described() -> None:
    names = [item.name for item in formats()]
    assert set(names) >= {"table", "markdown", "commit", "csv", "json", "html"}
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
