# SPDX-License-Identifier: GPL-2.0-or-later
"""Printed values: those that are shipped are what was printed, a user's file is read strictly."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

import lsmeter.questions.cost.schema
from lsmeter.catalogue.studies import Published, Row, find_published, published_names
from lsmeter.catalogue.workloads import load_workload, workload_names
from lsmeter.core.errors import UsageError
from lsmeter.guest.probe import catalogue, find_probe
from lsmeter.questions.cost import beside, data
from lsmeter.tables.render import Options
from tests.unit.report.builders import render, report

KNOWN = {(item.suite, item.id) for item in catalogue(find_probe())} | {
    (name, item.id) for name in workload_names() for item in load_workload(name).benchmarks
}
NAMES = (
    *("asiaccs21-table1", "freenix2001", "labreport", "lomac2001", "lsm2002", "rhel5-2007"),
    *("static-calls", "thesis2015", "thesis2015-optimised"),
)
# Where the papers contradict their own values by more than rounding.
CONTRADICTED = {
    ("lomac2001", "UnixBench System Call Overhead"),
    ("freenix2001", "file copy 256B"),
    ("lsm2002", "null I/O"),
    ("thesis2015-optimised", "PHP and MySQL, larger files, ext2"),
    ("thesis2015-optimised", "PHP and MySQL, larger files, ext4"),
}
OWN = """
title = "mine"
source = "a paper"
kernel = "Linux 2.6"
hardware = "a computer"
instrument = "time"
baseline = "nothing"
[setups]
x = "a module"
[[rows]]
name = "open"
benchmarks = ["file: open depth=1"]
unit = "us"
baseline = 10.0
values = { x = 12 }
[[rows]]
name = "both"
benchmarks = ["file: open depth=1", "file: stat depth=1"]
printed_percent = { x = -3 }
note = "a remark"
[[rows]]
name = "elsewhere"
benchmarks = ["net: tcp-connect ip=4"]
printed_percent = { x = 0 }
[[rows]]
name = "nobody"
printed_percent = { x = 7.5 }
"""


def own(tmp_path: Path, text: str = OWN) -> Published:
    (tmp_path / "own.toml").write_text(text)
    return find_published(str(tmp_path / "own.toml"))


def test_studies_that_are_shipped() -> None:
    assert published_names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_exists(name: str) -> None:
    study = find_published(name)
    assert {pair for row in study.rows for pair in row.benchmarks} <= KNOWN
    assert any(row.benchmarks for row in study.rows)


@pytest.mark.parametrize("name", NAMES)
def test_what_was_printed_is_what_the_values_say(name: str) -> None:
    off = {
        (name, row.name)
        for row in find_published(name).rows
        for setup, printed in row.printed_percent.items()
        if row.computed(setup) is not None
        # Printed with one digit or none, of values that are rounded themselves.
        if abs(100 * (row.computed(setup) or 0) - printed) > 1.02 or _sign(row, setup)
    }
    assert off <= CONTRADICTED


def _sign(row: Row, setup: str) -> bool:
    found, printed = row.computed(setup) or 0.0, row.printed_percent[setup]
    return found * printed < 0 and abs(printed) > 0.6


def test_single_values_of_the_papers() -> None:
    rows = {row.name: row for row in find_published("lomac2001").rows}
    execl = rows["UnixBench Execl Throughput"]
    assert (execl.baseline, execl.values["lomac"], execl.sd["lomac"]) == (642.4, 537.0, 21.7)
    assert execl.computed("lomac") == pytest.approx(0.1641, abs=5e-5)
    assert execl.overhead("lomac") == pytest.approx(0.164)
    pipe = next(row for row in find_published("freenix2001").rows if row.name == "pipe")
    assert pipe.computed("selinux") == pytest.approx(0.1621, abs=5e-5)
    static = {row.name: row for row in find_published("static-calls").rows}
    assert static["Pipe Throughput"].overhead("selinux-bpf") == pytest.approx(-0.095499)
    lab = {row.name: row for row in find_published("labreport").rows}
    assert lab["Stat"].values["selinux-root"] == 16.97
    assert lab["Stat"].overhead("selinux-root") is None


def test_rows_stand_beside_ours(tmp_path: Path) -> None:
    made = replace(report(), beside=(own(tmp_path),))
    shown = render(made, "table", Options(width=80))
    assert max(map(len, shown.splitlines())) <= 80
    part = " ".join(shown[shown.index("Beside mine") :].split())
    assert "Printed: a paper. Linux 2.6; a computer; time, over nothing. x: a module." in part
    assert "Here: debian:6.1" in part
    assert "an emulated processor; exact instrument" in part
    assert "No benchmark of lsmeter: nobody." in part
    assert "Not in this run, needs --suite net: elsewhere." in part
    assert "Of the rows: both: a remark." in part
    for form in ("markdown", "html", "text"):
        assert "Beside mine" in render(made, form)


def test_a_column_is_named_by_no_suite(tmp_path: Path) -> None:
    """A column holds the rows of all suites: no name of one stands at its head."""
    study = own(tmp_path, OWN.replace("net: tcp-connect ip=4", "net: open depth=1"))
    found = report(setups=("capability", "selinux", "bpf"))
    net = tuple(
        replace(item, place=replace(item.place, suite="net"))
        for item in found.comparisons
        if item.place.setup == "selinux"
    )
    shown = replace(found, comparisons=(*found.comparisons, *net), beside=(study,))
    (section,) = beside.sections(shown)
    assert [column.head for column in section.tables[0].columns[-2:]] == ["selinux", "bpf"]


def test_programs_get_the_same(tmp_path: Path) -> None:
    made = replace(report(), beside=(own(tmp_path),))
    found = data.document(made)
    schema = Path(lsmeter.questions.cost.schema.__file__).parent / "report-1.json"
    jsonschema.validate(found | {"format": data.NAME, "version": 1}, json.loads(schema.read_text()))
    one, both, elsewhere, nobody = found["beside"][0]["rows"]
    assert one["overheads"] == {"x": pytest.approx(0.2)}
    assert both["overheads"] == {"x": -0.03}
    assert (elsewhere["own"], nobody["own"], nobody["benchmarks"]) == ([], [], [])
    mine = {
        item["setup"]: item["overhead"] for item in one["own"] if item["kernel"] == "debian:6.1"
    }
    told = {
        (item.benchmark.id, item.place.setup): item
        for item in made.comparisons
        if item.place.kernel == "debian:6.1"
    }
    assert mine["selinux"] == told["open depth=1", "selinux"].overhead
    sums = [told[name, "selinux"] for name in ("open depth=1", "stat depth=1")]
    expected = sum(i.typical.value for i in sums) / sum(i.typical.baseline_value for i in sums) - 1
    own_both = {i["setup"]: i["overhead"] for i in both["own"] if i["kernel"] == "debian:6.1"}
    assert own_both["selinux"] == pytest.approx(expected)
    assert "beside" not in data.document(report())


def test_lomac_stands_there_as_it_was_printed() -> None:
    """With what its authors say themselves: runs scatter, and two gains are spurious."""
    study = find_published("lomac2001")
    shown = render(replace(report(), beside=(study,)), "table", Options(width=80))
    assert max(map(len, shown.splitlines())) <= 80
    part = " ".join(shown[shown.index("Beside LOMAC") :].split())
    assert "on Linux 2.2.5" not in part
    assert "Kernel not stated (2.2.5 is what the kernel build compiles)" in part
    assert "WebStone Latency -0.2 % (s) 0.53; 0.53" in part
    assert "UnixBench Process Creation -0.5 % (s) 0.52; 0.63" in part
    assert "UnixBench Execl Throughput +16.4 % 3.7; 4.0" in part
    assert "UnixBench System Call Overhead +0.2 % 0.13; 0.12" in part
    said = "own values give another change: WebStone Latency -0.4 %, UnixBench System Call Overhead"
    assert f"{said} +0.0 %." in part
    said = "(s) the study calls the change spurious, as it lies within the scatter of its runs: "
    assert f"{said}WebStone Latency, UnixBench Process Creation." in part
    rows = {
        row["name"]: row
        for row in data.document(replace(report(), beside=(study,)))["beside"][0]["rows"]
    }
    assert {name for name, row in rows.items() if row["spurious"]} == {
        "WebStone Latency",
        "UnixBench Process Creation",
    }
    assert rows["WebStone Latency"]["overheads"] == {"lomac": -0.002}


def test_whole_per_cent_get_no_digit() -> None:
    made = replace(report(), beside=(find_published("freenix2001"),))
    part = " ".join(render(made, "table", Options(width=80)).split())
    assert "pipe switching +18 %" in part
    assert "file copy 256B +10 %" in part
    assert "The study's own values give another change: file copy 256B +8.7 %." in part


def test_throughput_is_worse_where_it_falls() -> None:
    row = Row("x", better="higher", baseline=100, values={"a": 90, "b": 110}, unit="1/s")
    assert row.overhead("a") == pytest.approx(0.1)
    assert row.overhead("b") == pytest.approx(-0.1)
    assert row.overhead("c") is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("title =", "titel ="), "unknown key 'titel'; did you mean title?"),
        (('kernel = "Linux 2.6"\n', ""), "kernel: missing"),
        (("values = { x = 12 }", "values = { y = 12 }"), "'y' is no setup of the file"),
        (("values = { x = 12 }", 'values = { x = "12" }'), "rows.0.values"),
        (("values = { x = 12 }", "values = { x = nan }"), "rows.0.values"),
        (('unit = "us"\n', ""), "values without a unit"),
        (("printed_percent = { x = 7.5 }", ""), "neither values nor printed_percent"),
        (('["file: open depth=1"]', '["open depth=1"]'), "is not SUITE: BENCHMARK"),
        (('baseline = "nothing"\n', ""), "a baseline, and the file does not name one"),
        (("[[rows]]", "[[rows"), "not valid TOML"),
        (("12", "1e400"), "rows.0.values"),
        (('"mine"', '"\\u001b[2J"'), ""),
    ],
)
def test_a_file_that_is_off_is_refused_in_one_line(
    tmp_path: Path, change: tuple[str, str], says: str
) -> None:
    assert change[0] in OWN
    if not says:  # what it says reaches no terminal as it is
        made = replace(report(), beside=(own(tmp_path, OWN.replace(*change)),))
        assert "\x1b" not in render(made, "table")
        return
    with pytest.raises(UsageError) as caught:
        own(tmp_path, OWN.replace(*change, 1))
    assert says in caught.value.title
    assert "\n" not in caught.value.title
    assert caught.value.hint


@pytest.mark.parametrize(("word", "says"), [("lomac", "unknown study"), ("./none.toml", "no such")])
def test_what_is_not_there_is_said(word: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        find_published(word)
