# SPDX-License-Identifier: GPL-2.0-or-later
"""Opens a published site in a real browser: its switches work without script of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lsmeter.questions.publish import document
from tests.end_to_end.test_html_page import browse, browser
from tests.unit.publish.builders import site

__all__ = ["browser"]

# A page of its own that looks into the site's, and turns its switches.
FRAME = """<!DOCTYPE html>
<body><iframe id="frame" src="op/file-open.html" style="border:0;width:400px;height:900px">
</iframe><p id="result"></p><script>
document.getElementById("frame").onload = (event) => {
  const page = event.target.contentDocument;
  const seen = () => [...page.querySelectorAll("figure svg")].filter((one) =>
    one.getBoundingClientRect().height).map((one) => one.getAttribute("class")).join(",");
  const found = [page.documentElement.scrollWidth, seen()];
  for (const name of ["insns", "fit", "percent"]) {
    page.querySelector("label[for=" + name + "]").click();
    found.push(seen());
  }
  const color = getComputedStyle(page.querySelector("svg a path")).stroke;
  document.getElementById("result").textContent = [...found, color, "end"].join(" / ");
};
</script></body>
"""


@pytest.mark.browser
def test_the_switches_show_one_drawing_each(browser: str, tmp_path: Path) -> None:
    made = site(kernels=6, benchmarks=2)
    for name, text in document.files(made, made.steps).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME, "utf-8")
    done = browse(browser, tmp_path / "profile", "--dump-dom", frame.as_uri())
    assert "CONSOLE" not in done.stderr, "nothing was refused, and nothing failed"
    result = re.search(r'id="result">(.*) / end<', done.stdout)
    assert result, done.stdout[-500:]
    *found, color = result[1].split(" / ")
    assert found == ["400", "percent zero", "insns zero", "insns fit", "percent fit"]
    assert color not in {"none", "rgb(0, 0, 0)"}, "the style was loaded"
