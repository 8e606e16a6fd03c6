# SPDX-License-Identifier: GPL-2.0-or-later
"""The language of rules: what it has, what it refuses, and that it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lsmeter.questions.reproduce.quantities import Finding, MissingError, Quantity
from lsmeter.questions.reproduce.rules import Evaluation, RuleError, read_rule

_VALUES = {"a": 1.0, "b": 2.0, "c": 3.0}


def _ov(setup: str, base: str, benchmark: str, **at: str) -> Quantity:
    if benchmark not in _VALUES:
        raise MissingError(f"{benchmark}: not measured")
    value = _VALUES[benchmark] + (10 if at.get("kernel") else 0)
    return Quantity(value, value, value, "%")


def _cost(setup: str, benchmark: str, **at: str) -> Quantity:
    return Quantity(5.0, 5.0, 5.0, "insns")


_FACTS: dict[str, Callable[..., Any]] = {"ov": _ov, "cost": _cost}
_LISTS = {"few": ["a", "b"]}


def _find(text: str) -> Finding:
    return Evaluation(_FACTS, _LISTS).find(read_rule(text, _FACTS, [*_LISTS]))


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        ("ov('s', 'd', 'a') > 0", True),
        ("0 < ov('s', 'd', 'a') < ov('s', 'd', 'b')", True),
        ("ov('s', 'd', 'a') > 0 and ov('s', 'd', 'b') > 3", False),
        ("ov('s', 'd', 'a') > 3 or ov('s', 'd', 'b') > 1", True),
        ("not ov('s', 'd', 'a') > 3", True),
        ("all(ov('s', 'd', x) > 0 for x in few)", True),
        ("any(ov('s', 'd', x) > ov('s', 'd', y) for x in few for y in few)", True),
        ("mean(ov('s', 'd', x) for x in few) > 1.4", True),
        ("largest([ov('s', 'd', x) for x in few]) >= 2", True),
        ("within(-ov('s', 'd', 'a') + 3 * ov('s', 'd', 'b') / 2, 1.9, 2.1)", True),
        ("ov('s', 'd', 'a', kernel='6.12') > 10", True),
        ("near(ov('s', 'd', 'c'), 4)", True),
        ("near(ov('s', 'd', 'c'), 5)", False),
        ("ov('s', 'd', 'gone') > 0", None),
        ("all(ov('s', 'd', x) > 1.5 for x in ['gone', 'a'])", False),
        ("within(ov('s', 'd', 'gone'), 0, 1)", None),
        ("at_least(1, [ov('s', 'd', x) > 1.5 for x in few])", True),
        ("half_width(ov('s', 'd', 'a')) < 1", True),
    ],
)
def test_what_a_rule_says(rule: str, holds: object) -> None:
    assert _find(rule).holds is holds


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("ov('s', 'd')", "missing a required argument"),
        ("ov('s', 'd', 'a', disk='x') > 0", "disk"),
        ("within(ov('s', 'd', 'a'), 0, 1, kernel='6.1')", "kernel"),
        ("nothing('s') > 0", "unknown function 'nothing'"),
        ("many > 0", "unknown name 'many'"),
        ("ov('s', 'd', 'a') >", "no expression"),
        ("ov('s', 'd', 'a').value > 0", "not in the language"),
        ("(lambda: 1)() > 0", "not in the language"),
        ("__import__('os') > 0", "unknown function"),
        ("[x for x in few if x]", "only `for NAME in LIST`"),
        ("few[0]", "not in the language"),
        ("2 ** 9 > 1", "not in the language"),
        ("ov(*few) > 0", "not in the language"),
        ("True", "not in the language"),
        ("ov('s', 'd', 'a') == 1", "not in the language"),
        ("(" * 300 + ")" * 300, "no expression"),
        ("1 < 2" * 1000, "longer than"),
    ],
)
def test_what_is_no_rule(rule: str, said: str) -> None:
    with pytest.raises(RuleError, match=said.replace("(", r"\(")):
        read_rule(rule, _FACTS, [*_LISTS])


@pytest.mark.parametrize(
    "rule",
    [
        "ov('s', 'd', 'a') > cost('s', 'a')",
        "ov('s', 'd', 'a')",
        "ov('s', 'd', 'a') and 1",
        "few > 1",
        "'a' < 'b'",
        "ov('s', 'd', few) > 0",
        "within('a', 0, 1)",
        "1 / 0 > 1",
    ],
)
def test_what_cannot_be_worked_out_is_told(rule: str) -> None:
    with pytest.raises(RuleError):
        _find(rule)


def test_a_rule_ends() -> None:
    loops = " ".join(f"for x{n} in few" for n in range(30))
    with pytest.raises(RuleError, match="steps"):
        _find(f"all(1 < 2 {loops})")
