# SPDX-License-Identifier: GPL-2.0-or-later
"""Event vectors: read strictly, summed to typical numbers, shown by benchmark and by hook."""

from __future__ import annotations

import csv
import io
import json
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.app import make_app
from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.measure.results.boots import BOOT_FILE
from lsmeter.measure.results.directory import read_run
from lsmeter.measure.tasks import find_task
from lsmeter.measure.tasks.events import (
    BY_ADDRESS,
    EVENTS,
    EVENTS_OUTPUT,
    HEADER,
    MAX_READINGS,
    DamagedEventsError,
    parse_events,
)
from lsmeter.questions.attribution.account import run_accounts
from lsmeter.questions.attribution.events import (
    event_changes,
    sum_changes,
)
from lsmeter.questions.attribution.load import load_run
from lsmeter.questions.cost.build import run_report
from lsmeter.questions.cost.document import report_document
from lsmeter.questions.events import document as shown
from lsmeter.questions.events.figures import count_of, event_cells, event_vectors
from lsmeter.questions.time.calibration import to_bytes
from lsmeter.tables.model import Detail
from tests.conftest import InProcess
from tests.unit.attribution.recorded import VALUES, vectors, write_run
from tests.unit.prediction import synthetic
from tests.unit.report.builders import render

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "src/lsmeter/questions/cost/schema/report-1.json"
NAMES = f"names {' '.join(EVENTS)}"
VECTOR = "v " + " ".join(str(number) for number in range(len(EVENTS)))
WHOLE = f"{HEADER}\n{NAMES}\nregion 3 0\n{VECTOR}\nx\n{VECTOR}\nend 3\nregion 0 2\nend 0\neof\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("events") / "run", "before", events=True)


@pytest.fixture(scope="module")
def after(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("after") / "run", "after", events=True)


def test_reads_every_sample_in_order() -> None:
    found = parse_events(WHOLE)
    numbers = tuple(range(len(EVENTS)))
    assert found[3].readings == (numbers, None, numbers)
    assert (found[0].readings, found[0].more) == ((), 2)


def test_a_region_that_comes_again_replaces_the_earlier_one() -> None:
    again = WHOLE.replace("eof\n", f"region 3 0\n{VECTOR}\nend 3\neof\n")
    assert len(parse_events(again)[3].readings) == 1


def test_what_the_version_before_counted_is_read() -> None:
    vector, fewer = VECTOR.rpartition(" ")[0], NAMES.rpartition(" ")[0]
    before = WHOLE.replace(NAMES, fewer).replace(VECTOR, vector)
    assert parse_events(before)[3].readings[0] == tuple(range(len(EVENTS) - 1))
    for mixed in (WHOLE.replace(NAMES, fewer), WHOLE.replace(VECTOR, vector)):
        with pytest.raises(DamagedEventsError):
            parse_events(mixed)


@given(st.integers(0, len(WHOLE)))
def test_what_was_whole_before_the_end_was_cut_off_counts(length: int) -> None:
    head = len(f"{HEADER}\n{NAMES}\n")
    if length < head:
        with pytest.raises(DamagedEventsError):
            parse_events(WHOLE[:length])
        return
    known = parse_events(WHOLE)
    assert {key: known[key] for key in parse_events(WHOLE[:length])} == parse_events(WHOLE[:length])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("events 1", "events 2"),
        ("names insns loads", "names loads insns"),
        ("region 3 0", "region 03 0"),
        ("region 3 0", "region 3"),
        ("v 0 1 2", "v 0 1"),
        ("v 0 1 2", "v 0 1 -2"),
        ("v 0 1 2", "v 0  1 2"),
        ("v 0 1 2", "v 0 1 2 3"),
        ("v 0 1 2", "v 0 1 99999999999999999999"),
        ("\nx\n", "\ny\n"),
        ("end 3", "end 4"),
        ("eof\n", "eof\nregion 1 0\n"),
        ("eof\n", "eof\neof\n"),
    ],
)
def test_damage_is_refused(old: str, new: str) -> None:
    assert old in WHOLE
    with pytest.raises(DamagedEventsError, match=r"^(it|line \d+) "):
        parse_events(WHOLE.replace(old, new, 1))


def test_more_samples_than_the_plugin_writes_are_refused() -> None:
    text = f"{HEADER}\n{NAMES}\nregion 3 0\n" + "x\n" * (MAX_READINGS + 1) + "end 3\neof\n"
    with pytest.raises(DamagedEventsError, match="line 4100 "):
        parse_events(text)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    for candidate in (text, f"{HEADER}\n{NAMES}\n{text}"):
        try:
            parse_events(candidate)
        except DamagedEventsError as error:
            assert "\n" not in str(error)  # noqa: PT017 (one line is the claim)


@given(st.integers(0, len(WHOLE) - 1), st.characters())
def test_one_changed_character_is_read_or_refused(place: int, character: str) -> None:
    with suppress(DamagedEventsError):
        parse_events(WHOLE[:place] + character + WHOLE[place + 1 :])


@given(st.lists(st.lists(st.integers(0, 50), min_size=1), min_size=1))
def test_the_typical_number_is_one_that_a_reading_has(boots: list[list[int]]) -> None:
    values = sorted(value for boot in boots for value in boot)
    found = count_of(boots)
    below, above = (
        sum(value < found.typical for value in values),
        sum(value > found.typical for value in values),
    )
    assert max(below, above) <= len(values) / 2
    assert found.share == values.count(found.typical) / len(values) > 0
    assert (found.least, found.most) == (values[0], values[-1])
    assert len(found.by_boot) == len(boots)


def test_it_repeats_when_two_boots_agree() -> None:
    assert count_of([[1, 2, 2], [2, 2, 9]]).repeats
    assert not count_of([[1, 2, 2], [3, 3, 3]]).repeats
    assert not count_of([[1, 2, 2]]).repeats


def test_vectors_of_a_run_leave_warming_up_out(run: Path) -> None:
    found = event_vectors(read_run(run))
    assert {place.setup for place in found} == {"capability", "smack", "selinux"}
    for place, benchmarks in found.items():
        known = VALUES[f"before-{place.setup}"]
        assert {name: vector["insns"] for name, vector in benchmarks.items()} == known
        for vector in benchmarks.values():
            assert (*vector,) == tuple(EVENTS)
            assert vector["loads"] == 8
    (cell, *_), problems = event_cells(read_run(run))
    loads = cell.benchmarks["getppid"]["loads"]
    assert (loads.share, loads.least, loads.most, loads.by_boot) == (4 / 6, 7, 8, (8, 8))
    assert not problems


def test_a_run_without_events_has_no_vectors(tmp_path: Path) -> None:
    plain = read_run(write_run(tmp_path / "run", "before"))
    assert event_vectors(plain) == {}
    with pytest.raises(UsageError, match="no events"):
        shown.document("", run_report(plain).events, "capability", (), Detail.SHORT)


def test_damaged_events_are_a_problem_of_their_boot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_run(tmp_path / "run", "before", events=True)
    broken = vectors(VALUES["before-capability"]).replace(b"\nv ", b"\nw ", 1)
    read = "lsmeter.questions.events.figures.read_output"
    folders = []

    def damaged(folder: Path, name: str) -> bytes:
        assert name == EVENTS_OUTPUT
        assert (folder / BOOT_FILE).is_file()
        folders.append(folder)
        return broken if len(folders) == 1 else vectors(VALUES["before-capability"])

    monkeypatch.setattr(read, damaged)
    cells, (problem,) = event_cells(read_run(path))
    assert "no events" in problem.title
    assert "line 4 cannot stand there" in problem.detail
    assert [len(cell.benchmarks["getppid"]["loads"].by_boot) for cell in cells] == [1, 2, 2]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (rb"v \d+ 8 1 .*\nend 1", b"x\nend 1", "rename depth=1: the plugin lost 1 reading"),
        (rb"(?:v \d+ \d+ 1 .*\n){3}end 1", b"end 1", "rename depth=1: the plugin lost 1 reading"),
        (rb"(?s)region 1 .*end 1\n", b"", "rename depth=1: the plugin lost 3 readings"),
    ],
)
def test_readings_that_the_plugin_lost_are_a_problem_and_no_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: bytes, new: bytes, says: str
) -> None:
    path = write_run(tmp_path / "run", "before", events=True)
    whole = vectors(VALUES["before-capability"])
    lossy = re.sub(old, new, whole)
    assert lossy != whole
    monkeypatch.setattr("lsmeter.questions.events.figures.read_output", lambda *_: lossy)
    cells, problems = event_cells(read_run(path))
    assert [{*cell.benchmarks} for cell in cells] == [{"getppid", "stat depth=2"}] * 3
    assert {item.detail for item in problems} == {says}
    assert len(problems) == 6
    monkeypatch.setattr("lsmeter.questions.events.figures.read_output", lambda *_: None)
    _, problems = event_cells(read_run(path))
    assert {item.detail for item in problems} == {
        "they are damaged: what the plugin counted is missing"
    }


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (rb"v (\d+) 8 1 ", rb"v 9\1 8 1 ", "rename depth=1: more instructions than were read"),
        (rb"(v .*\n)end 1", rb"\1" * 40 + b"end 1", "region 1 has 44 readings, and "),
        (rb"region 1 0", b"region 1 40", "region 1 has 45 readings, and "),
    ],
)
def test_events_that_the_guest_contradicts_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: bytes, new: bytes, says: str
) -> None:
    path = write_run(tmp_path / "run", "before", events=True)
    whole = vectors(VALUES["before-capability"])
    lying = re.sub(old, new, whole)
    assert lying != whole
    monkeypatch.setattr("lsmeter.questions.events.figures.read_output", lambda *_: lying)
    cells, problems = event_cells(read_run(path))
    assert all(item.detail.startswith(f"they are damaged: {says}") for item in problems)
    assert len(problems) == 6
    assert all("rename depth=1" not in cell.benchmarks for cell in cells)


def test_a_run_all_of_whose_events_are_lost_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_run(tmp_path / "run", "before", events=True)
    for file in path.rglob(f"{EVENTS_OUTPUT}.zst"):
        file.write_bytes(b"damaged")
    with pytest.raises(InfrastructureError, match="none of its events can be read: "):
        _say(capsys, "report", path, "--events")


def test_hooks_and_functions_have_all_events_of_the_trees(run: Path) -> None:
    data, cells, _ = load_run(run)
    for account in run_accounts(cells, data.manifest.baseline_setup):
        for pair in account.pairs.values():
            found = event_changes({"open": pair})
            by_hook = sum_changes(found, "hook")
            by_function = sum_changes(found, "function")
            for side, tree in (("baseline", pair.baseline.tree), ("tested", pair.tested.tree)):
                for grouped in (found, by_hook, by_function):
                    assert sum(getattr(item, side)[0] for item in grouped) == tree.insns
                loads = sum(node.calls for node in tree.nodes)
                assert sum(getattr(item, side)[1] for item in found) == loads
        summed = sum_changes(event_changes(account.pairs), "hook")
        hooks = {item.hook: item.difference[0] for item in summed}
        for hook in account.typical.total.hooks:
            if hook.context.inline:
                assert hooks[hook.hook] == pytest.approx(hook.difference_insns), hook.hook


def _say(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    make_app()([str(word) for word in words], standalone_mode=False)
    return capsys.readouterr().out


def test_hooks_diff_says_which_events_changed(
    run: Path, after: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = json.loads(_say(capsys, "hooks", "diff", run, after, "--format", "json"))
    selinux = next(item for item in said["setups"] if item["setup"] == "selinux")
    hooks = {item["hook"]: item["events"] for item in selinux["events"]["hooks"]}
    assert hooks["security_inode_rename"]["insns"]["difference"] == 100
    functions = {item["function"]: item["events"] for item in selinux["events"]["functions"]}
    assert set(functions) == {"selinux_inode_rename"}
    text = _say(capsys, "hooks", "diff", run, after, "--format", "text")
    assert "Events by hook" in text
    assert "Events by function" in text


def test_hooks_cost_without_events_says_nothing_of_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_run(tmp_path / "run", "before")
    assert "Events" not in _say(capsys, "hooks", "cost", path)
    said = json.loads(_say(capsys, "hooks", "cost", path, "--format", "json"))
    assert all("events" not in item for item in said["setups"])


def test_the_report_fits_the_schema_and_the_page_has_events(run: Path) -> None:
    report = run_report(read_run(run))
    said = json.loads(render(report, "json"))
    jsonschema.validate(said, json.loads(SCHEMA.read_text()))
    vector = next(item for item in said["events"] if item["setup"] == "selinux")
    assert vector["events"]["insns"]["difference"] == (
        VALUES["before-selinux"][vector["id"]] - VALUES["before-capability"][vector["id"]]
    )
    page = render(report, "html")
    for setup in ("capability", "selinux", "smack"):
        assert f"Events: {setup} on vmlinux" in page
    assert "Events by hook" in page


def test_report_events_as_lines_of_csv(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = list(csv.DictReader(io.StringIO(_say(capsys, "report", run, "--events", "-f", "csv"))))
    assert len(lines) == 3 * 3 * len(EVENTS)
    line = next(
        item
        for item in lines
        if (item["setup"], item["benchmark"], item["event"]) == ("smack", "stat", "insns")
    )
    known = VALUES["before-smack"]["stat depth=2"]
    assert (line["params"], int(line["value"])) == ("depth=2", known)
    assert int(line["difference"]) == known - VALUES["before-capability"]["stat depth=2"]
    assert (line["repeats"], float(line["share"])) == ("true", 1)


def test_events_fit_a_terminal(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = _say(capsys, "report", run, "--events", "-f", "text")
    assert "Events: selinux on vmlinux" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "more benchmarks" not in text  # each operation has one variant here


def test_an_unsteady_number_is_marked(run: Path) -> None:
    report = run_report(read_run(run))
    cell = report.events[0]
    torn = replace(cell.benchmarks["getppid"]["loads"], share=0.4)
    counts = {**cell.benchmarks["getppid"], "loads": torn}
    report = replace(report, events=(replace(cell, benchmarks={"getppid": counts}),))
    (section,) = shown.sections(report.events, report.baseline_setup, Detail.TERMINAL)
    (table,) = section.tables
    at = [column.key for column in table.columns].index("loads")
    assert getattr(table.rows[0][at], "text", "") == "8~"


def test_a_short_report_only_names_the_events(run: Path) -> None:
    assert "lsmeter report --events" in render(run_report(read_run(run)), "text")
    titles = [
        [section.title for section in report_document(run_report(read_run(run)), detail).sections]
        for detail in (Detail.SHORT, Detail.TERMINAL)
    ]
    assert not any(title.startswith("Events") for title in titles[0])
    assert sum(title.startswith("Events") for title in titles[1]) == 3


def test_names_are_those_of_the_plugin_and_of_the_document() -> None:
    header = (ROOT / "plugin/events/kinds.h").read_text()
    enum = header.partition("enum event {")[2].partition("EVENTS,")[0]
    kinds = [word.strip().removeprefix("EV_").lower() for word in enum.split(",") if word.strip()]
    assert kinds == list(EVENTS)
    text = "".join(part for part in header.partition("#define EVENT_NAMES")[2].split('"')[1::2])
    assert text.split() == list(EVENTS)
    document = (ROOT / "docs/reference/events.md").read_text()
    assert not [name for name in EVENTS if f"`{name}`" not in document]
    assert set(EVENTS) > BY_ADDRESS


def test_the_task_asks_for_both_outputs() -> None:
    task = find_task("events")
    assert (task.plugin, task.also, task.costs) == ("attribution", (EVENTS_OUTPUT,), True)


def test_diff_and_compare_predict_times_by_a_calibration(
    in_process: InProcess, run: Path, after: Path, tmp_path: Path
) -> None:
    by = tmp_path / "calibration.json"
    by.write_bytes(to_bytes(synthetic.calibration()))
    words = (str(run), str(after), "--calibration", str(by), "-f", "json")
    found = json.loads(in_process("hooks", "diff", *words).out)["predicted"]
    assert found["calibration"]["name"] == "synthetic"
    assert {item["setup"] for item in found["differences"]} == {"capability", "selinux", "smack"}
    assert json.loads(in_process("compare", *words).out)["sides"]["predicted"] == found
    one = json.loads(in_process("hooks", "diff", *words, "-s", "selinux").out)["predicted"]
    assert {item["setup"] for item in one["differences"]} == {"selinux"}
    without = json.loads(in_process("hooks", "diff", *words[:2], "-f", "json").out)
    assert "predicted" not in without
