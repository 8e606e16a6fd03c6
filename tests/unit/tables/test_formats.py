# SPDX-License-Identifier: GPL-2.0-or-later
"""Every format of a document: what people see, what programs get, and what cannot act."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from lsmeter.tables import lines
from lsmeter.tables.model import (
    Card,
    Column,
    Document,
    Figure,
    Item,
    Kind,
    Section,
    Shown,
    Table,
    Tone,
)
from lsmeter.tables.render import Options, formats, render
from tests.unit.report.test_html import ATTACK, assert_needs_nothing, attacked

COSTS = Table(
    "costs",
    "Costs",
    (
        Column("setup", "setup", Kind.NAME),
        Column("title", "title", Kind.PROSE),
        Column("cost_insns", "instructions"),
        Column("overhead_fraction", "overhead", Kind.PERCENT),
    ),
    (
        ("open",),
        (Shown("open depth=1", "  depth=1"), "SELinux without a policy " * 5, 1234, 0.5),
        (Shown("open depth=2", "  depth=2"), None, 12.5, Shown(-0.1, "-10.0 %", Tone.BETTER, "9")),
    ),
    lead=("In instructions.",),
    more=("3 more.",),
)
DOCUMENT = Document(
    "lsmeter-costs",
    1,
    "Costs of all",
    (("Unit", "insns"),),
    ("How to read it.",),
    (
        Section(
            "Words", items=(Item("One sentence.", ("a log",)), Item("Beware.", (), Tone.WARNING))
        ),
        Section("Numbers", ("A rule.",), (COSTS,), cards=(Card("all", (("median", "+1.0 %"),)),)),
    ),
    ("a note",),
)


def test_people_see_every_text_in_every_format() -> None:
    for form in ("table", "text", "markdown", "html"):
        text = " ".join(render(DOCUMENT, form).replace("\N{NO-BREAK SPACE}", " ").split())
        for word in ("Costs of all", "How to read it.", "One sentence.", "a log", "A rule."):
            assert word in text, form
        for word in ("depth=1", "1,234", "12.5", "+50.0 %", "-10.0 %", "3 more.", "a note"):
            assert word in text, form


def test_programs_get_values_with_the_keys_of_columns() -> None:
    found = json.loads(render(DOCUMENT, "json"))
    assert (found["format"], found["version"], found["unit"]) == ("lsmeter-costs", 1, "insns")
    first, second = found["tables"]["costs"]
    assert (first["group"], first["setup"], first["cost_insns"]) == ("open", "open depth=1", 1234)
    assert (second["title"], second["overhead_fraction"]) == (None, -0.1)
    (row, _) = csv.DictReader(io.StringIO(render(DOCUMENT, "csv")))
    assert (row["setup"], row["overhead_fraction"]) == ("open depth=1", "0.5")


def test_several_tables_are_told_apart() -> None:
    twice = Document("n", 1, "t", sections=(Section("s", tables=(COSTS, COSTS)),))
    assert list(json.loads(render(twice, "json"))["tables"]) == ["costs", "costs:2"]
    rows = list(csv.DictReader(io.StringIO(render(twice, "csv"))))
    assert [row["table"] for row in rows] == ["costs"] * 4


def test_data_stands_for_the_tables_in_json() -> None:
    document = Document("n", 2, "t", sections=DOCUMENT.sections, data={"a": (1, float("nan"))})
    assert json.loads(render(document, "json")) == {"format": "n", "version": 2, "a": [1, None]}


def test_colour_is_an_addition() -> None:
    plain = render(DOCUMENT, "table")
    coloured = render(DOCUMENT, "table", Options(colour=True))
    assert "\x1b[32m-10.0 %\x1b[0m" in coloured
    assert "\x1b" not in plain


def test_figures_are_drawn_in_pages_only() -> None:
    figure = Figure("Plot", "What it shows.", lambda identity: f'<svg id="{identity}"></svg>')
    empty = Figure("Nothing", "No numbers.", lambda identity: "")  # noqa: ARG005
    document = Document("n", 1, "t", sections=(Section("s", figures=(figure, empty)),))
    page = render(document, "html")
    assert page.count("<svg") == 1
    assert "Nothing" not in page
    assert "Plot" not in render(document, "markdown")


@pytest.mark.parametrize("form", [item.name for item in formats()])
def test_text_of_a_guest_cannot_act(form: str) -> None:
    nasty = Document("n", 1, "\x1b]0;owned\x07", notes=("\x9b31m\u202e",))
    assert not any(char in render(nasty, form) for char in "\x1b\x07\x9b\u202e")


def test_markup_in_any_text_of_a_page_does_nothing() -> None:
    page = render(attacked(DOCUMENT), "html")
    assert "alert(1)" in page
    assert_needs_nothing(page)
    assert ATTACK not in page


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_asked(width: int) -> None:
    text = render(DOCUMENT, "table", Options(width=width))
    assert max(map(cell_len, text.splitlines())) <= width


def test_a_mail_has_72_columns_and_no_comment_of_git() -> None:
    text = render(Document("n", 1, "# " + "word " * 40, sections=DOCUMENT.sections), "text")
    assert max(map(cell_len, text.splitlines())) <= 72
    assert not any(line.startswith("#") for line in text.splitlines())
    assert render(DOCUMENT, "commit") == render(DOCUMENT, "text")


words = st.text(st.sampled_from("abc 模%+-"), min_size=1, max_size=30)


@given(
    st.integers(2, 9).flatmap(
        lambda size: st.lists(st.tuples(*[words] * size), min_size=1, max_size=4)
    ),
    st.integers(72, 120),
)
def test_tables_fit_and_lose_no_cell(rows: list[tuple[str, ...]], width: int) -> None:
    columns = tuple(Column("head", "head") for _ in rows[0])
    found = list(lines.table_lines(Table("t", "", columns, tuple(rows)), width, rule="-"))
    assert max(map(cell_len, found)) <= width
    text = "".join("".join(found).split())
    for row in rows:
        for cell in row:
            assert "".join(cell.split()) in text


def test_columns_that_belong_together_stay_together_and_the_first_are_repeated() -> None:
    pairs = [
        column
        for number in range(8)
        for column in (
            Column(f"b{number}", "before"),
            Column(f"a{number}", f"setup-{number}", joined=True),
        )
    ]
    columns = (Column("name", "name", Kind.NAME), Column("base", "base"), *pairs)
    table = Table("t", "", columns, (("x", 1, *range(1000, 1016)),), fixed=2)
    heads = [line for line in lines.table_lines(table, 60, rule="-") if "before" in line]
    assert len(heads) > 1
    assert all(head.split()[:2] == ["name", "base"] for head in heads)
    assert all(head.count("before") == head.count("setup-") for head in heads)
