# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges two runs, and finds where each increase sits."""

from __future__ import annotations

from collections.abc import Sequence

from lsmeter.measure.results.directory import RunData
from lsmeter.questions.attribution.load import run_cells
from lsmeter.questions.gate.document import Gated
from lsmeter.questions.gate.judge import Outcome, judge
from lsmeter.questions.gate.origin import accounts_of, moved
from lsmeter.questions.gate.rules import Rule


def judge_runs(before: RunData, after: RunData, rules: Sequence[Rule], inconclusive: str) -> Gated:
    """Judge one run by another, and find where each increase that breaks a rule sits."""
    judged = judge(before, after, rules)
    origins = {}
    if broken := judged.of(Outcome.BROKEN):
        accounts = accounts_of(run_cells(before)[0], run_cells(after)[0])
        found = ((item, moved(item, accounts)) for item in broken)
        origins = {item: where for item, where in found if where is not None}
    return Gated(judged, origins, inconclusive, str(before.path), str(after.path))
