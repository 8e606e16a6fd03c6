# SPDX-License-Identifier: GPL-2.0-or-later
"""Formats that are no text: Parquet, and plots as SVG files."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ET
from dataclasses import replace

import polars as pl
import pytest

from lsmeter.core.errors import UsageError
from lsmeter.tables import look
from lsmeter.tables.model import (
    Column,
    Document,
    Figure,
    Kind,
    Section,
    Shown,
    Table,
    UndrawnError,
    Value,
)
from lsmeter.tables.render import Files, render, rendered
from lsmeter.tables.svg import drawn

COLUMNS = (
    Column("setup", "setup", Kind.NAME),
    Column("cost_insns", "cost"),
    Column("overhead", "overhead", Kind.PERCENT),
    Column("known", "known", Kind.YES),
    Column("note", "note", Kind.PROSE),
)
ROWS: tuple[tuple[Value, ...], ...] = (
    ("selinux", 1039, Shown(0.25, "+25.0 %"), True, None),
    ("=cmd()", 4, float("nan"), False, None),
    ("huge", 1 << 70, 1, None, None),
)


def document(*tables: Table, figures: tuple[Figure, ...] = ()) -> Document:
    return Document(
        "lsmeter-x",
        3,
        "X",
        (("unit", "insns"),),
        sections=(Section("", tables=tables, figures=figures),),
    )


def parquet(found: Document) -> tuple[pl.DataFrame, dict[str, str]]:
    data = rendered(found, "parquet")
    assert isinstance(data, bytes)
    return pl.read_parquet(io.BytesIO(data)), pl.read_parquet_metadata(io.BytesIO(data))


def test_parquet_has_the_rows_of_csv_with_their_types() -> None:
    found = document(Table("a", "", COLUMNS, ROWS))
    frame, said = parquet(found)
    assert frame.columns == next(csv.reader(io.StringIO(render(found, "csv"))))
    assert frame.dtypes == [pl.String, pl.Float64, pl.Float64, pl.Boolean, pl.String]
    assert frame.row(0) == ("selinux", 1039.0, 0.25, True, None)
    assert frame.row(1)[:3] == ("=cmd()", 4.0, None)
    assert (said["format"], said["version"], said["unit"]) == ("lsmeter-x", "3", "insns")


def test_whole_numbers_stay_whole_and_several_tables_are_told_apart() -> None:
    one, two = (Table(key, "", COLUMNS[:2], ((key, 7),)) for key in ("one", "two"))
    frame, _ = parquet(document(one, two))
    assert frame.dtypes == [pl.String, pl.String, pl.Int64]
    assert frame["table"].to_list() == ["one", "two"]


def test_tables_of_one_name_are_told_apart_by_what_they_are_of() -> None:
    titled = [Table("one", title, COLUMNS[:2], (("x", 7),)) for title in ("here", "there")]
    expected = "table,section,setup,insns\none,{},x,7\none,{},x,7\n"
    columns = ",".join(column.key for column in COLUMNS[:2])
    expected = expected.replace("setup,insns", columns)
    assert render(document(*titled), "csv") == expected.format("here", "there")
    sections = tuple(Section(name, tables=(titled[0],)) for name in ("selinux", "smack"))
    found = replace(document(), sections=sections)
    assert render(found, "csv") == expected.format("selinux", "smack")


def test_a_document_without_tables_is_a_file_that_can_be_read() -> None:
    assert parquet(document())[0].shape == (0, 0)


def test_mixed_values_of_a_column_become_text() -> None:
    frame, _ = parquet(document(Table("a", "", COLUMNS[:1], (("x",), (1,)))))
    assert frame["setup"].to_list() == ["x", "1"]


def _plot(identity: str) -> str:
    encoding = {"x": look.channel("a:Q"), "y": look.channel("b:N", title="setups")}
    spec = {"data": {"values": [{"a": 1, "b": "selinux"}]}, "mark": "bar", "encoding": encoding}
    return drawn(look.finish(spec), identity=identity, title="Bars", description="Said.")


def _undrawn(identity: str) -> str:
    raise UndrawnError(f"too many values ({identity})")


PLOT = Figure("Costs <&>", "In instructions, exact instrument.", _plot, (("heat-9", "more"),))


def test_each_plot_is_a_file_that_stands_alone() -> None:
    others = (
        Figure("Flames", "", lambda _: "<div>flames</div>"),
        Figure("Large", "", _undrawn),
        Figure("None", "", lambda _: ""),
    )
    found = rendered(document(figures=(PLOT, *others)), "svg")
    assert isinstance(found, Files)
    assert list(found.files) == ["01-costs.svg"]
    assert found.left_out == (
        "Flames: made of HTML, not SVG: --format html",
        "Large: not drawn: too many values (plot-3)",
    )
    data = found.files["01-costs.svg"]
    assert b"var(" not in data
    root = ET.fromstring(data)  # noqa: S314
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    texts = [item.text or "" for item in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"selinux", "setups", "more"} <= set(texts)
    assert "Costs <&>. In instructions" in " ".join(texts)
    assert {"#b9502f", "#1d2126"} <= {item.attrib.get("fill") for item in root.iter()}


def test_the_picture_of_the_answer_is_the_first_file() -> None:
    others = Figure("Others", "", _plot)
    found = rendered(replace(document(figures=(others,)), picture=PLOT), "svg")
    assert isinstance(found, Files)
    assert list(found.files) == ["01-costs.svg", "02-others.svg"]


def test_a_document_without_plots_is_an_error_that_says_why() -> None:
    with pytest.raises(UsageError, match="X: there are no plots; Large: not drawn: too many"):
        rendered(document(figures=(Figure("Large", "", _undrawn),)), "svg")


def test_what_is_no_text_is_not_rendered_as_text() -> None:
    with pytest.raises(UsageError, match="--format parquet: not text"):
        render(document(), "parquet")
