# SPDX-License-Identifier: GPL-2.0-or-later
"""What every format must do: whole output against golden files, and awkward reports.

`python -m tests.unit.report.test_formats` writes golden files and schema anew; read the difference.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import statistics
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from rich.cells import cell_len

import lsmeter.questions.cost.schema
from lsmeter.core.errors import UsageError
from lsmeter.core.model import Problem
from lsmeter.core.model.conclusion import Comparison, Verdict
from lsmeter.questions.cost import data, findings, grids, summary
from lsmeter.questions.cost.document import report_document
from lsmeter.questions.cost.model import Report
from lsmeter.tables import numbers
from lsmeter.tables.model import Detail, Section, Shown
from lsmeter.tables.render import Options, find_format, formats
from lsmeter.tables.values import percent, raw
from tests.unit.model_builders import TEXT_FORMATS
from tests.unit.report import builders, policy_builders
from tests.unit.report.builders import render

GOLDEN = Path(__file__).parents[2] / "data" / "report"
STORED = Path(lsmeter.questions.cost.schema.__file__).parent / "report-1.json"
SCHEMA = json.loads(STORED.read_text("utf-8"))
NAMES = list(TEXT_FORMATS)
GOLDEN_SHAPES = ("main", "one-setup", "side-by-side", "verdicts", "policy")
TEXTS = [name for name in NAMES if name != "html"]
HUNG = Problem(
    "boot 2 hung",
    "debian:6.1",
    "smack",
    "open depth=4",
    "no output for 20 s",
    ("[    1.0] Run /init as init process", "[    1.1] random: crng init done"),
)
LONG = "landlock:layers=16,rules=4096,depth=12+bpf+tomoyo"


def _with(report: Report, **changes: object) -> Report:
    return Report(**{**vars(report), **changes})


def all_verdicts() -> Report:
    names = ("open", "stat", "chmod", "rename")
    found = tuple(
        builders.comparison(builders.benchmark(name, depth=1), "bpf", value, 100, verdict=verdict)
        for name, value, verdict in zip(names, (120, 80, 100, 104), Verdict, strict=True)
    )
    return _with(builders.report(setups=("capability", "bpf"), benchmarks=()), comparisons=found)


def zero_baseline() -> Report:
    item = builders.benchmark("read", size=0)
    report = builders.report(setups=("capability", "bpf"), benchmarks=[item])
    endless = _infinite(builders.comparison(item, "bpf", 5, 0))
    return _with(report, comparisons=(endless,))


def _infinite(item: Comparison) -> Comparison:
    typical = replace(item.typical, overhead=math.inf, overhead_low=-math.inf)
    return replace(item, typical=typical)


def unicode_names() -> Report:
    item = builders.benchmark("open", path="日本語/Ünïcödé/🙂")
    names = ("capability", "模块|安全", "naïve_*x*")
    return builders.report(setups=names, benchmarks=[item], changes={"title": "Zażółć 安全"})


REPORTS = {
    "main": lambda: builders.report(problems=[HUNG]),
    "one-setup": lambda: builders.report(setups=("capability", "selinux")),
    "two-kernels": lambda: builders.report(kernels=builders.KERNELS),
    "side-by-side": builders.side_by_side,
    "baseline-only": lambda: builders.report(setups=("capability",)),
    "empty": lambda: builders.report(setups=(), kernels=(), problems=[HUNG]),
    "nothing": lambda: builders.report(setups=(), kernels=()),
    "verdicts": all_verdicts,
    "policy": policy_builders.report,
    "zero-baseline": zero_baseline,
    "unicode": unicode_names,
    "long-names": lambda: builders.report(
        setups=("capability", LONG, LONG + "+ima"),
        benchmarks=[builders.benchmark("open", path="a/" * 60), builders.benchmark("o" * 90)],
    ),
    "many-setups": lambda: builders.report(
        setups=("capability", *(f"landlock:layers={n}" for n in range(1, 17)))
    ),
}


@pytest.mark.parametrize("shape", GOLDEN_SHAPES)
@pytest.mark.parametrize("name", ["table", "markdown", "text", "csv"])
def test_output_is_that_of_the_golden_file(name: str, shape: str) -> None:
    wanted = (GOLDEN / f"{shape}.{name}").read_text("utf-8")
    assert render(REPORTS[shape](), name) == wanted


@pytest.mark.parametrize("shape", GOLDEN_SHAPES)
def test_everything_is_that_of_the_golden_file(shape: str) -> None:
    wanted = (GOLDEN / f"{shape}.all").read_text("utf-8")
    assert render(REPORTS[shape](), "table", everything=True) == wanted


@pytest.mark.parametrize("shape", REPORTS)
@pytest.mark.parametrize("name", NAMES)
def test_any_report_renders_and_keeps_its_problems(name: str, shape: str) -> None:
    report = REPORTS[shape]()
    text = render(report, name)
    assert text.endswith("\n")
    text.encode("utf-8")
    if name != "csv":
        assert "NaN" not in text
        for problem in report.problems:
            # A terminal and a commit message may break them over lines.
            assert problem.title in " ".join(text.split())
            assert problem.detail in " ".join(text.split())


@pytest.mark.parametrize("shape", [name for name in REPORTS if name != "long-names"])
@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("width", [80, 120])
def test_a_table_never_exceeds_its_width_and_no_cell_is_cut(
    shape: str, width: int, *, everything: bool
) -> None:
    text = render(REPORTS[shape](), "table", Options(width=width), everything=everything)
    for short in re.findall("\\S*\N{HORIZONTAL ELLIPSIS}\\S*", text):
        assert re.search(f"^{re.escape(short)} = ", text, re.MULTILINE)
    assert max(cell_len(line) for line in text.splitlines()) <= width
    assert "\x1b" not in text


@pytest.mark.parametrize(("everything", "tables"), [(False, 1), (True, 2)])
def test_seven_setups_fit_one_table_of_80_columns(*, everything: bool, tables: int) -> None:
    text = render(REPORTS["main"](), "table", everything=everything)
    text = text.partition("Whole cost and")[0]
    assert sum(line.startswith("─") for line in text.splitlines()) == tables


def test_the_main_experiment_is_well_under_70_lines() -> None:
    lines = render(builders.report(), "table").splitlines()
    assert len(lines) < 75
    operations = {row.operation for row in grids.grids(builders.report())[0].groups}
    first = [line.split()[0].rstrip("≠") for line in lines if line.strip()]
    assert operations - {"empty", "getppid"} <= set(first)
    assert not any(re.match(r"  depth=\d+ +[\d,]", line) for line in lines)
    assert any(
        re.match(r"  depth=\d+ +[\d,]", line)
        for line in render(builders.report(), "table", everything=True).splitlines()
    )


@pytest.mark.parametrize("shape", ["main", "one-setup", "side-by-side", "policy"])
def test_each_operation_has_its_median_and_names_the_largest_deviation(shape: str) -> None:
    report = REPORTS[shape]()
    for grid, section in zip(grids.grids(report), _grid_sections(report), strict=True):
        if grid.before_and_after:
            continue  # see test_a_setup_against_itself_has_old_new_and_difference
        rows = {raw(row[0]): row for row in section.tables[0].rows}
        for group in grid.groups:
            found = [group.comparisons(index) for index in range(len(grid.columns))]
            if all(item.benchmark.control for part in found for item in part):
                assert group.operation not in rows
                continue
            row = rows[group.operation]
            medians = [
                statistics.median(c.overhead for c in part if c.verdict is findings.leading(part))
                for part in found
            ]
            assert [raw(cell) for cell in row[1:-1]] == medians
            most = max((c for part in found for c in part), key=lambda c: abs(c.overhead))
            if most.overhead:
                assert numbers.variant(most.benchmark) in str(row[-1])
                assert percent(most.overhead) in str(row[-1])


def _grid_sections(report: Report) -> list[Section]:
    shown = report_document(report, Detail.SHORT)
    return [section for section in shown.sections if section.key.startswith("grid")]


def test_long_names_are_explained_by_keys_and_not_lost() -> None:
    text = render(REPORTS["long-names"](), "table", everything=True)
    # The terminal may break a name in its key; no column of the table does.
    joined = text.replace("\n  ", "").replace("\n", "")
    assert LONG + "+ima" in joined
    assert "path=" + "a/" * 60 in joined
    rows = [line for line in text.splitlines() if "▲" in line and ";" not in line]
    assert rows
    assert all(cell_len(line) <= 80 for line in rows)


def test_many_setups_are_split_over_tables_that_repeat_the_baseline() -> None:
    text = render(REPORTS["many-setups"](), "table", everything=True)
    lines = text.partition("Every benchmark")[2].partition("Whole cost and")[0].splitlines()
    heads = [lines[place - 1] for place, line in enumerate(lines) if line.startswith("─")]
    assert len(heads) > 1
    assert all(head.split()[:2] == ["benchmark", "capability"] for head in heads)


def test_colour_is_an_addition_and_only_on_request() -> None:
    report = REPORTS["verdicts"]()
    plain = render(report, "table")
    coloured = render(report, "table", Options(colour=True))
    assert "\x1b[31m" in coloured
    assert "\x1b" not in plain
    for mark in numbers.VERDICT_MARKS.values():
        assert mark in plain


@pytest.mark.parametrize("shape", REPORTS)
def test_text_has_at_most_72_columns(shape: str) -> None:
    text = render(REPORTS[shape](), "text")
    assert max(cell_len(line) for line in text.splitlines()) <= 72
    assert not any(line.startswith("#") for line in text.splitlines())


def test_text_and_summary_have_the_same_medians() -> None:
    report = REPORTS["main"]()
    (grid,) = grids.grids(report)
    lines = render(report, "text").splitlines()
    (median,) = [line for line in lines if line.startswith("typical ")]
    found = (summary.summarise(report, grid, index) for index in range(len(grid.columns)))
    for cell, item in zip(median.split()[1:], found, strict=True):
        assert f": median {cell} % over capability" in item.first


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("shape", REPORTS)
def test_each_sign_that_occurs_is_explained_and_no_other(shape: str, *, everything: bool) -> None:
    signs = (*numbers.VERDICT_MARKS.values(), numbers.APART_MARK, numbers.UNREPEATED_MARK)
    detail = Detail.TERMINAL if everything else Detail.SHORT
    for section in report_document(REPORTS[shape](), detail).sections:
        tables = section.tables if section.key.startswith("grid") else ()
        for key in {table.key for table in tables}:
            alike = [table for table in tables if table.key == key]
            (lead,) = (text for table in alike for text in table.lead)
            rows = [row for table in alike for row in table.rows]
            cells = [cell.text for row in rows for cell in row[1:] if isinstance(cell, Shown)]
            labels = [cell.text[-1:] for row in rows for cell in row[:1] if isinstance(cell, Shown)]
            for sign in signs:
                assert (f"{sign} " in lead) == (sign in "".join((*cells, *labels)))


def test_a_setup_against_itself_has_old_new_and_difference() -> None:
    report = REPORTS["side-by-side"]()
    ((grid,), (section,)) = grids.grids(report), _grid_sections(report)
    assert [table.title for table in section.tables] == [column.setup for column in grid.columns]
    for index, table in enumerate(section.tables):
        heads = [column.head for column in table.columns]
        assert heads == [
            "operation",
            "old",
            "new",
            "difference",
            "%",
            "verdict",
            "largest deviation",
        ]
        rows = {raw(row[0]): row for row in table.rows}
        for group in grid.groups:
            found = group.comparisons(index)
            if all(item.benchmark.control for item in found):
                assert group.operation not in rows
                continue
            mine = [item.decided for item in found if item.verdict is findings.leading(found)]
            _, old, new, difference, share, ruling, _ = map(raw, rows[group.operation])
            assert ruling == findings.operation(found).verdict
            assert old == pytest.approx(statistics.median(x.baseline_value for x in mine), abs=0.5)
            assert new == pytest.approx(statistics.median(x.value for x in mine), abs=0.5)
            assert share == statistics.median(item.overhead for item in mine)
            assert difference == float(new or 0) - float(old or 0)


@pytest.mark.parametrize("shape", REPORTS)
def test_the_answer_is_on_the_screen_when_the_command_has_ended(shape: str) -> None:
    """`run` says after it where the results and the page are; the prompt takes the last line."""
    text = render(REPORTS[shape](), "table")
    screen = "".join("".join(text.splitlines()[-21:]).split())
    answer = [
        "".join(said.split()) for said in report_document(REPORTS[shape](), Detail.SHORT).answer
    ]
    assert answer
    assert all(sentence in screen for sentence in answer)
    assert "".join(text.split()).startswith("".join(answer))


def test_text_does_not_call_an_open_verdict_unchanged() -> None:
    text = " ".join(render(REPORTS["verdicts"](), "text").split())
    assert f"bpf: 1 comparison inconclusive: rename ({builders.CAUSE})" in text
    assert "rename +4.0?" in text
    assert "chmod 0.0=" in text


def test_text_says_what_a_reader_must_know() -> None:
    text = " ".join(render(REPORTS["one-setup"](), "text").split())
    for fact in (
        "lsmeter 0.1.0",
        "6.1.0-49-cloud-amd64",
        "Baseline: capability; margin ±1.0 %",
        "instructions, not time, per operation, exact instrument; mitigations off",
        "100 samples each from 2 boots",
        "SELinux without a policy: median +17.5 % over capability (whole cost +15.3 %), copy",
        "(instructions a call).",
    ):
        assert fact in text


@pytest.mark.parametrize("name", NAMES)
def test_unit_instrument_mitigations_and_that_it_is_no_time_are_in_every_format(name: str) -> None:
    text = " ".join(render(REPORTS["one-setup"](), name).split())
    assert "nstructions, not time, per operation, exact instrument; mitigations off" in text


@pytest.mark.parametrize("name", ["table", "markdown", "text", "html"])
def test_sign_and_what_is_measured_are_said_to_people(name: str) -> None:
    text = " ".join(render(REPORTS["one-setup"](), name).split())
    assert "A positive overhead is always worse than the baseline." in text
    assert "hooking only" in text


def test_the_stored_schema_is_that_of_the_rows() -> None:
    assert data.schema() == SCHEMA


@pytest.mark.parametrize("shape", REPORTS)
def test_json_follows_its_schema(shape: str) -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    validator.check_schema(SCHEMA)
    document = json.loads(render(REPORTS[shape](), "json"), parse_constant=_refuse)
    validator.validate(document)


def _refuse(word: str) -> None:
    pytest.fail(f"{word} is no JSON")


def test_json_holds_every_number() -> None:
    report = REPORTS["one-setup"]()
    document = json.loads(render(report, "json"))
    assert len(document["comparisons"]) == len(report.comparisons)
    assert len(document["estimates"]) == len(report.estimates)
    entry = next(c for c in document["comparisons"] if c["id"] == "open depth=4")
    item = next(c for c in report.comparisons if c.benchmark.id == "open depth=4")
    assert entry["benchmark"] == "open"
    assert entry["params"] == {"depth": 4}
    assert entry["overhead"] == item.overhead
    assert (entry["verdict"], entry["metric"], entry["unit"]) == ("slower", "latency", "insns")


def test_json_has_null_where_there_is_no_number() -> None:
    (entry,) = json.loads(render(REPORTS["zero-baseline"](), "json"))["comparisons"]
    assert entry["overhead"] is None
    assert entry["overhead_low"] is None
    assert entry["baseline_value"] == 0


def test_csv_has_a_row_for_every_comparison_and_baseline() -> None:
    report = REPORTS["two-kernels"]()
    rows = list(csv.DictReader(io.StringIO(render(report, "csv"))))
    assert tuple(rows[0]) == tuple(
        next(csv.reader(io.StringIO((GOLDEN / "main.csv").read_text("utf-8"))))
    )
    kinds = [row["record"] for row in rows]
    assert kinds.count("comparison") == len(report.comparisons)
    assert kinds.count("estimate") == len(report.estimates) - len(report.comparisons)
    assert all(row["samples"] == "100" for row in rows)


def test_csv_quotes_what_would_break_a_row() -> None:
    item = builders.benchmark("open", path='a,"b"')
    report = builders.report(setups=("capability", "bpf"), benchmarks=[item])
    rows = list(csv.DictReader(io.StringIO(render(report, "csv"))))
    assert {row["params"] for row in rows} == {'path=a,"b"'}


def test_markdown_shows_awkward_names_as_they_are() -> None:
    text = render(REPORTS["unicode"](), "markdown")
    assert "模块\\|安全" in text
    assert "naïve\\_\\*x\\*" in text
    table = text.partition("## How it was")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    assert {line.replace("\\|", "").count("|") for line in rows} <= {5, 6}


@pytest.mark.parametrize("name", ["table", "markdown", "html"])
def test_one_setup_before_and_after_has_columns_that_can_be_told_apart(name: str) -> None:
    text = render(builders.side_by_side(("selinux",)), name, everything=name == "table")
    assert "selinux before" in text or "[1] = selinux before" in text
    assert "each setup as it was before" in " ".join(text.split())


def test_an_unknown_format_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="unknown format 'jsno'; did you mean json") as info:
        render(REPORTS["nothing"](), "jsno")
    assert all(name in info.value.hint for name in NAMES)


def test_each_format_is_found_by_its_name() -> None:
    assert [find_format(name).name for name in NAMES] == NAMES
    assert all(item.suffix.startswith(".") and item.title for item in formats())


@pytest.mark.parametrize("name", TEXTS)
def test_text_of_a_guest_cannot_act_on_a_terminal(name: str) -> None:
    nasty = Problem("\x1b]0;owned\x07", detail="\x9b31m\u202e", log_tail=("\x1b[2J",))
    text = render(builders.report(setups=(), kernels=(), problems=[nasty]), name)
    assert not any(char in text for char in "\x1b\x07\x9b\u202e")


def main() -> None:
    """Write the golden files anew."""
    GOLDEN.mkdir(parents=True, exist_ok=True)
    STORED.write_text(json.dumps(data.schema(), indent=1) + "\n", "utf-8")
    for shape in GOLDEN_SHAPES:
        for name in ("table", "markdown", "text", "csv"):
            (GOLDEN / f"{shape}.{name}").write_text(render(REPORTS[shape](), name), "utf-8")
        everything = render(REPORTS[shape](), "table", everything=True)
        (GOLDEN / f"{shape}.all").write_text(everything, "utf-8")


if __name__ == "__main__":
    main()
