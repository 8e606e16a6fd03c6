# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs that an earlier version stored are read with the same numbers.

tests/data/stored/VERSION has packed runs that this version made with real guests of Linux 6.1, and
beside each what it said of it as JSON. A file that is here stays as it is, but for the whole costs
in JSON where the estimator was mended (CHANGELOG.md says when).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lsmeter.measure.results.directory import read_run
from lsmeter.questions.cost.document import document_of
from lsmeter.tables.model import Detail
from lsmeter.tables.render import render

STORED = Path(__file__).parents[1] / "data" / "stored"
RUNS = sorted(STORED.rglob("*.lsmeter"))
# What says which version reads.
SAID = {"notes"}


def kept(old: Any, new: Any, where: str = "") -> None:
    """Assert that a later document has all that an earlier one has; it may have more keys."""
    if isinstance(old, dict):
        for key in old.keys() - SAID:
            kept(old[key], new[key], f"{where}.{key}")
    elif isinstance(old, list):
        assert len(old) == len(new), where
        for number, pair in enumerate(zip(old, new, strict=True)):
            kept(*pair, f"{where}[{number}]")
    elif isinstance(old, float):
        assert new == pytest.approx(old, rel=1e-9), where
    else:
        assert new == old, where


def test_each_kind_of_run_is_kept_of_each_version() -> None:
    kinds = {"readings", "events", "count", "exec"}
    versions = {path.parent.name: set[str]() for path in RUNS}
    for path in RUNS:
        versions[path.parent.name].add(path.stem)
    assert versions == {"0.1.0": kinds}


@pytest.mark.parametrize("path", RUNS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_stored_run_has_its_numbers_still(path: Path) -> None:
    run = read_run(path)
    assert run.manifest.lsmeter_version == path.parent.name
    assert not run.damaged
    old = json.loads(path.with_suffix(".json").read_text("utf-8"))
    kept(old, json.loads(render(document_of(run)(Detail.DATA), "json")))
