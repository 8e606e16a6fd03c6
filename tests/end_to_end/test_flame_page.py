# SPDX-License-Identifier: GPL-2.0-or-later
"""A flame graph in headless Chromium: a link makes any frame as wide as the page, no script."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lsmeter.questions.attribution.account import run_accounts
from lsmeter.questions.attribution.flame import graph_files
from lsmeter.questions.attribution.load import load_run
from tests.end_to_end.test_html_page import browse, browser
from tests.unit.attribution.recorded import write_run

__all__ = ["browser"]
pytestmark = pytest.mark.browser

FRAME = """<!DOCTYPE html>
<html><body style="margin:0"><iframe id="frame" src="page.html{target}"
 style="border:0;width:{width}px;height:900px"></iframe><p id="result"></p>
<script>
document.getElementById("frame").onload = (event) => {{
  const inner = event.target.contentDocument;
  const wide = (element) => Math.round(element.getBoundingClientRect().width);
  const frames = [...inner.querySelectorAll(".frame")];
  const target = inner.querySelector(":target");
  const open = frames.filter((frame) => frame.getClientRects().length);
  document.getElementById("result").textContent = ["graph", wide(inner.querySelector(".flame")),
    "frames", frames.length, "shown", open.length, "target", target ? wide(target) : 0,
    "page", inner.documentElement.scrollWidth, "end"].join(" ");
}};
</script></body></html>
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run, cells, _ = load_run(write_run(tmp_path_factory.mktemp("flame") / "run", "before"))
    path = tmp_path_factory.mktemp("flame") / "page.html"
    path.write_text(graph_files(run_accounts(cells, run.manifest.baseline_setup))["smack.html"])
    return path


def _measured(browser: str, page: Path, profile: Path, target: str, width: int) -> list[int]:
    """Return widths of graph, of the frame and the page, and how many frames there are and show."""
    frame = page.parent / f"frame-{width}-{target[1:]}.html"
    frame.write_text(FRAME.format(target=target, width=width), "utf-8")
    done = browse(browser, profile, "--dump-dom", frame.as_uri())
    found = re.search(
        r"graph (\d+) frames (\d+) shown (\d+) target (\d+) page (\d+) end", done.stdout
    )
    assert found, done.stdout[-500:]
    return [int(number) for number in found.groups()]


@pytest.mark.parametrize("width", [1200, 400])
def test_a_link_gives_a_frame_the_whole_width(
    browser: str, page: Path, tmp_path: Path, width: int
) -> None:
    text = page.read_text()
    name = re.search(r'id="(\S+)" style="[^"]*"><a [^>]*title="smack_inode_permission', text)
    assert name
    graph, frames, shown, target, whole = _measured(browser, page, tmp_path / "a", "", width)
    assert (shown, target, whole) == (frames, 0, width)
    narrow = _measured(browser, page, tmp_path / "b", f"#{name[1]}", width)
    assert narrow[0] == narrow[3] == graph
    assert 1 < narrow[2] < frames
    assert narrow[4] == width
