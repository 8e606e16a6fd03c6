# SPDX-License-Identifier: GPL-2.0-or-later
"""What the module is told, in the words that it takes, and what that amounts to."""

from __future__ import annotations

import re
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest

import lsmeter
from lsmeter.catalogue.setups import Choice, definitions, parse_setup
from lsmeter.catalogue.setups.inject import INJECTIONS, NOTHING, POINTS, Injection, Point, Way
from lsmeter.questions.selftest.scenarios import SITES
from lsmeter.sources.kernels.build.fragment import shipped_lsm

MODULE = shipped_lsm("inject-lsm")


def defined(name: str, file: str = "inject.h") -> int:
    found = re.search(rf"#define {name} (\d+)", (MODULE / file).read_text())
    assert found, name
    return int(found[1])


def made(text: str) -> Injection:
    return Injection("test", "a test", text)


@pytest.mark.parametrize("way", Way)
def test_each_injection_can_be_named(way: Way) -> None:
    (cost,) = (item for item in definitions()[way].parameters if item.name == "cost")
    assert isinstance(cost, Choice)
    assert cost.choices == tuple(INJECTIONS)


def test_points_have_the_order_and_the_words_of_the_module() -> None:
    words = re.findall(r'INJECT_PLACE\(\w+, "(\w+)"\)', (MODULE / "place.c").read_text())
    assert [*words, "blob"] == [point for point in Point if point in POINTS[Way.MODULE]]
    assert set(SITES) == set(Point)


def test_every_function_that_attribution_has_to_name_is_there() -> None:
    code = "".join(path.read_text() for path in sorted(MODULE.glob("*.c")))
    for point, site in SITES.items():
        if point in {Point.BLOB, Point.INODE_RCU}:
            continue  # functions of the kernel's own
        body = re.search(rf"^static \w+ {site.function}\([^)]*\)\n{{(.*?)^}}", code, re.M | re.S)
        assert body, site.function
        assert f"inject_cost_of(INJECT_{point.name});" in body[1]


@pytest.mark.parametrize(
    ("text", "mean"),
    [
        ("getattr:insns=500", Fraction(500)),
        ("open:insns=500,share=55", Fraction(275)),
        ("rename:insns=5000,random=45", Fraction(2250)),
        ("setattr:insns=32000,every=64", Fraction(500)),
        ("file_free:insns=0+1000+20", Fraction(340)),
        ("rcu:insns=0", Fraction(0)),
        ("blob:bytes=1000", Fraction(125)),  # 8 bytes per instruction
    ],
)
def test_a_cost_has_its_mean(text: str, mean: Fraction) -> None:
    assert made(text).mean_insns(Point(text.partition(":")[0])) == mean
    assert made(text).mean_insns(Point.OUTSIDE) == 0


def test_what_is_cleared_is_counted_as_its_architecture_does_it() -> None:
    larger = made("blob:bytes=1000")
    assert larger.on("x86_64").peaks(Point.BLOB) == {125: 1}
    assert larger.on("arm64").peaks(Point.BLOB) == {62: 1}


def test_peaks_say_which_costs_calls_have() -> None:
    costs = "getattr:insns=500;open:insns=500,share=40;rename:insns=0+1000;task:insns=7+7+9,every=3"
    injection = made(costs)
    assert injection.peaks(Point.GETATTR) == {500: 1}
    assert injection.peaks(Point.OPEN) == {0: Fraction(3, 5), 500: Fraction(2, 5)}
    assert injection.peaks(Point.RENAME) == {0: Fraction(1, 2), 1000: Fraction(1, 2)}
    assert injection.peaks(Point.TASK) == {0: Fraction(2, 3), 7: Fraction(2, 9), 9: Fraction(1, 9)}
    assert injection.peaks(Point.RCU) == {0: 1}


def test_unburnt_keeps_all_but_the_instructions() -> None:
    injection = made("getattr:insns=7+20,every=8;rcu:insns=5;blob:bytes=400")
    assert injection.unburnt.text == "getattr:insns=0+0,every=8;rcu:insns=0;blob:bytes=0"
    assert (injection.setup, injection.unburnt.setup) == (
        "inject:cost=test",
        "inject:cost=test,burn=no",
    )
    assert (INJECTIONS[NOTHING].text, INJECTIONS[NOTHING].setup) == (NOTHING, "inject")


@pytest.mark.parametrize("name", INJECTIONS)
def test_a_setup_tells_the_module_and_expects_to_be_told_the_same(name: str) -> None:
    own = INJECTIONS[name].by(Way.MODULE)
    for burn, injection in (("yes", own), ("no", own.unburnt)):
        setup = parse_setup(f"inject:cost={name},burn={burn}")
        (expected,) = setup.expect
        assert (expected.fact, expected.value) == ("inject.costs", injection.text)
        told = () if injection.text == NOTHING else (f"inject={injection.text}",)
        assert setup.cmdline == told
        assert dict(setup.reads)["inject.costs"].endswith("/inject/costs")
        assert [state.name for state in setup.states] == ["inject"]


@pytest.mark.parametrize(
    "injection", [item.by(Way.MODULE) for item in INJECTIONS.values()], ids=INJECTIONS
)
def test_every_injection_is_one_that_the_module_takes(injection: Injection) -> None:
    assert len(injection.text) < defined("INJECT_TEXT_MAX", "cost.c")
    points = [word.partition(":")[0] for word in injection.text.split(";")]
    assert injection.text == NOTHING or points == [item for item in Point if item in points]
    limits = {
        "insns": range(defined("INJECT_MAX_INSNS") + 1),
        "bytes": range(defined("INJECT_MAX_BYTES") + 1),
        "every": range(2, defined("INJECT_MAX_EVERY") + 1),
        "share": range(1, 100),
        "random": range(0, 100, 100 // defined("INJECT_BLOCK")),
    }
    for settings in injection.costs.values():
        assert len({"share", "random", "every"} & set(settings)) <= 1
        assert all(len(numbers) <= defined("INJECT_MAX_COSTS") for numbers in settings.values())
        assert all(number in limits[key] for key in settings for number in settings[key])


PROGRAMS = Path(__file__).parents[3] / "bpf"
LOADER = Path(lsmeter.__file__).parent / "_bin" / "lsmeter-bpf"


@pytest.mark.parametrize(
    "injection", [item.by(Way.BPF) for item in INJECTIONS.values()], ids=INJECTIONS
)
def test_every_injection_is_one_that_the_programs_take(injection: Injection) -> None:
    header = (PROGRAMS / "inject.h").read_text()
    found = re.findall(r'PLACE\((\w+), "[\w/]+", (\d+)\)', header)
    assert [name for name, _ in found] == [item for item in Point if item in POINTS[Way.BPF]]
    most = {name: 1000 * int(thousands) for name, thousands in found}
    for point, settings in injection.costs.items():
        assert all(insns % 20 == 0 and insns <= most[point] for insns in settings["insns"])
    setup = parse_setup(injection.setup)
    assert injection.setup == setup.name
    assert setup.steps[-1].words[1:] == ("inject", injection.text)
    assert dict(setup.reads)["inject.costs"].endswith("/lsmeter-inject/costs")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("opne:insns=20", "no place 'opne'"),
        ("open:insns=20;open:insns=20", "named twice"),
        ("open:insns=7", "'7' is no multiple of 20"),
        ("open:insns=5020", "'5020' is no multiple of 20 up to 5000"),
        ("open:insns=20,share=100", "no such shape: share=100"),
        ("open:insns=20,random=7", "no such shape: random=7"),
        ("open:insns=20,every=1", "no such shape: every=1"),
        ("open:insns=20,sharp=5", "no such shape: sharp=5"),
        ("open:insns=20,share=5,every=3", "is not PLACE:insns="),
        ("open:share=5", "is not PLACE:insns="),
        ("open:insns=-20", "is not PLACE:insns="),
        ("open:insns", "is not PLACE:insns="),
        ("open:insns=+", "no costs"),
    ],
)
def test_the_loader_refuses_what_it_does_not_understand(text: str, part: str) -> None:
    """And loads nothing: it says so before it asks the kernel for anything."""
    done = subprocess.run([LOADER, "inject", text], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert part in done.stderr
