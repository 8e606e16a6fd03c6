# SPDX-License-Identifier: GPL-2.0-or-later
"""The files of a site: whole, linked, small, and safe."""

from __future__ import annotations

import json
import posixpath
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from lsmeter.core.model.conclusion import Number
from lsmeter.questions.publish import document
from lsmeter.questions.publish.figures import Site, make_site
from tests.unit.model_builders import change
from tests.unit.publish.builders import point, site

ATOM = "{http://www.w3.org/2005/Atom}"
HELP = Path(__file__).parents[3] / "docs/reference/publish.md"


class Page(HTMLParser):
    """Where a page leads, what can be led to in it, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.tags: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            assert not name.startswith("on")
            assert name not in {"style", "src"}
            if name == "href":
                self.links.append(value or "")
            if name == "id":
                self.ids.append(value or "")


@pytest.fixture(scope="module")
def made() -> Site:
    return site()


@pytest.fixture(scope="module")
def files(made: Site) -> dict[str, str]:
    return document.files(made, made.steps)


def test_there_is_a_page_for_each_series_setup_operation_and_kernel(files: dict[str, str]) -> None:
    assert set(files) == {
        *("index.html", "changes.html", "changes.atom", "changes.txt", "news.txt"),
        *("site.json", "style.css", "op/file-open.html", "op/file-stat.html"),
        *(f"setup/setup-{number}.html" for number in range(5)),
        *(f"k/6.0.{number}-1.html" for number in range(4)),
        "series/6.0.html",
    }


def test_every_link_leads_somewhere_in_the_site(files: dict[str, str]) -> None:
    pages = {name: Page(text) for name, text in files.items() if name.endswith(".html")}
    links = 0
    for name, page in pages.items():
        assert len(page.ids) == len(set(page.ids)), name
        for link in page.links:
            path, _, anchor = link.partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
            target = target if path else name
            assert target in files, (name, link)
            assert not anchor or anchor in pages[target].ids, (name, link)
            links += 1
    assert links > 200


def test_no_page_needs_a_script_or_loads_from_elsewhere(files: dict[str, str]) -> None:
    for name, text in files.items():
        if name.endswith(".html"):
            assert "script" not in Page(text).tags
            assert "default-src 'none'; style-src 'self'" in text
        assert not re.search(r"(href|src|url)\W{1,2}https?:", text), name


def test_a_thousand_points_are_at_most_a_megabyte() -> None:
    large = site(kernels=20, setups=5, benchmarks=10)
    assert large.points == 1000
    assert sum(len(x.encode()) for x in document.files(large, large.steps).values()) <= 1_000_000


def test_plain_text_fits_mail(made: Site, files: dict[str, str]) -> None:
    text = files["changes.txt"]
    assert max(map(len, text.splitlines())) <= 72
    assert text.count("most in") == len(made.steps) == 3
    assert "setup-1: open depth=2: +24.0 % -> +27.0 %" in text
    assert "+3.0 points, +30 instructions, since 6.0.2-1" in text
    assert files["news.txt"] == text
    nothing = document.files(make_site([point("6.1.1-1", 1300)]), ())
    assert nothing["news.txt"] == ""
    assert nothing["changes.txt"] == "no overhead changed by more than the margin\n"


def test_a_change_of_the_baseline_alone_is_told_as_that() -> None:
    """It adds the same: no hook explains why it is a larger share now."""
    old = point("6.1.1-1", 1300)
    new = replace(old.found, typical=change(900, 1200), whole=change(900, 1200))
    (step,) = make_site([old, point("6.12.1-1", 1200, found=new)]).steps
    assert step.change.difference.value == 0
    told = "it adds as many as before; the baseline went from 1,000 to 900 instructions"
    assert document.cause(step) == told
    assert step.is_of_baseline


def test_a_caption_is_of_what_is_drawn_and_of_the_number_that_decided() -> None:
    new = point("6.12.1-1", 1600)
    whole = replace(new.found, decided_by=Number.WHOLE, whole=change(1000, 1900))
    whole = replace(whole, decided=change(1000, 1900))
    old = [point(f"6.1.{n}-1", 1300) for n in (1, 2)]
    points = (*old, point("6.12.1-1", 1600), point("6.12.2-1", 0, found=whole))
    made = document.files(make_site(points), ())
    captions = {
        name: re.findall(r"<figcaption>.*?</span> (.*?): on the newest", text)[0]
        for name, text in made.items()
        if name.startswith("series/")
    }
    assert captions["series/6.1.html"].startswith("+30.0 %")
    assert captions["series/6.12.html"].startswith("+90.0 %")
    assert captions["series/6.12.html"].endswith("(whole cycle; drawn: typical call)")
    assert "whole" not in captions["series/6.1.html"]


def test_the_feed_is_atom(made: Site, files: dict[str, str]) -> None:
    feed = ET.fromstring(files["changes.atom"])  # noqa: S314  (made here)
    ids = [item.text for item in feed.iter(f"{ATOM}id")]
    assert len(ids) == len(set(ids)) == 2
    assert [item.text for item in feed.iter(f"{ATOM}title")][1] == "Linux 6.0.3-1: 3 changes"
    assert "security_inode_permission" in (feed.findtext(f"{ATOM}entry/{ATOM}content") or "")
    again = document.files(made, ())["changes.atom"]
    assert again == files["changes.atom"], "names of entries do not depend on when it is made"


def test_the_json_has_every_point_and_is_documented(made: Site, files: dict[str, str]) -> None:
    data = json.loads(files["site.json"])
    assert sum(len(graph["overhead"]) for graph in data["graphs"]) == made.points
    one = next(item for item in data["graphs"] if item["setup"] == "setup-1")
    assert one["overhead"] == [0.24, 0.24, 0.24, 0.27]
    step = data["changes"][0]
    assert not step["is_of_baseline"]
    graph = data["graphs"][step["graph"]]
    assert graph["setup"] == "setup-1"
    assert data["kernels"][step["kernel"]]["version"] == "6.0.3-1"
    told = HELP.read_text("utf-8")
    rows = [data, *(data[name][0] for name in ("kernels", "origins", "graphs", "changes"))]
    for key in {key for row in rows for key in row} | set(step["moved"]):
        assert f"`{key}`" in told, key


def test_names_from_a_run_are_escaped() -> None:
    bad = '"><script>alert(1)</script>&'
    points = [point("6.1.1-1", 1300, setup=bad), point("6.12.1-1", 1400, setup=bad)]
    for name, text in document.files(make_site(points), ()).items():
        if name.endswith((".html", ".atom")):
            assert "<script" not in text
    ET.fromstring(document.files(make_site(points), ())["changes.atom"])  # noqa: S314


def test_names_that_do_not_print_are_escaped() -> None:
    bad = "sel\x1b[31mx\uffff"
    points = [point("6.1.1-1", 1300, setup=bad), point("6.12.1-1", 1400, setup=bad)]
    made = make_site(points)
    found = document.files(made, made.steps)
    assert all("\x1b" not in text for text in found.values())
    assert "sel\\x1b[31mx\\uffff" in found["news.txt"]
    ET.fromstring(found["changes.atom"])  # noqa: S314


@pytest.mark.parametrize("text", ["../../etc/passwd", "..", "", "a/b", ".hidden", "x" * 9])
def test_a_name_never_leaves_the_site(text: str) -> None:
    found = document.slug(text)
    assert found
    assert "/" not in found
    assert not found.startswith(".")
