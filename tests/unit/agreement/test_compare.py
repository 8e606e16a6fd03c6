# SPDX-License-Identifier: GPL-2.0-or-later
"""Views with known differences: what agrees, what is explained and by what, what stays open."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.hooks.agreement.benchmarks import CALLS, components, least
from lsmeter.hooks.agreement.compare import compare
from lsmeter.hooks.agreement.gather import hook_runs
from lsmeter.hooks.agreement.model import (
    BenchmarkAgreement,
    Bound,
    CountedRuns,
    Outcome,
    Place,
    Readings,
    SlopeReading,
    View,
)
from lsmeter.hooks.agreement.reasons import REASONS
from tests.unit.attribution.trees import any_tree, tree

INODE, FILE = "security_inode_permission", "security_file_permission"
WHOLE = SlopeReading("tunable", 2.00001, 2)


def judged(
    benchmark: str = "stat depth=2",
    *,
    setup: str = "selinux",
    source: Mapping[str, Bound] | None = None,
    counted: Mapping[str, int] | None = None,
    attributed: Mapping[str, int] | None = None,
    slope: SlopeReading | None = None,
    steady: bool = True,
) -> BenchmarkAgreement:
    counts = counted and {name: CountedRuns(runs, steady) for name, runs in counted.items()}
    readings = Readings(
        benchmark,
        components(benchmark),
        least(benchmark),
        source,
        {} if counted == {} else counts,
        attributed,
        slope,
    )
    (found,) = compare(Place("k", setup, "tmpfs", "root"), [readings]).benchmarks
    return found


def reasons(found: BenchmarkAgreement) -> set[str]:
    return {reason for finding in found.findings for reason in finding.reasons}


def test_views_that_say_the_same_agree() -> None:
    found = judged(
        source={INODE: Bound(2, 24)}, counted={INODE: 2}, attributed={INODE: 2}, slope=WHOLE
    )
    assert (found.checks, found.total, found.findings) == (Outcome.AGREE, Outcome.AGREE, ())


def test_what_is_alone_is_not_measured_and_stays_visible() -> None:
    found = judged(attributed={INODE: 2})
    assert (found.checks, found.total) == (Outcome.NOT_MEASURED, Outcome.NOT_MEASURED)
    assert found.readings.total(View.ATTRIBUTION) == 2
    assert found.readings.total(View.COUNTING) is None
    assert found.readings.checks(View.SLOPE) is None


def test_a_hook_that_did_not_run_ran_0_times() -> None:
    found = judged("getppid", source={}, counted={}, attributed={})
    assert found.readings.total(View.COUNTING) == found.readings.checks(View.ATTRIBUTION) == 0
    assert found.total is Outcome.AGREE


def test_counting_against_attribution_is_open_without_a_reason() -> None:
    found = judged(counted={INODE: 3}, attributed={INODE: 2})
    assert (found.checks, found.total) == (Outcome.OPEN, Outcome.OPEN)
    (finding,) = found.findings
    assert (finding.hook, finding.first_runs, finding.second_runs) == (INODE, 3, 2)


def test_totals_that_are_equal_hide_no_hook() -> None:
    found = judged(counted={INODE: 1, FILE: 2}, attributed={INODE: 2, FILE: 1})
    assert found.readings.total(View.COUNTING) == found.readings.total(View.ATTRIBUTION)
    assert found.total is Outcome.OPEN


def test_a_count_that_is_not_steady_is_explained() -> None:
    found = judged(counted={INODE: 3}, attributed={INODE: 2}, steady=False)
    assert reasons(found) == {"not steady"}


def test_the_source_is_an_upper_bound() -> None:
    assert reasons(judged(source={INODE: Bound(4, 9)}, attributed={INODE: 2})) == {"upper bound"}
    above = judged(source={INODE: Bound(1, 9)}, attributed={INODE: 2})
    assert above.total is Outcome.OPEN
    unknown = judged(source={}, attributed={INODE: 2})
    assert unknown.total is Outcome.OPEN


def test_flags_that_the_benchmark_does_not_set() -> None:
    source = {"security_path_truncate": Bound(1, 3)}
    assert reasons(judged("open depth=1", source=source, attributed={})) == {"other flags"}
    assert reasons(judged("creat depth=1", source=source, attributed={})) == {"upper bound"}


def test_smack_walks_twice_within_what_retries_allow() -> None:
    known = {"setup": "smack", "attributed": {INODE: 3}}
    assert reasons(judged(source={INODE: Bound(2, 24)}, **known)) == {"slow path walk"}  # type: ignore[arg-type]
    assert judged(source={INODE: Bound(1, 2)}, **known).total is Outcome.OPEN  # type: ignore[arg-type]
    other = judged(setup="selinux", source={INODE: Bound(2, 24)}, attributed={INODE: 3})
    assert other.total is Outcome.OPEN


def test_the_slope_of_another_module_does_not_see_smack_walk_twice() -> None:
    found = judged(setup="landlock:layers=1,rules=1+smack", attributed={INODE: 3}, slope=WHOLE)
    assert reasons(found) == {"slow path walk, not in the slope"}
    assert found.checks is Outcome.EXPLAINED
    fewer = judged(setup="smack", attributed={INODE: 1}, slope=WHOLE)
    assert fewer.checks is Outcome.OPEN


def test_slopes_see_two_hooks_together() -> None:
    slope = SlopeReading("tunable", 3.0, 3)
    assert judged(attributed={INODE: 2, FILE: 1, "x": 7}, slope=slope).checks is Outcome.AGREE
    assert judged(attributed={INODE: 2}, slope=slope).checks is Outcome.OPEN


def test_a_slope_of_two_costs_lies_near() -> None:
    near = SlopeReading("tunable", 1.991, None, "the interval holds no whole number")
    assert reasons(judged(attributed={INODE: 2}, slope=near)) == {"slope of two costs"}
    far = SlopeReading("tunable", 1.9, None, "the interval holds no whole number")
    assert judged(attributed={INODE: 2}, slope=far).checks is Outcome.OPEN


def test_symbolic_links_loops_and_what_is_freed_later() -> None:
    bound = {INODE: Bound(1, 6)}
    assert reasons(judged("stat link=soft", source=bound, counted={INODE: 2})) == {"symbolic link"}
    assert judged("stat link=hard", source=bound, counted={INODE: 2}).total is Outcome.OPEN
    unmade = {"security_file_free": Bound(0, 2, repeats=True)}
    failed = judged("open target=missing", source=unmade, counted={"security_file_free": 1})
    assert reasons(failed) == {"failed call"}
    loop = {FILE: Bound(1, 1, repeats=True)}
    assert reasons(judged("read size=1", source=loop, counted={FILE: 4})) == {"loop"}
    freed = {"security_file_free": 1}
    assert reasons(judged(counted=freed, attributed={})) == {"freed later"}


def test_reasons_have_names_and_words_of_their_own() -> None:
    assert len({reason.name for reason in REASONS}) == len(REASONS)
    assert all(reason.text for reason in REASONS)


@pytest.mark.parametrize(
    ("benchmark", "length", "needed"),
    [
        ("open depth=4", 4, 4),
        ("openat depth=2", 2, 1),
        ("stat path=dotdot-9", 9, 9),
        ("stat link=soft", 1, 1),
        ("open target=missing", 2, 2),
        ("rename depth=3", 3, 4),
        ("mkdir dirs=9437", 1, 1),
        ("read size=1024", 0, 1),
        ("copy size=0", 0, 2),
        ("getppid", 0, 0),
        ("fork", 1, None),
    ],
)
def test_paths_and_what_they_need(benchmark: str, length: int, needed: int | None) -> None:
    assert components(benchmark) == length
    assert least(benchmark) == needed


def test_every_operation_of_the_suite_has_its_calls() -> None:
    from lsmeter.guest.probe import catalogue, find_probe  # noqa: PLC0415

    suite = {item.operation for item in catalogue(find_probe()) if item.suite == "file"}
    assert suite == set(CALLS)


def test_hooks_of_hooks_count_and_interrupts_do_not() -> None:
    found = hook_runs(
        tree(
            (
                *("vfs_open", 1, 10),
                (
                    ("security_file_open", 1, 5, (("security_inode_permission", 2, 3, ()),)),
                    ("security_inode_permission", 1, 3, ()),
                ),
            ),
            ("[interrupt]", 1, 50, (("security_file_free", 4, 3, ()),)),
        )
    )
    assert found == {"security_file_open": 1, "security_inode_permission": 3}


@given(any_tree())
def test_no_tree_gives_more_runs_than_its_nodes_have(one: object) -> None:
    from lsmeter.hooks.attribution.profile import Tree  # noqa: PLC0415

    assert isinstance(one, Tree)
    runs = hook_runs(one)
    for hook, count in runs.items():
        assert count <= sum(node.calls for node in one.nodes if node.function.name == hook)


@given(
    st.dictionaries(st.sampled_from([INODE, FILE, "security_x"]), st.integers(0, 4)),
    st.dictionaries(st.sampled_from([INODE, FILE, "security_x"]), st.integers(0, 4)),
)
def test_agreement_is_that_of_every_hook(
    counted: dict[str, int], attributed: dict[str, int]
) -> None:
    found = judged(counted=counted, attributed=attributed)
    same = all(
        counted.get(hook, 0) == attributed.get(hook, 0) for hook in counted.keys() | attributed
    )
    assert (found.total is Outcome.AGREE) == same
    assert (found.total is Outcome.OPEN) == (not same)
