# SPDX-License-Identifier: GPL-2.0-or-later
"""Every format of a document: what people see, what programs get, and what cannot act."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.cells import cell_len

from lsmeter.tables import lines
from lsmeter.tables.data import scrub_text
from lsmeter.tables.model import (
    Column,
    Document,
    Figure,
    Item,
    Kind,
    Section,
    Shown,
    Table,
    Tone,
    Value,
)
from lsmeter.tables.render import Options, render
from tests.unit.model_builders import TEXT_FORMATS
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
        Section("Numbers", ("A rule.",), (COSTS,)),
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


ANSWER = ("SELinux: median +15.1 % over capability.",)


def test_the_answer_is_the_first_line_and_the_last_of_what_fills_a_screen() -> None:
    document = replace(DOCUMENT, answer=ANSWER)
    short = render(replace(document, sections=()), "table").splitlines()
    assert (short[0], short.count(ANSWER[0])) == (ANSWER[0], 1)
    long = render(replace(document, lead=("word",) * 20), "table").splitlines()
    assert (long[0], long[-1], long.count(ANSWER[0])) == (*ANSWER, *ANSWER, 2)
    assert len(short) < 24 < len(long)


def test_the_answer_and_the_picture_come_before_all_else_on_a_page() -> None:
    figure = Figure("Plot", "What it shows.", lambda identity: f'<svg id="{identity}"></svg>')
    page = render(replace(DOCUMENT, answer=ANSWER, picture=figure), "html")
    assert page.index("SELinux: median") < page.index("<svg") < page.index("How to read it.")
    text = render(replace(DOCUMENT, answer=ANSWER), "markdown")
    assert text.splitlines()[2].startswith("- SELinux: median")


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


@pytest.mark.parametrize("form", TEXT_FORMATS)
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
        # A long label stands on several lines, between other cells: see below.
        for cell in row if cell_len(row[0]) < 20 else row[1:]:
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


def test_a_split_table_names_its_rows_whole_where_there_is_room() -> None:
    columns = (
        Column("benchmark", "benchmark", Kind.NAME),
        Column("setup", "setup", Kind.NAME),
        *(Column(f"c{number}", f"column-{number}") for number in range(8)),
    )
    rows = (("static-keep-alive concurrency=1", "selinux-enforcing", *range(8)),)
    table = Table("t", "", columns, rows, fixed=2)
    found = [*lines.table_lines(table, 80, rule="-")]
    assert len([line for line in found if "column-" in line]) > 1
    assert all("setup" in line for line in found if "column-" in line)


_HOSTILE = st.text(
    st.sampled_from("ab1 .:/@<>&\\`*_[]()|~#!$+-=\n\t\x1b\u202e{}\"'^;"), min_size=1, max_size=24
).filter(lambda text: bool(scrub_text(text).strip()))
_KNOWN = ("[x](http://e)", "www.e.com", "a@e.com", "1. a", "- a", "+", "===", "# a", "a|b", "<b>")


def _shown(token: Token) -> str:
    """Return the text of an inline token; anything but text is a failure."""
    texts = []
    for child in token.children or ():
        assert child.type in {"text", "text_special"}, child
        texts.append(child.content)
    return "".join(texts)


@given(_HOSTILE | st.sampled_from(_KNOWN), _HOSTILE)
def test_markdown_shows_any_text_as_it_is(one: str, other: str) -> None:
    table = Table("t", one, (Column("a", one), Column("b", other)), ((one, other),), lead=(other,))
    section = Section(one, lead=(other,), tables=(table,), items=(Item(other), Item(one)))
    document = Document("n", 1, one, ((other, one),), (one,), (section,), (other,))
    text = render(document, "markdown")
    # What GitHub makes links of by itself.
    assert not re.search(r"(?<!\\)(://|@)|www\.", text)
    found = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    kinds = {token.type.removesuffix("_open").removesuffix("_close") for token in found}
    assert kinds <= {
        *("heading", "inline", "paragraph", "bullet_list", "list_item"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    }
    a, b = (scrub_text(text).strip() for text in (one, other))
    shown = [_shown(token).strip() for token in found if token.type == "inline"]
    assert shown == [a, f"{b}: {a}", a, a, b, b, a, a, b, a, b, a, b, f"Note: {b}"]


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("-2+3+cmd|x", "'-2+3+cmd|x"),
        ("\t=1", "' =1"),
        ("- hooks", "'- hooks"),
        ("-12.5", "-12.5"),
        ("+13.2 %", "+13.2 %"),
        ("-", "-"),
        ("a=b", "a=b"),
        ("depth=4", "depth=4"),
    ],
)
def test_no_spreadsheet_calculates_what_a_guest_says(text: str, field: str) -> None:
    table = Table("t", "", (Column(text, "head"), Column("n", "n")), ((text, -3),))
    document = Document("n", 1, "t", sections=(Section("s", tables=(table,)),))
    rows = list(csv.reader(io.StringIO(render(document, "csv"))))
    assert rows == [[field, "n"], [field, "-3"]]


@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=6),
    st.text("abcdefgh_", min_size=1, max_size=60),
    st.integers(40, 120),
)
def test_no_number_is_ever_cut(numbers: list[int], name: str, width: int) -> None:
    columns = (Column("n", "name", Kind.NAME), *(Column(f"c{n}", "head") for n in numbers))
    text = "\n".join(
        lines.table_lines(Table("t", "", columns, ((name, *numbers),)), width, rule="-")
    )
    assert [word for word in text.split() if word in {f"{n:,}" for n in numbers}] == [
        f"{number:,}" for number in numbers
    ]


@pytest.mark.parametrize("width", range(40, 121, 8))
def test_a_long_name_is_broken_over_lines_and_loses_no_letter(width: int) -> None:
    names = ("selinux-enforcing+audit-rules+ima-appraise", "模" * 30, "a" * 70, "short")
    columns = (
        Column("setup", "setup", Kind.NAME),
        *(Column(f"n{at}", f"number {at}") for at in range(6)),
    )
    table = Table("t", "", columns, tuple((name, *range(1000, 1006)) for name in names))
    found = list(lines.table_lines(table, width, rule="-"))
    assert "\N{HORIZONTAL ELLIPSIS}" not in "".join(found)
    assert max(map(cell_len, found)) <= width
    parts = "".join(found).count("short")
    letters = "".join(re.sub(r"[0-9,. ]|setup|number|short|-{3,}", "", line) for line in found)
    wanted = "".join(names[:-1]).replace("-", "")
    assert letters.replace("-", "").count("a") == parts * wanted.count("a")
    assert letters.count("模") == parts * 30


@pytest.mark.parametrize("width", range(40, 121, 8))
def test_no_head_loses_a_letter(width: int) -> None:
    """The main experiment's `distribution` was `di…ion` in 80 columns."""
    names = ("distribution", "selinux-enforcing+audit", "capability", "abcdefghijklmnopqrstuv")
    heads = [*names, *(f"{name}-again" for name in names)]
    columns = (
        Column("benchmark", "benchmark", Kind.NAME),
        *(Column(head, head, Kind.PERCENT) for head in heads),
    )
    row: tuple[Value, ...] = ("path=dotdot-9", *(0.1 for _ in heads))
    found = list(lines.table_lines(Table("t", "", columns, (row,)), width, rule="="))
    text = "\n".join(found)
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    assert " = " not in text
    letters = "".join(line for line in found if "dotdot" not in line)
    for letter in "abcdefghijklmnopqrstuv":
        shown = letters.count(letter) - (text.count("benchmark")) * "benchmark".count(letter)
        assert shown == "".join(heads).count(letter), letter


def test_long_names_and_heads_are_broken_at_their_signs() -> None:
    hooks = ("security_inode_init_security_anon", "security_inode_init_security")
    columns = (
        Column("hook", "hook", Kind.CODE),
        *(Column(f"c{n}", hooks[0], Kind.CHANGE) for n in range(2)),
        Column("more", "more", Kind.PROSE),
    )
    table = Table("t", "", columns, tuple((hook, 1, -1, "word " * 9) for hook in hooks))
    found = list(lines.table_lines(table, 60, rule="-"))
    heads = [line.split()[-1] for line in found[:4]]
    assert "".join(heads) == hooks[0], "a head that is broken keeps all its letters"
    assert "\N{HORIZONTAL ELLIPSIS}" not in "".join(found)
    labels = [line.split()[0] for line in found if re.match(r"sec.*\+1", line)]
    assert all(hook.startswith(label) for hook, label in zip(hooks, labels, strict=True))
    wide = list(lines.table_lines(table, 120, rule="-"))
    assert [line.split()[0] for line in wide[:2]] == ["security_", "inode_init_"]
    assert all(any(line.startswith(hook) for line in wide) for hook in hooks)


def test_short_prose_that_finds_no_room_is_running_text() -> None:
    columns = (
        Column("operation", "operation", Kind.NAME),
        *(Column(f"c{at}", f"setup-{at}", Kind.PERCENT) for at in range(5)),
        Column("largest", "largest deviation", Kind.PROSE),
    )
    cells = tuple(0.1 * at for at in range(5))
    table = Table(
        "t",
        "",
        columns,
        (("open", *cells, "depth=4 +31.0 %"), ("read", *cells, "+2.0 %"), ("stat", *cells, None)),
    )
    narrow = list(lines.table_lines(table, 60, rule="-"))
    assert narrow[-1] == "Largest deviation: open depth=4 +31.0 %; read +2.0 %."
    assert sum("open" in line for line in narrow) == 2
    wide = "\n".join(lines.table_lines(table, 120, rule="-"))
    assert "Largest deviation:" not in wide
    assert "depth=4 +31.0 %" in wide
