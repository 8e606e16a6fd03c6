# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs cases against the sources that are in the path, for `mutate`: + saw a defect, - did not."""

from __future__ import annotations

import pickle
import re
import sys
from pathlib import Path

from tests.faults.case import Case, cases
from tests.faults.conftest import _write_kernel
from tests.faults.judge import Truth, defects, find_truth


def _sees(case: Case, truth: Truth, home: Path) -> bool:
    field = truth.plant(home)
    if case.measured:
        truth.plant_measured(field)
    try:
        ended = case.inject(field)
        return any(True for _ in defects(case, ended, field, truth))
    except (AssertionError, LookupError, ValueError):  # a case that holds something itself
        return True


def main(where: str, home: str, *patterns: str) -> None:
    """Write the truth where there is none; else run the cases that a pattern matches."""
    place = Path(where)
    if not patterns:
        place.mkdir(parents=True)
        truth = find_truth(place / "home", _write_kernel)
        (place / "truth.pickle").write_bytes(pickle.dumps(truth))
        return
    truth = pickle.loads((place / "truth.pickle").read_bytes())  # noqa: S301  (it is our own)
    found = [case for case in cases() if any(re.fullmatch(p, case.id) for p in patterns)]
    if not found:
        raise SystemExit(f"no case is called {patterns}")
    for number, case in enumerate(found):
        sees = _sees(case, truth, Path(home) / f"field-{number}")
        print("+-"[not sees], case.id, flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
