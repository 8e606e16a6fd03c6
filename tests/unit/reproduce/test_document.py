# SPDX-License-Identifier: GPL-2.0-or-later
"""The document of a study, of a stored run: verdicts, tables beside ours, plots, and links."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from lsmeter.catalogue.studies.study import Study, find_study
from lsmeter.core.errors import UsageError
from lsmeter.measure.results.directory import read_run
from lsmeter.questions.reproduce import document as documents
from lsmeter.questions.reproduce import plots
from lsmeter.questions.reproduce.checks import check_rules, check_shown
from lsmeter.questions.reproduce.compared import (
    Agreement,
    compare_bound,
    compare_overheads,
    compare_table,
)
from lsmeter.questions.reproduce.data import CLAIM
from lsmeter.questions.reproduce.figures import Reproduced, by_kind, by_study, reproduced
from lsmeter.questions.reproduce.judge import Verdict, conclude, judge, known_facts
from lsmeter.questions.reproduce.parts import Part, Where
from lsmeter.questions.reproduce.plots import specify
from lsmeter.questions.reproduce.quantities import PERCENT, Finding, Quantity
from lsmeter.tables import render
from lsmeter.tables.model import Detail, Document
from lsmeter.tables.render import Options

RUN = Path(__file__).parents[3] / "examples" / "main.lsmeter"
STUDY = """
title = "A study <of mine>"
source = "Nobody: on nothing, 2026"
tables = ["mine"]
missing = ["the other half"]
[lists]
calls = ["file/open depth=1", "file/stat depth=1"]
modules = ["selinux", "tomoyo"]

[[compared]]
id = "table-1"
title = "Overheads (Table 1)"
place = "Table 1, page 4"
printed = "mine"
part = "calls"
setups = ["x"]
names = { x = "selinux" }
ours = "ov(setup, 'capability', benchmark)"
several = "total([ov(setup, 'capability', b) for b in benchmarks])"
comparable = "sign and size"

[[compared]]
id = "table-2"
title = "Counts (Table 2)"
place = "Table 2"
printed = "counts.csv"
rows = ["call"]
setups = ["components", "fixed"]
part = "calls"
names = { components = "selinux", fixed = "capability" }
ours = "value(cost(setup, benchmark)) / value(cost(setup, benchmark)) * 5"
depth = 5
comparable = "counts"

[[plots]]
id = "figure-1"
title = "Bars (Fig. 1)"
part = "calls"
form = "bars"
x = ["calls"]
series = ["modules"]
value = "ov(series, 'capability', x)"
y_title = "overhead, %"

[[plots]]
id = "figure-2"
title = "Over depth (Fig. 2)"
part = "calls"
form = "points"
x = ["1", "2", "4", "8", "99"]
series = ["open", "stat"]
value = "cost('selinux', 'file/' + series + ' depth=' + x)"
y_title = "instructions"
"""
TABLE = """
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
values = { x = 14 }
sd = { x = 0.5 }
n = 30
note = "a remark"
[[rows]]
name = "stat"
benchmarks = ["file: stat depth=1"]
printed_percent = { x = -3 }
[[rows]]
name = "both"
table = "sums"
benchmarks = ["file: open depth=1", "file: stat depth=1"]
printed_percent = { x = 400 }
[[rows]]
name = "elsewhere"
printed_percent = { x = 7 }
"""
COUNTS = """# where it is from
call,benchmark,components,fixed
open,file/open depth=5,d,5
stat,file/stat depth=5,2d,
gone,file/gone,1,1
"""
PART = """
title = "Calls"
kernels = ["debian:6.1"]
setups = ["capability", "selinux", "tomoyo", "smack"]
"""
HEAD = 'place = "page 1"\nkind = "direction"\nprinted = "+9 %"\nclaim = "It is so."\n'
CLAIMS = f"""
[[claims]]
id = "dearer"
{HEAD}
part = "calls"
rule = "all(ov('selinux', 'capability', b) > 1 for b in calls)"
against = ["cheaper"]
[[claims]]
id = "cheaper"
{HEAD}
part = "calls"
rule = "ov('selinux', 'capability', 'file/open depth=1') < 1"
read_off = true
[[claims]]
id = "gone"
{HEAD}
part = "calls"
rule = "ov('smack', 'capability', 'file/open depth=1') > 0"
[[claims]]
id = "lost"
{HEAD}
part = "broken"
rule = "ov('selinux', 'capability', 'file/open depth=1') > 0"
[[claims]]
id = "seconds"
{HEAD}
cannot = "seconds needed"
[[claims]]
id = "other"
{HEAD}
incomparable = "rows tell something else"
"""
FILES = {"study.toml": STUDY, "mine.toml": TABLE, "counts.csv": COUNTS, "claims.toml": CLAIMS}


def write(home: Path) -> Path:
    for name, text in (FILES | {"calls.toml": PART, "broken.toml": PART}).items():
        (home / name).write_text(text)
    return home


@cache
def _part() -> Part:
    return Part("calls", read_run(RUN))


def _found(home: Path) -> Reproduced:
    study: Study = find_study(f"{write(home)}/")
    parts, failed = {"calls": _part()}, {"broken": "no such kernel"}
    known = known_facts(study, parts)
    judged = judge(study, check_rules(study), known, failed)
    found = Reproduced(study, parts, failed, judged, quick=True)
    return reproduced(found, known, check_shown(study), whole=True)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Reproduced:
    return _found(tmp_path_factory.mktemp("study") / ".")


@pytest.fixture(scope="module")
def page(found: Reproduced) -> str:
    return _render([found], "html")


@pytest.fixture(scope="module")
def text(found: Reproduced) -> str:
    return _render([found], "markdown")


def _render(found: list[Reproduced], form: str) -> str:
    def make(detail: Detail) -> Document:
        return documents.document(found, "lsmeter reproduce ./mine/", detail)

    kind = render.find_format(form)
    return str(kind.render(make(kind.detail), Options()))


def test_verdicts_and_what_decided(found: Reproduced) -> None:
    assert {item.claim.id: item.verdict for item in found.judged} == {
        "dearer": Verdict.HOLDS,
        "cheaper": Verdict.FAILS,
        "gone": Verdict.OPEN,
        "lost": Verdict.OPEN,
        "seconds": Verdict.OPEN,
        "other": Verdict.INCOMPARABLE,
    }


def test_printed_values_stand_beside_ours(found: Reproduced) -> None:
    overheads, counts = found.beside
    by_row = {pair.printed.row: pair for pair in overheads.pairs}
    opened = by_row["open"]
    assert opened.printed.text == "+40 % (sd 0.5 us n 30)"
    ours = opened.ours[0].number
    assert ours is not None
    assert (ours.unit, 0 < ours.low <= ours.value <= ours.high) == ("%", True)
    assert by_row["stat"].agreement is Agreement.OTHER
    assert by_row["both"].agreement is Agreement.SIGN
    assert by_row["elsewhere"].ours[0].why == "no row here"
    found_counts = {(pair.printed.row, pair.printed.setup): pair for pair in counts.pairs}
    assert found_counts["open", "components"].agreement is Agreement.EQUAL
    assert found_counts["stat", "components"].printed.number == 10
    assert found_counts["stat", "components"].agreement is Agreement.DIFFERENT
    assert ("stat", "fixed") not in found_counts
    assert "not measured" in found_counts["gone", "fixed"].ours[0].why


def test_a_row_can_have_an_expression_of_its_own(tmp_path: Path) -> None:
    own = 'own.stat = "5 + 5"\ncomparable = "counts"'
    (write(tmp_path) / "study.toml").write_text(STUDY.replace('comparable = "counts"', own))
    study = find_study(f"{tmp_path}/")
    known = known_facts(study, {"calls": _part()})
    table = compare_table(study, study.compared[1], check_shown(study), known)
    (stat,) = (pair for pair in table.pairs if pair.printed.row == "stat")
    assert (stat.printed.number, stat.agreement) == (10, Agreement.EQUAL)


@pytest.mark.parametrize(
    ("ours", "printed", "agreement"),
    [
        (5, 6, Agreement.BELOW),
        (6, 6, Agreement.BELOW),
        (7, 6, Agreement.ABOVE),
        (1, 0, Agreement.NONE),
        (0, 0, Agreement.BELOW),
    ],
)
def test_a_printed_bound_is_kept_or_not(ours: float, printed: float, agreement: Agreement) -> None:
    assert compare_bound(Quantity(ours, ours, ours), printed) is agreement


def test_plots_name_no_suite_that_all_have(found: Reproduced) -> None:
    specification = specify(found.plotted[0])
    assert specification
    xs = {row["x"] for row in specification["data"]["values"]}
    assert xs == {"open depth=1", "stat depth=1"}


def test_a_plot_says_of_how_many_points_the_interval_is_not_known(found: Reproduced) -> None:
    plotted = found.plotted[0]
    assert "not known" not in plots.figure(plotted).caption
    unknown = replace(plotted.points[0], low=-math.inf, high=math.inf)
    fewer = replace(plotted, points=(unknown, *plotted.points[1:]))
    said = "Thin lines: 95 % intervals. Of 1 without one the interval is not known: one boot."
    assert said in plots.figure(fewer).caption
    specification = specify(fewer)
    assert specification
    row = specification["data"]["values"][0]
    assert row["low"] == row["y"] == row["high"]


def test_plots_have_a_point_for_each_row_and_say_what_lacks(found: Reproduced) -> None:
    bars, points = found.plotted
    assert [(point.series, point.x) for point in bars.points] == [
        (setup, f"file/{call} depth=1")
        for setup in ("selinux", "tomoyo")
        for call in ("open", "stat")
    ]
    assert len(points.points) == 8
    assert [text.partition(":")[0] for text in points.lacking] == ["open 99", "stat 99"]


def test_one_click_leads_from_a_claim_to_its_rows_and_from_rows_to_boots(
    found: Reproduced, page: str
) -> None:
    anchors, links = re.findall(r' id="([^"]+)"', page), re.findall(r'href="#([^"]+)"', page)
    assert len(anchors) == len({*anchors})
    assert {*links} <= {*anchors}
    name = found.study.name
    rows = page[page.index(f'id="{name}-rows-dearer"') :]
    assert f'href="#{name}-rows-dearer"' in page[: page.index(f'id="{name}-rows"')]
    (boots,) = set(re.findall(rf'href="#({name}-boots-calls-[0-9a-f]+)"', rows[:2000])[:1])
    assert f'id="{boots}"' in page
    assert page.count("<svg") >= 2
    assert "A study &lt;of mine&gt;" in page
    assert "<script" not in page


def test_markdown_has_the_same_links(text: str) -> None:
    named = re.findall(r'<a name="([a-z0-9.-]+)"></a>', text)
    links = [link for link in re.findall(r"\]\(#([a-z0-9.-]+)\)", text) if "-claims" not in link]
    assert {*links} <= {*named}
    assert "| +40 % (sd 0.5 us n 30) |" in text


def test_a_document_says_what_failed_with_command_versions_and_digests(
    found: Reproduced, page: str, text: str
) -> None:
    for shown in (page, text, _render([found], "table")):
        words = " ".join(shown.split())
        assert "lsmeter reproduce ./mine/" in words
        assert "broken: no run: no such kernel" in words
        assert "cheaper does not hold today (printed" in words
    assert _part().run.manifest.kernels[0].image_sha256 in page
    assert _part().run.manifest.lsmeter_version in page


def test_a_part_of_which_boots_are_missing_is_named(found: Reproduced) -> None:
    assert not found.incomplete
    run = _part().run
    part = Part("calls", replace(run, boots=run.boots[1:]))
    said = f"{len(run.boots) - 1} of {len(run.boots)} boots ended well"
    fewer = replace(found, parts={"calls": part})
    assert fewer.incomplete == {"calls": said}
    text = " ".join(_render([fewer], "table").split())
    assert f"/main.lsmeter; {said}" in text
    assert "1 part incomplete." in text


def test_several_studies_have_one_picture_of_verdicts(found: Reproduced) -> None:
    drawn = re.findall(r"Claims by verdict", _render([found, found], "html"))
    assert drawn
    assert "Claims by verdict" not in _render([found], "html")


def test_several_studies_make_one_document_of_counts(found: Reproduced) -> None:
    both = [found, found]
    assert [(row.name, row.claims, row.judged) for row in by_study(both)][-1] == ("all", 12, 4)
    kinds = {row.name: row for row in by_kind(both)}
    assert kinds["said in words"].share == 1.0
    assert kinds["read off the numbers"].by_verdict[Verdict.FAILS] == 2
    text = _render(both, "table")
    said = "12 claims of 2 studies: 2 hold, 2 do not hold today, 6 cannot be told"
    assert said in " ".join(text.split())


@pytest.mark.parametrize(
    ("low", "value", "high", "printed", "agreement"),
    [
        (9, 10, 11, 12, Agreement.SIZE),
        (-1, 10, 21, 12, Agreement.OPEN),
        (9, 10, 11, 16, Agreement.SIGN),
        (9, 10, 11, -10, Agreement.OTHER),
        (-11, -10, -9, -14, Agreement.SIZE),
        (9, 10, 11, 0, Agreement.OPEN),
    ],
)
def test_an_interval_over_0_agrees_with_no_printed_overhead(
    low: float, value: float, high: float, printed: float, agreement: Agreement
) -> None:
    assert compare_overheads(Quantity(value, low, high, PERCENT), printed) is agreement


def test_programs_get_tables_and_verdicts(found: Reproduced) -> None:
    entry = json.loads(_render([found], "json"))["studies"][0]
    table = next(item for item in entry["tables"] if item["id"] == "table-1")
    row = table["rows"][0]
    assert (row["row"], row["number"], row["agreement"]) == (
        "open",
        pytest.approx(40),
        "sign and size",
    )
    assert row["ours"][0]["unit"] == "%"


def test_programs_get_the_place_that_decided() -> None:
    study = find_study("uva03")
    known, refuted = (
        Finding(None, "perhaps", why="not told"),
        Finding(holds=False, text="it is not"),
    )
    places = {Where("6.1", "tmpfs", "root"): known, Where("7.2", "tmpfs", "root"): refuted}
    found = conclude(study.claims[0], places)
    decided = CLAIM.entry(found)["decided"]
    assert (found.verdict, decided["kernel"], decided["measured"]) == (
        Verdict.FAILS,
        "7.2",
        "it is not",
    )
    assert CLAIM.entry(conclude(study.claims[0], {}))["decided"] is None


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (
            "study.toml",
            'printed = "mine"',
            'printed = "yours"',
            ".printed: 'yours'",
        ),
        ("study.toml", 'printed = "counts.csv"', 'printed = "no.csv"', "no.csv: no such file"),
        ("study.toml", '"counts.csv"', '"../counts.csv"', "compared.table-2.printed"),
        ("study.toml", 'rows = ["call"]', 'rows = ["cell"]', "has the columns call, benchmark"),
        ("study.toml", 'setups = ["x"]', 'setups = ["y"]', "no printed value"),
        ("study.toml", "depth = 5", 'own.no = "1 + 1"\ndepth = 5', "own: no printed row 'no'"),
        ("study.toml", 'form = "bars"', 'form = "pie"', "plots.0.form"),
        ("study.toml", 'part = "calls"\nform', 'part = "no"\nform', "figure-1.part: no part"),
        ("study.toml", "ov(series,", "of(series,", "plots.figure-1.value: unknown function 'of'"),
        ("study.toml", '["modules"]', '["y"]', "plots.figure-1.value: ov(): no part measures"),
        ("study.toml", 'id = "figure-2"', 'id = "figure-1"', "figure-1: it is there twice"),
        ("study.toml", "/ value(cost(setup, benchmark))", "> 1", "table-2.ours"),
        ("mine.toml", "n = 30", "n = 0", "rows.0.n"),
        (
            "mine.toml",
            'unit = "us"',
            'unit = ""',
            "rows.1 (open): values without a unit",
        ),
        ("counts.csv", "d,5", "d,5,6", "more columns than heads"),
    ],
)
def test_what_is_wrong_is_one_line_with_file_and_key(
    tmp_path: Path, file: str, old: str, new: str, said: str
) -> None:
    path = write(tmp_path) / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(UsageError) as error:
        check_shown(find_study(f"{tmp_path}/"))
    assert said in error.value.title
    assert "\n" not in error.value.title
    assert str(tmp_path / "study.toml") in error.value.title
