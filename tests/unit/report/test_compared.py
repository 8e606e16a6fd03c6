# SPDX-License-Identifier: GPL-2.0-or-later
"""Two runs side by side: what only one has is named, and the overhead of each setup is compared."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import lsmeter.questions.cost.schema
from lsmeter.core.model import BenchmarkStatus, Samples
from lsmeter.core.model.conclusion import Number
from lsmeter.measure.experiment.options import build_experiment
from lsmeter.measure.experiment.plan import PlannedBoot, make_plan
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.compare import document as compared
from lsmeter.questions.compare.document import HEADING, changed_section, document
from lsmeter.questions.compare.sides import Only, OverheadChange, only_in_one, overhead_changes
from lsmeter.questions.cost.build import compare_runs
from lsmeter.tables.model import Detail
from lsmeter.tables.render import Options, render
from tests.unit import timed_builders
from tests.unit.model_builders import benchmark, change, kernel
from tests.unit.report import builders
from tests.unit.run_builders import ended, stored

OPEN, DEEP = benchmark("open", depth=1), benchmark("open", depth=4)
STAT, CHMOD = benchmark("stat", depth=1), benchmark("chmod", depth=1)
Facts = tuple[tuple[str, str], ...]
Counts = Mapping[str, Mapping[Any, int]]  # by setup and benchmark

MODULES = {"SECURITY_TOMOYO": "y", "SECURITY_APPARMOR": "y"}
BEFORE: Counts = {
    "capability": {OPEN: 1000, DEEP: 2000, STAT: 500, CHMOD: 700},
    "selinux": {OPEN: 1200, DEEP: 2500, STAT: 600, CHMOD: 770},
    "tomoyo": {OPEN: 1100, DEEP: 2100, STAT: 510, CHMOD: 720},
}
AFTER: Counts = {
    "capability": {OPEN: 1000, DEEP: 2000, STAT: 500},
    "selinux": {OPEN: 1250, DEEP: 2600, STAT: 600},
    "apparmor": {OPEN: 1100, DEEP: 2100, STAT: 510},
}


def run(
    path: Path, counts: Counts, kernel_name: str = "old", facts: Facts = (), **words: Any
) -> RunData:
    asked = build_experiment({"setups": [*counts], "boots": 2, **words}, where="test")
    kinds = tuple(dict.fromkeys(kind for found in counts.values() for kind in found))
    plan = make_plan(asked, [kernel(kernel_name, **MODULES)], kinds, {}, ("tmpfs",))

    def samples(planned: PlannedBoot) -> Iterator[Samples]:
        for kind, value in counts[planned.cell.setup.name].items():
            yield Samples(kind.id, BenchmarkStatus.OK, (value,) * 10)

    return stored(plan, path, lambda planned: (ended(planned, samples(planned), facts=facts), {}))


@pytest.fixture
def sides(tmp_path: Path) -> tuple[RunData, RunData]:
    return run(tmp_path / "old-run", BEFORE), run(tmp_path / "new-run", AFTER, "new")


def shown(sides: tuple[RunData, RunData], form: str = "table", width: int = 80) -> str:
    detail = {"html": Detail.FULL, "markdown": Detail.FULL, "text": Detail.SHORT}
    made = document(*sides, detail.get(form, Detail.TERMINAL))
    return render(made, form, Options(width=width, colour=False))


def test_what_one_run_has_alone_is_named_on_both_sides(sides: tuple[RunData, RunData]) -> None:
    before, after = only_in_one(*sides)
    assert before == Only({"setup": ("tomoyo",)}, (CHMOD,))
    assert after == Only({"setup": ("apparmor",)}, ())
    text = " ".join(shown(sides).split())
    assert "Only before: setups tomoyo; benchmarks chmod depth=1: not compared" in text
    assert "Only after: setups apparmor: not compared" in text
    joined = text.replace(" ", "")  # a long path is broken anywhere
    assert re.search(r"Before:/\S+/old-run\(thefirstrun\):old", joined)
    assert re.search(r"After:/\S+/new-run\(thesecondrun\):new", joined)


def test_what_one_setup_alone_lacks_is_named(tmp_path: Path) -> None:
    lost = {**BEFORE, "selinux": {OPEN: 1200}}
    before, after = run(tmp_path / "a", BEFORE), run(tmp_path / "b", lost)
    only, _ = only_in_one(before, after)
    assert [*only.by_setup] == ["selinux"]
    said = ", ".join(item.id for item in only.by_setup["selinux"])
    text = " ".join(shown((before, after)).split())
    assert f"Only before: benchmarks of selinux {said}: not compared" in text
    assert "Left out: nothing" not in text


def test_guests_of_kernels_that_list_other_mitigations_are_compared(tmp_path: Path) -> None:
    sides = (
        run(tmp_path / "a", BEFORE, facts=(("mitigations.gds", "Not affected"),)),
        run(tmp_path / "b", BEFORE, "new", (("mitigations.bhi", "Not affected"),)),
    )
    assert compare_runs(*sides).comparisons


def test_runs_of_the_same_things_say_that_nothing_is_left_out(tmp_path: Path) -> None:
    same = run(tmp_path / "a", BEFORE), run(tmp_path / "b", BEFORE)
    assert only_in_one(*same) == (Only({}, ()), Only({}, ()))
    assert "Left out: nothing" in shown(same)
    assert "Unchanged: open, stat, chmod." in shown(same)


def test_kernels_are_named_where_they_are_not_matched_one_to_one(tmp_path: Path) -> None:
    place = run(tmp_path / "a", BEFORE, filesystems=["tmpfs"])
    user = run(tmp_path / "b", BEFORE, users=["root", "user"])
    assert only_in_one(place, user) == (Only({}, ()), Only({"user": ("user",)}, ()))


def test_the_change_of_each_overhead_is_that_of_the_setup_alone(
    sides: tuple[RunData, RunData],
) -> None:
    found = {
        (item.place.setup, item.benchmark): item
        for item in overhead_changes(*sides)
        if item.number is Number.TYPICAL
    }
    assert {setup for setup, _ in found} == {"selinux"}
    changed = found["selinux", DEEP]
    assert changed.points.value == pytest.approx(0.05)  # +25 % became +30 %
    assert changed.difference.value == 100
    assert found["selinux", STAT].points.value == 0
    text = shown(sides)
    assert re.search(r"open +\+22.5 % +\+27.5 % +\+5.0 +\+75", text)
    assert "Unchanged: stat." in text
    assert re.search(r"open depth=4.*\+25.0 %.*\+30.0 %.*\+5.0.*\+100", shown(sides, "markdown"))


def test_the_interval_of_a_change_is_that_of_two_independent_overheads(
    tmp_path: Path,
) -> None:
    """Of equal intervals the change has one that is wider by the root of two."""
    factors = {("landlock", timed_builders.STAT.id): 1.2}
    first = timed_builders.run(tmp_path / "a", factors, seed=1)
    factors = {("landlock", timed_builders.STAT.id): 1.3}
    then = timed_builders.run(tmp_path / "b", factors, seed=2)
    changes = [c for c in overhead_changes(first, then) if c.place.setup == "landlock"]
    found = {item.benchmark.id: item for item in changes if item.number is Number.TYPICAL}
    moved = found[timed_builders.STAT.id]
    low, high = moved.points.low, moved.points.high
    assert low < 0.1 < high
    assert low > 0
    sides = (moved.before.decided, moved.after.decided)
    halves = [(side.overhead_high - side.overhead_low) / 2 for side in sides]
    assert (high - low) / 2 == pytest.approx(math.hypot(*halves), rel=0.2)
    still = found[timed_builders.READ.id]
    assert still.points.low < 0 < still.points.high
    assert still.difference.low < 0 < still.difference.high
    assert re.search(r"stat .* \+\d+.\d ±\d.\d", shown((first, then)))
    data: Any = document(first, then, Detail.DATA).data
    bounds = [
        (item["overhead_change_low"], item["overhead_change_high"])
        for item in data["sides"]["overhead_changes"]
    ]
    assert (low, high) in bounds


def test_a_whole_cost_that_moved_alone_is_no_unchanged_overhead() -> None:
    """The call is the same in both runs; what the setup adds to its cycle is not."""
    kind = replace(OPEN, cycle="open+close")
    same = replace(builders.comparison(kind, "selinux", 1200, 1000), mean=change(1010, 1210))
    before, after = (replace(same, whole=change(2000, 2300 + more, 4)) for more in (0, 300))
    found = [OverheadChange(same.place, kind, before, after, number) for number in Number]
    parts = compared.moved_otherwise(found, 0.01)
    assert list(parts) == [Number.TYPICAL, Number.WHOLE]
    (moved,) = parts[Number.WHOLE]
    assert (moved.difference.value, moved.points.value) == (300, pytest.approx(0.15))
    loose = replace(after, whole=change(2000, 2600, 500))
    changes = [OverheadChange(same.place, kind, before, loose, number) for number in Number]
    assert compared.moved_otherwise(changes, 0.01) == {}


def test_a_slower_kernel_alone_is_no_change_of_what_a_setup_adds(tmp_path: Path) -> None:
    slower = {setup: {k: v + 300 for k, v in of.items()} for setup, of in BEFORE.items()}
    pair = run(tmp_path / "a", BEFORE), run(tmp_path / "b", slower)
    assert all(item.difference.value == 0 for item in overhead_changes(*pair))
    assert all(item.points.value < 0 for item in overhead_changes(*pair))


def test_the_baseline_is_that_of_the_second_run(tmp_path: Path) -> None:
    pair = run(tmp_path / "a", BEFORE, baseline="tomoyo"), run(tmp_path / "b", BEFORE)
    assert all(item.points.value == 0 for item in overhead_changes(*pair))
    alone = {"selinux": {OPEN: 1200}}
    none = run(tmp_path / "c", alone, baseline="selinux"), run(tmp_path / "d", BEFORE)
    assert overhead_changes(*none) == ()
    assert "Not known: that needs capability and one more setup in both runs" in shown(none)


@pytest.mark.parametrize("form", ["table", "text", "markdown", "csv", "json", "html"])
def test_every_format_shows_two_runs(sides: tuple[RunData, RunData], form: str) -> None:
    detail = Detail.DATA if form in {"csv", "json"} else Detail.FULL
    text = render(document(*sides, detail), form, Options(width=80, colour=False))
    assert "selinux" in text
    if form == "json":
        found = json.loads(text)
        schema = Path(lsmeter.questions.cost.schema.__file__).with_name("report-1.json")
        jsonschema.validate(found, json.loads(schema.read_text("utf-8")))
        assert found["sides"]["before"]["only"] == {
            "setups": ["tomoyo"],
            "benchmarks": ["chmod depth=1"],
            "benchmarks_of": {},
        }
        changes = {item["id"]: item for item in found["sides"]["overhead_changes"]}
        assert changes["open depth=4"]["overhead_change"] == pytest.approx(0.05)


def test_no_cell_is_cut_at_any_width(sides: tuple[RunData, RunData]) -> None:
    made = document(*sides, Detail.TERMINAL)
    for width in range(40, 161, 3):
        text = render(made, "table", Options(width=width, colour=False))
        # A head may be shortened to a key, which is explained; a value never.
        for key in re.findall(r"\S*\N{HORIZONTAL ELLIPSIS}\S*", text):
            assert f"{key} = " in text, width
        for number in ("1,200", "2,500", "+22.5 %", "+27.5 %", "+5.0"):
            assert number in text, width
        assert all(len(line) <= width for line in text.splitlines() if "/" not in line), width


def test_many_benchmarks_of_one_run_are_counted_by_operation(tmp_path: Path) -> None:
    many = {benchmark("creat", depth=depth): 100 + depth for depth in range(13)}
    more = {setup: {**of, **many} for setup, of in AFTER.items()}
    text = shown((run(tmp_path / "a", AFTER), run(tmp_path / "b", more)))
    assert "Only after: benchmarks creat (13): not compared" in " ".join(text.split())


def test_a_terminal_has_the_largest_changes_and_says_what_is_left_out() -> None:
    kinds = [benchmark(f"op{at:02}") for at in range(14)]
    values = [1000 + 20 * at for at in range(13)] + [900]
    found = [builders.comparison(k, "selinux", v, 1000) for k, v in zip(kinds, values, strict=True)]
    found += [builders.comparison(kinds[3], "tomoyo", 900, 1000)]
    found += [builders.comparison(kinds[4], "smack", 1000, 1000)]
    section = changed_section(replace(builders.side_by_side(), comparisons=tuple(found)))
    (table,) = section.tables
    assert [row[0] for row in table.rows] == [
        "selinux: 12 slower, 1 faster, 1 equivalent",
        *("op12", "op11", "op10", "op09", "op08"),
        "tomoyo: 1 faster",
        "op03",
    ]
    first = dict(zip([column.key for column in table.columns], table.rows[1], strict=True))
    assert (first["old"], first["new"], first["difference"]) == (1000, 1240, 240)
    assert (first["verdict"], first["decided_by"]) == ("slower", "typical")
    (more,) = table.more
    assert more.startswith("Not shown: 8 changed operations and 2 equivalent operations: --all")


def test_nothing_changed_is_said_without_a_table() -> None:
    same = builders.comparison(OPEN, "selinux", 1000, 1000)
    section = changed_section(replace(builders.side_by_side(), comparisons=(same,)))
    assert [table.rows for table in section.tables] == [()]
    assert section.tables[0].more[0].startswith("Not shown: 1 equivalent operation:")


def test_the_sides_stand_first_and_the_overheads_beside_the_summary(
    sides: tuple[RunData, RunData],
) -> None:
    short, full = (document(*sides, detail) for detail in (Detail.SHORT, Detail.FULL))
    assert short.facts[:4] == full.facts[:4]
    assert [part.title for part in full.sections][:2] == ["Summary", HEADING]
    assert [part.title for part in short.sections][-2:] == [HEADING, "Conditions"]
