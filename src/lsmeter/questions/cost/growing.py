# SPDX-License-Identifier: GPL-2.0-or-later
"""A run that grows until its verdicts stand: what is still open; pure."""

from __future__ import annotations

from lsmeter.core.model.conclusion import Verdict
from lsmeter.core.model.setup import is_again
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.cells.cells import cell_results, within_run


def still_open(run: RunData) -> tuple[int, int]:
    """Return how many comparisons have no verdict yet, and of how many.

    Controls and the baseline against itself are no questions: nobody waits for them.
    """
    base = run.manifest.baseline_setup
    asked = [
        item
        for item in within_run(run.manifest, cell_results(run))
        if not item.benchmark.control and not is_again(item.place.setup, base)
    ]
    return sum(item.verdict is Verdict.INCONCLUSIVE for item in asked), len(asked)
