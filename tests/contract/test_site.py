# SPDX-License-Identifier: GPL-2.0-or-later
"""The documentation as a site: every document, no dead link, nothing from elsewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.contract.documents import ROOT
from tests.end_to_end.test_html_page import browse, browser

__all__ = ["browser"]

LOADING = {"script", "img", "source", "iframe", "video", "audio", "embed", "object"}


class Page(HTMLParser):
    """What a page is made of: what it loads, where it leads, and what can be led to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "link" and found.get("rel") in {"stylesheet", "preconnect", "icon", "preload"}:
            self.loads.append(found["href"])
        if tag in LOADING:
            self.loads += [found[name] for name in ("src", "srcset", "data") if name in found]
        if tag == "a" and "href" in found:
            self.links.append(found["href"])


def _is_remote(url: str) -> bool:
    return re.match(r"([a-z]+:)?//", url) is not None


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site from a copy, as `make site` does."""
    home = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", home / "docs")
    shutil.copy(ROOT / "zensical.toml", home)
    program = Path(sys.executable).with_name("zensical")
    done = subprocess.run(
        [program, "build", "--clean", "--strict"],
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return home / "build/site"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text("utf-8")) for path in site.rglob("*.html")}


def test_every_document_is_a_page_that_the_first_one_leads_to(
    site: Path, pages: dict[Path, Page]
) -> None:
    expected = {
        path.relative_to(ROOT / "docs").with_suffix(".html")
        for path in (ROOT / "docs").rglob("[a-z]*.md")
    }
    assert {path.relative_to(site) for path in pages} >= expected
    menu = (site / "index.html").read_text("utf-8").partition("<article")[0]
    led_to = {unquote(link).removeprefix("./") for link in Page(menu).links}
    assert led_to >= {str(path) for path in expected}


def test_no_link_is_dead(pages: dict[Path, Page]) -> None:
    wrong = []
    for path, page in pages.items():
        for link in page.links:
            name, _, anchor = unquote(link).partition("#")
            if _is_remote(link) or path.name == "404.html" or ":" in name:
                continue
            target = (path.parent / name).resolve() if name else path
            target = target / "index.html" if target.is_dir() else target
            if target.suffix != ".html" and target.is_file():
                continue  # one to copy
            if target not in pages or (anchor and anchor not in pages[target].anchors):
                wrong.append((path.name, link))
    assert wrong == []


def test_pages_load_files_of_the_site_alone(pages: dict[Path, Page]) -> None:
    assert sum(len(page.loads) for page in pages.values()) > len(pages)
    for path, page in pages.items():
        remote = [url for url in page.loads if _is_remote(url)]
        missing = [url for url in page.loads if not (path.parent / url).exists()]
        assert remote == []
        assert path.name == "404.html" or missing == []


def test_styles_load_nothing_from_elsewhere(site: Path) -> None:
    styles = list(site.rglob("*.css"))
    assert styles
    for path in styles:
        assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", path.read_text("utf-8"))


@pytest.mark.browser
@pytest.mark.parametrize("name", ["index.html", "results.html", "concepts/method.html"])
def test_scripts_load_nothing_from_elsewhere(
    site: Path, tmp_path: Path, browser: str, name: str
) -> None:
    uri = (site / name).as_uri()
    shown = browse(browser, tmp_path, "--virtual-time-budget=5000", "--dump-dom", uri).stdout
    assert re.search(r'<html[^>]* class="[^"]*\bjs\b', shown)  # the scripts have run
    assert [url for url in Page(shown).loads if _is_remote(url)] == []
