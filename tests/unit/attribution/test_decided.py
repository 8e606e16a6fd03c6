# SPDX-License-Identifier: GPL-2.0-or-later
"""Accounts explain the difference that the report has, and no other one."""

from __future__ import annotations

from pathlib import Path

from lsmeter.measure.experiment.plan import PlannedBoot
from lsmeter.questions.attribution.account import run_accounts
from lsmeter.questions.attribution.load import load_run
from lsmeter.questions.attribution.operations import table
from lsmeter.questions.attribution.tables import layer_sentence, sentence
from lsmeter.questions.cost.build import make_report
from tests.unit.attribution.drawn import OPEN, Drawn, call, draw_run, reading

BASE = (3000, 3000, 3000, 3010, 3010)
# Most pairs differ by 101, in the last boot by 100; the most frequent readings differ by 111.
APART = ((101, 100, 102, 101, 101),) * 3 + ((100, 101, 102, 100, 100),)


def _boot(planned: PlannedBoot) -> Drawn:
    plain = planned.cell.setup.name == "capability"
    extra = (0,) * 5 if plain else APART[planned.id.index]
    trees = [call(own, 10 + more) for own, more in zip(BASE, extra, strict=True)]
    kept = {of.insns: of for of in trees}
    return {OPEN.id: ([reading(of) for of in trees], [*kept.values()])}


def test_an_account_decides_on_its_difference_with_the_margin_of_the_run(tmp_path: Path) -> None:
    run, cells, _ = load_run(draw_run(tmp_path / "run", _boot, boots=4))
    (account,) = run_accounts(cells, run.manifest.baseline_setup)
    (comparison,) = make_report(run).comparisons
    found = account.typical.benchmarks[OPEN.id]
    assert comparison.typical is not None
    assert found.reported_insns == comparison.typical.difference == 101
    assert (found.hook_inline_insns, found.outside) == (101, ())


def _states(planned: PlannedBoot) -> Drawn:
    """Draw calls in two states, of which each side has the other one more often."""
    plain = planned.cell.setup.name == "capability"
    quick, slow = (call(own, 10 if plain else 162) for own in (1000, 1330))
    often, rare = (quick, slow) if plain else (slow, quick)
    first = 0 if plain else 24  # so that no difference is that of most pairs
    sides = (rare,) * first + (often,) * 60 + (rare,) * (40 - first)
    return {OPEN.id: ([reading(of) for of in sides], [often, rare])}


def test_what_the_trees_do_not_have_is_no_interrupt(tmp_path: Path) -> None:
    run, cells, _ = load_run(draw_run(tmp_path / "run", _states, boots=2))
    (account,) = run_accounts(cells, run.manifest.baseline_setup)
    found = account.typical.benchmarks[OPEN.id]
    assert (found.clock_insns, found.difference_insns) == (152 + 330, 152)
    assert found.doubt == "the trees that were compared differ by +152, not +482"
    assert found.share(found.hooks[0]) == 152 / 482
    said = sentence(account)
    assert "+482 instructions" in said
    assert "hooks +152, non-hook +0, not in the trees +330." in said
    assert said.endswith("; the trees of 1 do not have the difference that was measured.")
    assert layer_sentence(account).startswith("+482 instructions")
    assert [column.head for column in table(account).columns] == [
        *("operation", "difference", "file_open", "not in trees"),
    ]
