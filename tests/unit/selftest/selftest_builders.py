# SPDX-License-Identifier: GPL-2.0-or-later
"""What a perfect instrument says of a scenario, to be spoilt by tests."""

from __future__ import annotations

from dataclasses import replace

from lsmeter.catalogue.setups.inject import Way
from lsmeter.core.model import Place
from lsmeter.core.model.conclusion import Comparison, Difference, Number, Verdict
from lsmeter.questions.selftest.judge import Charge, Counted, Seen
from lsmeter.questions.selftest.scenarios import PLANS, Context, Part, Scenario
from tests.unit.model_builders import benchmark, change

BASE = 2000.0  # instructions of the baseline, in line
WHOLE = 5000.0
MODULE, BPF = PLANS[Way.MODULE], PLANS[Way.BPF]
BY_NAME = {item.name: item for item in MODULE.scenarios}
EVERY = (*MODULE.scenarios, *BPF.scenarios)


def scenario_id(scenario: Scenario) -> str:
    return f"{scenario.after.way} {scenario.name}"


def true_seen(scenario: Scenario) -> Seen:
    """Return what is true of a scenario in every number, verdict and name."""
    return Seen(
        comparison=true_comparison(scenario),
        before=Counted(float(scenario.injected_insns(scenario.before)), 0.0, 0),
        after=Counted(float(scenario.injected_insns(scenario.after)), 0.0, 0),
        charges=tuple(
            Charge(site.function, site.hook, site.context or Context.CALL, float(insns))
            for site, insns in scenario.site_insns.items()
        ),
    )


def true_comparison(scenario: Scenario) -> Comparison:
    """Return the comparison: the least of the possible typical differences, the whole exact."""
    before, after = scenario.peaks()
    typical = min(after) - min(before)
    in_line = float(scenario.expected_insns(Part.IN_LINE))
    whole = float(scenario.expected_insns(Part.WHOLE))
    operation, _, params = scenario.benchmark.partition(" ")
    key, _, value = params.partition("=")
    return Comparison(
        place=Place("built:selftest", scenario.after.setup, "file", "tmpfs", "root"),
        baseline=Place("built:selftest", scenario.before.setup, "file", "tmpfs", "root"),
        benchmark=replace(benchmark(operation), params=((key, int(value)),)),
        typical=change(BASE, BASE + typical),
        mean=change(BASE, BASE + in_line, half=100.0),
        whole=change(WHOLE, WHOLE + whole, half=2.0),
        in_step=None,
        moved=0.0,
        found=Difference.UNSEEN if scenario.is_control else Difference.SEEN,
        verdict=scenario.verdicts[0],
        cause="cost moved" if scenario.verdicts[0] is Verdict.INCONCLUSIVE else "",
        decided_by=Number.TYPICAL,
        decided=change(BASE, BASE + typical),
        cycles=2000,
        repeats=True,
    )
