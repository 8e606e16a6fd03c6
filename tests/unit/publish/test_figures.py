# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes over releases: those that were put in are found, and no others."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.core.model import Problem
from lsmeter.core.model.conclusion import Change, Number, Verdict
from lsmeter.questions.publish import document
from lsmeter.questions.publish.drawing import drawings, nice_ticks
from lsmeter.questions.publish.figures import find_points, make_site, name_releases, release_of
from lsmeter.questions.publish.hooks import move_hooks
from tests.unit.model_builders import change, kernel
from tests.unit.publish.builders import BASE, VERSIONS, compared, line, parts, point
from tests.unit.run_builders import run_over_kernels


def test_a_change_beyond_the_margin_is_found_with_hook_and_function() -> None:
    before = {"security_file_open": 100.0, "security_inode_permission": 200.0, "": 5.0}
    after = {"security_file_open": 130.0, "security_inode_permission": 195.0, "": 5.0}
    old, new = point("6.1.1-1", 1305, traced=True), point("6.12.1-1", 1330, traced=True)
    steps = make_site([old, new]).steps
    assert steps[0].moved is None
    (step,) = move_hooks(steps, parts(old, **before) | parts(new, **after))
    assert (step.before.release.name, step.after.release.name) == ("6.1.1-1", "6.12.1-1")
    assert step.change.points.value == pytest.approx(0.025)
    assert step.change.difference.value == 25
    assert step.moved is not None
    assert vars(step.moved) == {
        "hook": "security_file_open",
        "hook_insns": 30.0,
        "function": "do_security_file_open",
        "function_insns": 30.0,
    }


@pytest.mark.parametrize("values", [(1300, 1300), (1300, 1309), (1300, 1291)])
def test_what_is_within_the_margin_is_no_change(values: tuple[float, ...]) -> None:
    assert make_site(line(values)).steps == ()


def test_only_and_all_injected_changes_are_found() -> None:
    chance = random.Random(7)
    points, injected = [], set()
    for number in range(200):
        value = BASE * 1.3
        for version in VERSIONS:
            if version != VERSIONS[0] and chance.random() < 0.2:
                value += chance.choice([-1, 1]) * chance.uniform(10.1, 200)
                injected.add((number, version))
            points.append(point(version, value, depth=number))
    chance.shuffle(points)
    found = make_site(points).steps
    assert {
        (dict(s.after.found.benchmark.params)["depth"], s.after.release.name) for s in found
    } == (injected)
    order = [VERSIONS.index(step.after.release.name) for step in found]
    assert order == sorted(order, reverse=True), "the newest release first"


def test_a_change_of_the_whole_cost_alone_is_found() -> None:
    later = replace(compared(1300), whole=change(BASE, 1500, 6.0))
    (step,) = make_site([point("6.1.1-1", 1300), point("6.12.1-1", 0, found=later)]).steps
    assert (step.change.number, step.change.points.value) == (Number.WHOLE, pytest.approx(0.2))


def test_a_change_that_may_be_within_the_margin_is_none() -> None:
    later = replace(compared(1300), whole=change(BASE, 1320, 15.0))
    assert make_site([point("6.1.1-1", 1300), point("6.12.1-1", 0, found=later)]).steps == ()


def mean(baseline: float, value: float, low: float, high: float) -> Change:
    made = change(baseline, value)
    return replace(
        made, low=low, high=high, overhead_low=low / baseline, overhead_high=high / baseline
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # unlink depth=1 with the BPF LSM, 7.2.9 and 7.2.11: -6.6 % and +10.8 %.
        (mean(6168.8, 5760.7, -1089.5, 273.3), mean(5808.9, 6437.7, -51.5, 1309.2)),
        # open depth=4 with SELinux, 6.12.100 and 6.12.101: an event in the baseline's readings.
        (mean(4311.3, 5337.0, 1025.7, 1386.0), mean(3951.0, 5336.0, 1385.0, 1385.0)),
        (mean(4311.3, 6182.0, 1870.7, 2231.0), mean(3951.0, 6186.0, 2235.0, 2235.0)),
    ],
)
def test_chance_in_a_mean_is_no_change(before: Change, after: Change) -> None:
    sides = [replace(compared(1300), mean=item, whole=None) for item in (before, after)]
    points = [point(version, 0, found=item) for version, item in zip(VERSIONS, sides, strict=False)]
    assert make_site(points).steps == ()
    # Without chance it is one.
    sure = replace(sides[1], mean=change(after.baseline_value, after.baseline_value + 4000))
    (step,) = make_site([points[0], point(VERSIONS[1], 0, found=sure)]).steps
    assert step.change.number is Number.MEAN


def test_the_number_that_changed_for_certain_is_told() -> None:
    """Landlock's open in 7.3: -319 instructions of each call, and one event less in the mean."""
    first, then = compared(1700), compared(1600)
    loose = mean(BASE, 1850, 700, 850)
    found = [replace(first, mean=loose), replace(then, mean=change(BASE, 1600))]
    points = [point(version, 0, found=item) for version, item in zip(VERSIONS, found, strict=False)]
    (step,) = make_site(points).steps
    assert (step.change.number, step.change.points.value) == (Number.TYPICAL, pytest.approx(-0.1))


def test_numbers_that_do_not_exist_are_no_change() -> None:
    nothing = change(0, 10)
    item = replace(compared(1300), typical=nothing, whole=None, decided=nothing)
    assert math.isnan(item.overhead)
    assert make_site([point("6.1.1-1", 1300), point("6.12.1-1", 0, found=item)]).steps == ()


def test_a_build_is_held_against_the_same_compiler() -> None:
    points = [
        point("6.12.94-1~bpo12+1", 1300, compiler="gcc-12"),
        point("6.12.94-1", 1200, compiler="gcc-14"),
        point("6.12.95-1~bpo12+1", 1300, compiler="gcc-12"),
        point("6.12.95-1", 1250, compiler="gcc-14"),
    ]
    found = {step.after.release.name: step for step in make_site(points).steps}
    assert set(found) == {"6.12.94-1", "6.12.95-1"}
    assert found["6.12.94-1"].beside == ("compiler gcc-12 → gcc-14",)
    assert found["6.12.95-1"].before.release.name == "6.12.94-1"
    assert found["6.12.95-1"].beside == ()


def test_what_else_differs_is_said() -> None:
    first, then = point("6.1.1-1", 1300), point("6.12.1-1", 1400)
    then = replace(then, found=replace(then.found, verdict=Verdict.INCONCLUSIVE))
    tools = (("qemu", "9.0"), *then.origin.tools[1:])
    (step,) = make_site([first, replace(then, origin=replace(then.origin, tools=tools))]).steps
    assert step.beside == ("inconclusive on 6.12.1-1", "another qemu")
    assert step.moved is None


def test_other_conditions_are_another_graph() -> None:
    then = point("6.12.1-1", 1400)
    other = replace(then, graph=replace(then.graph, conditions="0123abcd"))
    assert make_site([point("6.1.1-1", 1300), other]).steps == ()


def test_releases_are_in_debians_order() -> None:
    names = ["7.3~rc7-1~exp1", "6.12.43-1", "7.3.1-1", "6.12.9-1", "6.12.43-1~bpo12+1", "5.10.1-1"]
    found = make_site(point(name, 1300) for name in names).releases
    assert [item.name for item in found] == [names[i] for i in (5, 3, 4, 1, 0, 2)]
    assert [item.series for item in found][-2:] == ["7.3", "7.3"]


def test_of_two_runs_of_one_build_the_later_counts_and_a_disagreement_is_said() -> None:
    later = "2026-11-26T10:00:00+00:00"
    made = make_site([point("6.1.1-1", 1310, created=later), point("6.1.1-1", 1300)])
    assert made.points == 1
    assert made.lines[0].points[0].found.typical.value == 1310
    assert [item.title for item in made.problems] == [
        "open depth=1: selinux on 6.1.1-1: two runs do not agree"
    ]
    same = Problem("x", "6.1")
    again = make_site([point("6.1.1-1", 1300), point("6.1.1-1", 1300, created=later)], [same] * 2)
    assert again.problems == (same,)


def test_a_build_is_what_its_package_says() -> None:
    found = release_of(
        replace(kernel(CC_VERSION_TEXT="gcc-12 (Debian) 12.2.0"), origin="package x 1 from sid")
    )
    assert (found.name, found.compiler, found.origin) == ("6.1.192-2", "gcc-12", "sid")
    target = replace(
        kernel(CC_VERSION_TEXT="x86_64-linux-gnu-gcc-14 (Debian) 14.3"), version="7.2-1"
    )
    assert release_of(target).compiler == "gcc-14"
    built = release_of(replace(kernel(), version="", release="6.12.0-rc1", origin="a tree"))
    assert (built.name, built.series, built.origin) == ("6.12.0-rc1", "6.12", "a tree")


@pytest.mark.parametrize(
    "values", [[0.0], [5.0], [-3.0, 4.0], [0.0, 61.0], [1300.0, 1301.0], [0.001, 0.002], [1e6, 9e6]]
)
def test_ticks_hold_the_values(values: list[float]) -> None:
    ticks = nice_ticks(values)
    assert ticks[0] <= min(values) <= max(values) <= ticks[-1]
    assert 2 <= len(ticks) <= 8


def test_points_are_drawn_at_their_values() -> None:
    made = make_site(line([1200, 1300, 1300, 1300, 1400, 1400]))
    drawn = {(d.unit, d.start): d for d in drawings([(0, made.lines[0])], made.releases)}
    assert set(drawn) == {(u, s) for u in ("percent", "insns") for s in ("zero", "fit")}
    zero = drawn["percent", "zero"]
    at = {tick.text: tick.at for tick in zero.values}
    assert at["0"] > at["20"] == zero.traces[0].marks[0].y > at["40"]
    assert "0" not in {tick.text for tick in drawn["percent", "fit"].values}
    both = make_site(line([990, 1300]))
    assert [d.start for d in drawings([(0, both.lines[0])], both.releases)] == ["any", "any"]
    assert {tick.text for tick in zero.releases} == {"5.10", "6.1", "6.12", "7.2", "7.3"}


def test_two_architectures_are_never_held_against_each_other(tmp_path: Path) -> None:
    costs = {"a": 1100, "b": 1105, "a:arm64": 1300, "b:arm64": 1400}
    tools = (("qemu", "7.2"), ("probe", "of x86"), ("probe (arm64)", "of arm64"))
    run = run_over_kernels(tmp_path / "run", costs, ("capability", "selinux"), tools=tools)
    site = make_site(find_points(run))
    assert {
        line.graph.arch: [point.found.typical.value for point in line.points] for line in site.lines
    } == {"x86_64": [1100, 1105], "arm64": [1300, 1400]}
    (step,) = site.steps
    assert (step.before.release.label, step.after.release.label) == (
        "6.0-1 (arm64)",
        "6.1-1 (arm64)",
    )
    assert {dict(point.origin.tools)["probe"] for point in site.lines[0].points} == {"of x86"}
    assert dict(step.after.origin.tools) == {"qemu": "7.2", "probe": "of arm64"}
    pages = document.files(site, site.steps)
    assert {name for name in pages if name.startswith("k/")} == {
        f"k/6.{at}-1{arch}.html" for at in (0, 1) for arch in ("", "-arm64")
    }
    assert 'id="open-depth-1-arch-arm64"' in pages["op/file-open.html"]


def test_a_build_that_two_suites_have_is_one() -> None:
    first = point("6.1.1-1", 1300)
    other = replace(first, release=replace(first.release, origin="bookworm-security"))
    site = make_site([first, other])
    assert (len(site.releases), site.points) == (1, 1)


def test_two_builds_of_one_version_are_on_one_page() -> None:
    first, second = point("6.1.1-1", 1300), point("6.1.1-1", 1350)
    second = replace(second, release=replace(second.release, image_sha256="ef" * 32))
    page = document.files(make_site([first, second]), ())["k/6.1.1-1.html"]
    assert page.count("cd" * 32) == page.count("ef" * 32) == 1
    assert page.count("+30.0") == page.count("+35.0") == 1


def test_a_stranger_s_architecture_is_taken_as_it_is_called(tmp_path: Path) -> None:
    run = run_over_kernels(tmp_path / "run", {"a": 1100}, ("capability", "selinux"))
    kernels = tuple(replace(item, arch="pdp11") for item in run.manifest.kernels)
    run = replace(run, manifest=replace(run.manifest, kernels=kernels))
    (found,) = find_points(run)
    assert found.release.label == "6.0-1 (pdp11)"


def test_a_problem_is_of_a_build_and_stands_on_its_page_alone(tmp_path: Path) -> None:
    costs = {"a": 1100, "a:arm64": 1100}
    run = run_over_kernels(tmp_path / "run", costs, ("capability", "selinux"))
    said = [Problem("it fell over", "a:arm64", "selinux"), Problem("no kernel", "gone")]
    named = list(name_releases(run.manifest, said))
    assert [item.kernel for item in named] == ["6.0-1 (arm64)", "gone"]
    pages = document.files(make_site(find_points(run), named), ())
    having = {name for name, text in pages.items() if "it fell over" in text}
    assert having == {"index.html", "k/6.0-1-arm64.html", "site.json"}
