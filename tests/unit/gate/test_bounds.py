# SPDX-License-Identifier: GPL-2.0-or-later
"""By how much each number got worse: signs, units, and numbers that do not stand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core.errors import UsageError
from lsmeter.core.model import Better, Metric
from lsmeter.core.model.conclusion import Comparison, Difference, Number
from lsmeter.questions.gate.judge import hold, numbers_of
from lsmeter.questions.gate.rules import PERCENT, Limit, Rule, parse_limit, parse_rule
from tests.unit.model_builders import benchmark, change
from tests.unit.report.builders import comparison

OPEN = replace(benchmark("open", depth=1), cycle="open+close")


def found(item: Comparison, unit: str) -> dict[Number, tuple[float, float, float]]:
    each = numbers_of(item, Rule("*", Limit(0, unit))).each()
    return {number: (x.overhead, x.overhead_low, x.overhead_high) for number, x in each}


def compared(before: float, after: float, whole: float, half: float = 0.0) -> Comparison:
    item = comparison(OPEN, "selinux", after, before)
    mean = change(before, after)
    return replace(item, mean=mean, whole=change(before, before + whole, half))


def test_every_number_has_its_own_bounds() -> None:
    item = compared(4000, 4100, 400, 10)
    assert found(item, "insns") == {
        Number.TYPICAL: (100, 100, 100),
        Number.MEAN: (100, 100, 100),
        Number.WHOLE: (400, 390, 410),
    }
    shares = found(item, PERCENT)
    assert shares[Number.TYPICAL] == (0.025,) * 3
    assert shares[Number.WHOLE] == pytest.approx((0.1, 0.0975, 0.1025))


def test_a_small_cycle_and_a_number_that_does_not_stand() -> None:
    small = compared(100, 100, 10)
    assert found(small, PERCENT)[Number.WHOLE] == pytest.approx((0.01,) * 3)
    assert found(small, "insns")[Number.WHOLE] == (10, 10, 10)
    loose = replace(small, typical=replace(small.typical, difference=math.nan))
    assert set(found(loose, PERCENT)) == {Number.MEAN, Number.WHOLE}
    alone = replace(small, benchmark=benchmark("arithmetic"), mean=None)
    assert set(found(alone, PERCENT)) == {Number.TYPICAL}


def test_what_cost_nothing_and_costs_something_is_beyond_any_share() -> None:
    item = replace(compared(0, 5, 0), mean=None)
    assert found(item, PERCENT)[Number.TYPICAL] == (math.inf,) * 3


def test_less_throughput_is_worse_in_amounts_too() -> None:
    kind = replace(OPEN, metric=Metric("throughput", "lps", Better.HIGHER))
    item = replace(compared(100, 80, 0), benchmark=kind, mean=change(100, 80, 5))
    assert found(item, "lps")[Number.MEAN] == (20, 15, 25)


@pytest.mark.parametrize(
    ("item", "rule", "why"),
    [
        (
            compared(4000, 4000, 100, 100),
            "2%",
            "whole cost not known well enough: +0.00% to +5.00%",
        ),
        (
            compared(4000, 4000, 100, 100),
            "50insns",
            "whole cost not known well enough: +0.00 insns to +200.00 insns",
        ),
        (
            compared(4000, 4100, -400, 10),
            "50insns",
            "the numbers disagree: typical +100.0 insns, mean +100.0 insns, whole -400.0 insns",
        ),
        (
            replace(compared(4000, 4000, 0), moved=0.1),
            "50insns",
            "peaks moved, worth 400.0 insns",
        ),
        (replace(compared(4000, 4000, 0), moved=0.1), "2%", "peaks moved, worth 10.0% of a call"),
    ],
)
def test_why_is_said_in_the_unit_of_the_limit(item: Comparison, rule: str, why: str) -> None:
    open_still = replace(item, found=Difference.SEEN)
    said = hold(parse_rule(f"*<={rule}"), open_still, 0.01)
    assert said is not None
    assert said.detail.startswith(why)
    assert ("%" in said.detail) == rule.endswith("%")
    assert ("of the call" in said.detail or "of a call" in said.detail) == rule.endswith("%")


@given(
    pattern=st.from_regex(r"[a-z*?][a-z0-9 =*?\[\]-]{0,20}[a-z0-9*]", fullmatch=True),
    setup=st.from_regex(r"[a-z*][a-z0-9:=,+*-]{0,20}", fullmatch=True),
    value=st.decimals(0, 10**6, places=3),
    unit=st.sampled_from(["%", "insns", "ns", "MB/s"]),
)
def test_a_rule_is_read_as_it_is_written(
    pattern: str, setup: str, value: object, unit: str
) -> None:
    rule = parse_rule(f"{pattern}@{setup}<={value}{unit}")
    amount = float(str(value)) / (100 if unit == "%" else 1)
    assert rule == Rule(pattern, Limit(amount, unit), setup)
    again = parse_rule(rule.text)
    assert (again.benchmark, again.setup) == (pattern, setup)
    assert again.limit.value == pytest.approx(amount)


@pytest.mark.parametrize(
    "text", ["", "2", "%", "-2%", "nan%", "1e3%", "2 %%", "2% of it", "\u0661%"]
)
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no limit"):
        parse_limit(text, where="--max")
