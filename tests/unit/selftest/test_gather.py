# SPDX-License-Identifier: GPL-2.0-or-later
"""What of a run becomes what was seen of a scenario."""

from __future__ import annotations

from lsmeter.core.model import StateReading
from lsmeter.questions.attribution.cost import Amount, Cost, Site
from lsmeter.questions.attribution.explain import explain
from lsmeter.questions.attribution.profile import Context as Where
from lsmeter.questions.attribution.profile import Function
from lsmeter.questions.selftest.judge import Charge, charges, counted
from lsmeter.questions.selftest.scenarios import Context
from tests.unit.selftest.selftest_builders import BY_NAME

OPEN = Site(Where.CALL, "security_file_open", Function("inject_file_open"))
FREE = Site(Where.TASK_WORK, "security_file_free", Function("inject_file_free.isra.0"))
RCU = Site(Where.RCU, "", Function("inject_rcu_file_free"))
THREAD = Site(Where.WORKQUEUE, "", Function("inject_worker"))
TICK = Site(Where.INTERRUPT, "", Function("update_vsyscall"))


def cost(**insns: float) -> Cost:
    places = {"open": OPEN, "free": FREE, "rcu": RCU, "thread": THREAD, "tick": TICK}
    found = {places[name]: Amount(1.0, value) for name, value in insns.items()}
    return Cost(found, {})


def test_every_function_is_charged_in_its_context_the_largest_first() -> None:
    before = cost(open=10, free=20, rcu=30, thread=40, tick=50)
    after = cost(open=285, free=1020, rcu=5030, thread=39, tick=52)
    assert charges(explain(before, after)) == (
        Charge("inject_rcu_file_free", "", Context.RCU, 5000),
        Charge("inject_file_free", "file_free", Context.TASK_WORK, 1000),
        Charge("inject_file_open", "file_open", Context.CALL, 275),
        Charge("update_vsyscall", "", None, 2),
        Charge("inject_worker", "", Context.WORKER, -1),
    )


def state(benchmark: str, calls: int, insns: int, lost: int = 0) -> StateReading:
    before = (("setattr_calls", 7), ("setattr_insns", 0), ("lost", 0))
    after = (("setattr_calls", 7 + calls), ("setattr_insns", insns), ("lost", lost))
    return StateReading(benchmark, "inject", before, after)


def test_counters_of_all_boots_are_averaged() -> None:
    scenario = BY_NAME["row-chmod"]
    states = [state(scenario.benchmark, 640, 320_000), state(scenario.benchmark, 640, 352_000, 2)]
    found = counted(scenario, scenario.after, states)
    assert found.insns == 525
    assert found.slack == 50
    assert found.lost == 2


def test_a_point_that_one_boot_never_met_leaves_the_truth_unknown() -> None:
    scenario = BY_NAME["row-chmod"]
    states = [state(scenario.benchmark, 640, 320_000), state(scenario.benchmark, 0, 0)]
    assert counted(scenario, scenario.after, states).insns is None
    assert counted(scenario, scenario.after, []).insns is None


def test_a_point_that_was_not_named_costs_nothing() -> None:
    scenario = BY_NAME["share-10"]
    states = [StateReading(scenario.benchmark, "inject", (("lost", 0),), (("lost", 0),))]
    found = counted(scenario, scenario.before, states)
    assert (found.insns, found.slack, found.lost) == (0, 0, 0)
