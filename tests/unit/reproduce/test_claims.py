# SPDX-License-Identifier: GPL-2.0-or-later
"""Every rule of every study: rows that make it hold, and rows that make it fail.

cases/STUDY.toml has for each claim the tables `ID.holds` and `ID.fails`. A key is a pattern over a
call, its name and arguments with spaces between ("ov selinux dac file/open*", "cost * user=user");
the first that fits gives the value: a number, [value, low, high], or for `rows` a list of texts,
which without one has all benchmarks that the probe or the workload offers.
"""

from __future__ import annotations

import fnmatch
import tomllib
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

import pytest

from lsmeter.catalogue.studies.study import Study, find_study, study_names
from lsmeter.catalogue.workloads import is_workload, load_workload
from lsmeter.guest.probe import catalogue, find_probe
from lsmeter.questions.reproduce.checks import UNITS, check_rules
from lsmeter.questions.reproduce.facts import Facts
from lsmeter.questions.reproduce.parts import Where
from lsmeter.questions.reproduce.quantities import Finding, MissingError, Quantity
from lsmeter.questions.reproduce.rules import Evaluation, Rule
from tests.unit.reproduce.planned import plan_part

CASES = Path(__file__).parent / "cases"

_find = cache(find_study)


@cache
def _read(study: str) -> Mapping[str, Rule]:
    return check_rules(_find(study))


def _rules() -> list[tuple[str, str]]:
    return [
        (name, claim.id) for name in study_names() for claim in _find(name).claims if claim.rule
    ]


@cache
def _cases(study: str) -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    path = CASES / f"{study}.toml"
    return tomllib.loads(path.read_text()) if path.exists() else {}


def _call(name: str, rows: Mapping[str, Any], *args: object, **at: object) -> object:
    words = " ".join(map(str, (name, *args, *(f"{key}={value}" for key, value in at.items()))))
    for pattern, value in rows.items():
        if fnmatch.fnmatchcase(words, pattern):
            if name in {"rows", "printed", "failed"}:
                return value if isinstance(value, list) else float(value)
            bounds = value if isinstance(value, list) else [value] * 3
            middle, low, high = map(float, bounds)
            return Quantity(middle, low, high, UNITS.get(name, ""), name=words)
    if name == "rows":
        return [item for item in _offered(str(args[0])) if fnmatch.fnmatchcase(item, str(args[0]))]
    raise MissingError(f"no row for {words}")


@cache
def _offered(pattern: str) -> list[str]:
    suite = pattern.partition("/")[0]
    offered = load_workload(suite).benchmarks if is_workload(suite) else catalogue(find_probe())
    return [f"{suite}/{item.id}" for item in offered if item.suite == suite and not item.control]


def _found(study: Study, claim: str, rows: Mapping[str, Any]) -> Finding:
    names = Facts({}, Where("", "", "")).functions
    functions: dict[str, Callable[..., Any]] = {name: partial(_call, name, rows) for name in names}
    return Evaluation(functions, study.lists).find(_read(study.name)[claim])


@pytest.mark.parametrize(("study", "claim"), _rules())
def test_rows_that_bear_a_claim_out_and_rows_that_do_not(study: str, claim: str) -> None:
    case = _cases(study).get(claim, {})
    assert {*case} == {"holds", "fails"}, f"cases/{study}.toml: {claim}"
    holds, fails = (_found(_find(study), claim, case[key]) for key in ("holds", "fails"))
    assert holds.holds is True, holds
    assert fails.holds is False, fails


def test_cases_are_of_claims_with_a_rule() -> None:
    known = _rules()
    for path in CASES.glob("*.toml"):
        for claim in _cases(path.stem):
            assert (path.stem, claim) in known


@cache
def _measured_by(study: str) -> Mapping[str, frozenset[tuple[str, str]]]:
    """Return the setups and benchmarks that each part of a study measures."""
    found = {}
    for part, keys in _find(study).parts.items():
        pairs: set[tuple[str, str]] = set()
        for setups, benchmarks in plan_part(part, keys):
            ids = [f"{benchmark.suite}/{benchmark.id}" for benchmark in benchmarks]
            pairs |= {(setup.name, each) for setup in setups for each in ids}
        found[part] = frozenset(pairs)
    return found


@pytest.mark.parametrize(("study", "claim"), _rules())
def test_a_rule_reads_what_its_parts_measure(study: str, claim: str) -> None:
    names = (
        *("ov", "added", "cost", "gain", "work", "work_cost", "scatter"),
        *("hook_calls", "lookups", "in_hooks", "failed"),
    )
    case = _cases(study)[claim]["holds"]
    read: list[tuple[str, str, object]] = []
    listed: set[str] = set()

    def call(name: str, *args: object, **at: object) -> object:
        if name == "rows":  # of what was measured, whatever that is
            found = _call(name, case, *args, **at)
            listed.update(cast("list[str]", found))
            return found
        if name in names:
            place = next(i for i, word in enumerate(args) if "/" in str(word))
            read.extend((str(setup), str(args[place]), at.get("part")) for setup in args[:place])
        return _call(name, case, *args, **at)

    functions = {name: partial(call, name) for name in Facts({}, Where("", "", "")).functions}
    Evaluation(functions, _find(study).lists).find(_read(study)[claim])
    parts = _measured_by(study)
    for setup, benchmark, part in read:
        of = [parts[str(part)]] if part else parts.values()
        known = benchmark in listed or any((setup, benchmark) in pairs for pairs in of)
        assert known, (setup, benchmark, part)
