# SPDX-License-Identifier: GPL-2.0-or-later
"""What the module is told, in the words that it takes, and what that amounts to."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

from lsmeter.kernels.build.shipped import shipped_lsm
from lsmeter.selftest.costs import (
    BLOCK,
    MAX_BYTES,
    MAX_COSTS,
    MAX_EVERY,
    MAX_INSNS,
    NOTHING,
    SITES,
    Cost,
    Injection,
    Place,
    total_insns,
)
from lsmeter.selftest.injections import INJECTIONS
from lsmeter.setup import parse_setup

MODULE = shipped_lsm("inject-lsm")


def defined(name: str) -> int:
    found = re.search(rf"#define {name} (\d+)", (MODULE / "inject.h").read_text())
    assert found, name
    return int(found[1])


def test_the_limits_are_those_of_the_module() -> None:
    assert defined("INJECT_MAX_COSTS") == MAX_COSTS
    assert defined("INJECT_MAX_INSNS") == MAX_INSNS
    assert defined("INJECT_MAX_EVERY") == MAX_EVERY
    assert defined("INJECT_MAX_BYTES") == MAX_BYTES
    assert defined("INJECT_BLOCK") == BLOCK


def test_places_have_the_order_and_the_words_of_the_module() -> None:
    words = re.findall(r'INJECT_PLACE\(\w+, "(\w+)"\)', (MODULE / "place.c").read_text())
    assert words == list(Place)
    assert set(SITES) == set(Place)


def test_every_function_that_attribution_has_to_name_is_there() -> None:
    code = "".join(path.read_text() for path in sorted(MODULE.glob("*.c")))
    for place, site in SITES.items():
        body = re.search(rf"^static \w+ {site.function}\([^)]*\)\n{{(.*?)^}}", code, re.M | re.S)
        assert body, site.function
        assert f"inject_cost_of(INJECT_{place.name});" in body[1]


@pytest.mark.parametrize(
    ("cost", "text", "mean"),
    [
        (Cost(Place.GETATTR, (500,)), "getattr:insns=500", Fraction(500)),
        (Cost(Place.OPEN, (500,), share=55), "open:insns=500,share=55", Fraction(275)),
        (Cost(Place.RENAME, (5000,), random=45), "rename:insns=5000,random=45", Fraction(2250)),
        (Cost(Place.SETATTR, (32000,), every=64), "setattr:insns=32000,every=64", Fraction(500)),
        (Cost(Place.FILE_FREE, (0, 1000, 20)), "file_free:insns=0+1000+20", Fraction(340)),
        (Cost(Place.RCU, (0,)), "rcu:insns=0", Fraction(0)),
    ],
)
def test_a_cost_has_its_text_and_its_mean(cost: Cost, text: str, mean: Fraction) -> None:
    assert cost.text == text
    assert cost.mean_insns == mean


def test_peaks_say_which_costs_calls_have() -> None:
    assert Cost(Place.GETATTR, (500,)).peaks == {500: 1}
    share = Cost(Place.GETATTR, (500,), share=40)
    assert share.peaks == {0: Fraction(3, 5), 500: Fraction(2, 5)}
    assert Cost(Place.GETATTR, (0, 1000)).peaks == {0: Fraction(1, 2), 1000: Fraction(1, 2)}
    assert Cost(Place.GETATTR, (7, 7, 9), every=3).peaks == {
        0: Fraction(2, 3),
        7: Fraction(2, 9),
        9: Fraction(1, 9),
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"insns": ()},
        {"insns": (1,) * (MAX_COSTS + 1)},
        {"insns": (-1,)},
        {"insns": (MAX_INSNS + 1,)},
        {"insns": (1,), "share": 100},
        {"insns": (1,), "random": 44},
        {"insns": (1,), "every": 1},
        {"insns": (1,), "every": MAX_EVERY + 1},
        {"insns": (1,), "share": 50, "every": 2},
    ],
)
def test_what_the_module_would_refuse_is_refused(wrong: dict[str, tuple[int, ...]]) -> None:
    with pytest.raises(ValueError, match="getattr"):
        Cost(Place.GETATTR, **wrong)  # type: ignore[arg-type]


def test_an_injection_is_written_in_the_order_of_the_module() -> None:
    costs = (Cost(Place.RCU, (5,)), Cost(Place.GETATTR, (7,), every=8))
    injection = Injection("two", "two costs", costs, blob_bytes=400)
    assert injection.text == "getattr:insns=7,every=8;rcu:insns=5;blob:bytes=400"
    assert injection.unburnt.text == "getattr:insns=0,every=8;rcu:insns=0;blob:bytes=0"
    assert Injection("none", "nothing").text == NOTHING


def test_a_place_cannot_have_two_costs() -> None:
    with pytest.raises(ValueError, match="two costs in one place"):
        Injection("twice", "", (Cost(Place.RCU, (5,)), Cost(Place.RCU, (6,))))


@pytest.mark.parametrize("name", INJECTIONS)
def test_a_setup_tells_the_module_and_expects_to_be_told_the_same(name: str) -> None:
    for burn, injection in (("yes", INJECTIONS[name]), ("no", INJECTIONS[name].unburnt)):
        setup = parse_setup(f"inject:cost={name},burn={burn}")
        (expected,) = setup.expect
        assert (expected.fact, expected.value) == ("inject.costs", injection.text)
        told = () if injection.text == NOTHING else (f"inject={injection.text}",)
        assert setup.cmdline == told
        assert dict(setup.reads)["inject.costs"].endswith("/inject/costs")
        assert [state.name for state in setup.states] == ["inject"]


def test_the_text_of_every_injection_fits_the_module() -> None:
    code = Path(MODULE / "cost.c").read_text()
    found = re.search(r"#define INJECT_TEXT_MAX (\d+)", code)
    assert found
    assert all(len(item.text) < int(found[1]) for item in INJECTIONS.values())


def test_what_was_injected_is_the_sum_over_all_places() -> None:
    numbers = (("getattr_calls", 9), ("getattr_insns", 500), ("rcu_insns", 20), ("lost", 3))
    assert total_insns(numbers) == 520
