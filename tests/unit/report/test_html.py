# SPDX-License-Identifier: GPL-2.0-or-later
"""The HTML page: whole, self-contained, deaf to what a guest writes, small and quick."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import vl_convert

from lsmeter.core.model import Problem
from lsmeter.questions.cost.model import Report
from lsmeter.tables import look, svg
from lsmeter.tables.model import UndrawnError
from lsmeter.tables.values import count, percent
from tests.conftest import DEADLINE_S
from tests.unit.report import builders
from tests.unit.report.builders import render

ATTACK = "<script>alert(1)</script>\"'><img src=https://evil.invalid/x onerror=alert(2)>{{ 7*7 }}"
VOID = {"meta", "link", "br", "img", "input", "hr", "base", "source"}


class Page(HTMLParser):
    """Collects elements, attributes and text, and checks that elements are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.words.append(data)


@pytest.fixture(scope="module")
def main_page() -> str:
    problem = Problem("boot 2 hung", "debian:6.1", "smack", "open depth=4", "silent", ("tail",))
    return render(builders.report(problems=[problem]), "html")


def attacked(value: Any) -> Any:
    """Put the attack in front of every text of a report, at any depth."""
    if type(value) is str:
        return ATTACK + value
    if isinstance(value, tuple):
        return tuple(attacked(item) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: attacked(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return dataclasses.replace(value, **fields)
    return value


def assert_needs_nothing(text: str) -> None:
    """Nothing is loaded from anywhere, and nothing runs."""
    page = Page(text)
    for tag, attributes in page.elements:
        assert tag not in {"script", "img", "iframe", "object", "embed", "image", "base"}
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in {"src", "href", "xlink:href", "action", "srcset"}:
                assert value.startswith("#") or value == "data:,"
            if name == "style":
                assert re.fullmatch(r"width:[\d.]+%", value), "styles belong into the style sheet"
    assert not re.search(r"url\(|@import", _style(text))


def _style(text: str) -> str:
    return text[text.index("<style>") : text.index("</style>")]


def test_the_page_needs_neither_network_nor_script(main_page: str) -> None:
    assert_needs_nothing(main_page)
    assert "http" not in main_page.replace("http-equiv", "")


def test_text_in_every_field_is_shown_and_does_nothing() -> None:
    problem = Problem("t", "k", "s", "b", "d", ("l",))
    benchmarks = [builders.benchmark("open", depth=depth) for depth in (1, 2)]
    report = attacked(
        builders.report(
            setups=("capability", "selinux"),
            benchmarks=[*benchmarks, builders.benchmark("read", path="x")],
            problems=[problem],
            changes={"notes": ("n",)},
        )
    )
    text = render(report, "html")
    assert "alert(1)" in text
    assert "<script" not in text
    assert "<img" not in text
    assert "{{ 7*7 }}" in text
    assert_needs_nothing(text)


def test_the_page_has_words_first_then_plots_method_and_problems(main_page: str) -> None:
    order = [
        attributes["id"]
        for tag, attributes in Page(main_page).elements
        if tag == "section" and "id" in attributes
    ]
    assert order == ["summary", "grid-1", "whole", "method", "problems"]
    links = {a["href"] for tag, a in Page(main_page).elements if tag == "a"}
    assert links == {f"#{name}" for name in order}


def test_every_plot_has_a_title_and_a_description(main_page: str) -> None:
    page = Page(main_page)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    plots = [attributes for tag, attributes in page.elements if tag == "svg"]
    assert len(plots) == 3
    for attributes in plots:
        assert attributes["role"] == "img"
        assert set(attributes["aria-labelledby"].split()) <= set(ids)


def test_no_stand_in_colour_is_left_and_every_property_has_a_value(main_page: str) -> None:
    assert not re.search(r"#010[123][0-9a-f]{2}", main_page)
    style = _style(main_page)
    light, dark = style.split("prefers-color-scheme: dark")
    for name in look.PROPERTIES.values():
        assert f"{name}:" in light
        assert f"{name}:" in dark


def test_the_heat_map_has_a_number_for_every_comparison(main_page: str) -> None:
    report = builders.report()
    start = main_page.index("plot-2-title")
    drawing = main_page[start : main_page.index("</svg>", start)]
    written = re.findall(r">([+-]?[\d.,]+)</text>", drawing)
    wanted = [percent(c.overhead).removesuffix(" %") for c in report.comparisons]
    assert sorted(written) == sorted(wanted)


def test_every_value_of_the_report_is_in_the_tables(main_page: str) -> None:
    words = "".join(Page(main_page).words)
    assert all(count(item.centre) in words for item in builders.report().estimates)
    assert all(facts.image_sha256 in words for facts in builders.report().kernels)


def test_a_timed_report_does_not_speak_of_counting() -> None:
    changes = {"instrument": "timed", "unit": "ns"}
    report = builders.report(setups=("capability", "bpf"), changes=changes)
    text = render(report, "html")
    assert "nanoseconds per operation, timed instrument" in text
    assert "exact instrument" not in text


def test_a_report_without_numbers_says_so() -> None:
    text = render(builders.report(setups=(), kernels=()), "html")
    assert "no estimates" in text
    assert "Nothing was compared." in text
    assert "<svg" not in text


def test_an_identity_that_is_no_identity_is_refused() -> None:
    with pytest.raises(ValueError, match="identity"):
        svg.drawn(
            {"data": {"values": []}, "mark": "bar"},
            identity='x"><script>',
            title="",
            description="",
        )


PLOT: dict[str, Any] = {
    "data": {"values": [{"a": "short", "b": 1}]},
    "mark": "bar",
    "encoding": {
        "y": {"field": "a", "type": "nominal"},
        "x": {"field": "b", "type": "quantitative"},
    },
    "config": {"axis": {"labelLimit": 100}},
}


@pytest.mark.parametrize(
    "name", ["x" * 100_000, "\U0001f600" * 99, "a\0b\uffff\ud800", "\ufdfa\u0301\u202e" * 99]
)
def test_no_name_stops_a_plot(name: str) -> None:
    plot = {**PLOT, "data": {"values": [{"a": name, "b": 1}]}}
    drawing = svg.drawn(plot, identity="x", title=name, description=name)
    assert drawing.startswith("<svg")


class _PanicError(BaseException):
    """As a panic of the plot library is."""


@pytest.mark.parametrize("error", [ValueError("no\nfont"), _PanicError("no\nfont")])
def test_a_plot_that_cannot_be_drawn_is_left_out_with_a_line(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> str:
        raise error

    monkeypatch.setattr(vl_convert, "vegalite_to_svg", broken)
    text = render(builders.report(), "html")
    assert "<svg" not in text
    said = f"This plot is left out: the plot library fails: {type(error).__name__}: no font."
    assert "".join(Page(text).words).count(said) == 3


def test_a_plot_of_too_much_is_left_out() -> None:
    plot = {**PLOT, "data": {"values": [{"a": "x", "b": n} for n in range(200_000)]}}
    with pytest.raises(UndrawnError, match="more than"):
        svg.drawn(plot, identity="x", title="", description="")


def large() -> Report:
    """Two thousand comparisons and more: 61 benchmarks, 17 setups, two kernels."""
    setups = ("capability", *(f"landlock:layers={n}" for n in range(1, 18)))
    return builders.report(setups=setups, kernels=builders.KERNELS)


def test_two_thousand_comparisons_take_less_than_300_mb() -> None:
    root = Path(__file__).parents[3]
    code = (
        "import pathlib, re\n"
        "from tests.unit.report.test_html import large\n"
        "from tests.unit.report.builders import render\n"
        "report = large()\n"
        "render(report, 'html')\n"
        # Not ru_maxrss: that begins with the size of the process that started this one.
        "status = pathlib.Path('/proc/self/status').read_text()\n"
        "print(len(report.comparisons), re.search(r'VmHWM:\\s+(\\d+)', status)[1])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": f"{root}:{root / 'src'}"},
        capture_output=True,
        text=True,
        check=True,
        timeout=DEADLINE_S,
    )
    comparisons, kib = map(float, done.stdout.split())
    assert comparisons >= 2000
    assert kib < 300_000
