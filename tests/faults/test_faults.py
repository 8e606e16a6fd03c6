# SPDX-License-Identifier: GPL-2.0-or-later
"""The campaign: every fault ends as its case says, and costs no number that it need not cost."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import pytest

from tests.faults.case import Case, cases
from tests.faults.judge import Truth, defects


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Take half of the short cases, by chance that stays, or all of them (make faults)."""
    every = metafunc.config.getoption("--all-faults", default=False)
    taken = [case for case in cases() if every or not (case.long or crc32(case.id.encode()) % 2)]
    metafunc.parametrize("case", taken, ids=lambda case: case.id)


def test_fault(case: Case, truth: Truth, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    field = truth.plant(tmp_path / "field")
    if case.measured:
        truth.plant_measured(field)
    ended = case.inject(field)
    found = list(defects(case, ended, field, truth))
    request.node.user_properties.append(
        ("fault", [case.kind, *sorted({defect.value for defect, _ in found})])
    )
    assert not found, "\n".join(f"{defect}: {why}" for defect, why in found)
