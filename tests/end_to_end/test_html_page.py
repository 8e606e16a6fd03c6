# SPDX-License-Identifier: GPL-2.0-or-later
"""Opens the HTML page in a real browser: no errors, nothing loaded, nothing wider than the page."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.core.model import Problem
from lsmeter.questions.monitor.document import document as over_time
from lsmeter.questions.monitor.figures import Monitored
from lsmeter.questions.monitor.series import Batch, Monitoring, Process, Series
from lsmeter.tables.model import Detail
from lsmeter.tables.render import render as in_html
from tests.conftest import DEADLINE_S
from tests.unit import timed_builders
from tests.unit.report import builders, policy_builders
from tests.unit.report.builders import render

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--allow-file-access-from-files",
)
OVER_TIME = Monitoring(
    "selinux-enforcing",
    (("setup", "selinux, web"),),
    50,
    (25.0, 25.05, 25.1, 25.12, 25.3, 25.35),
    (
        Series("cpu", "cpu_user_percent", "in user space", "%", (None, 20.0, 30.0, 0.0, None, 5.0)),
        Series("cpu", "cpu_system_percent", "in the kernel", "%", (None, 5.0, 1.0, 0.0, None, 1.0)),
        Series("cpu", "cpu_interrupts_percent", "", "%", (None, 2.0, 1.0, 0.0, None, 0.5)),
        Series("memory", "memory_free_mib", "free", "MiB", (9.0, 8.0, 7.0, 6.0, 5.0, 4.0)),
        Series(
            "network",
            "network_eth0_sent_kib_per_s",
            "eth0: sent",
            "KiB/s",
            (None, 1.5, 2.5, 3.5, None, 4.5),
        ),
        Series(
            "disk",
            "disk_pmem0_read_kib_per_s",
            "pmem0: read",
            "KiB/s",
            (None, 7.0, 0.0, 0.0, None, 1.0),
        ),
        Series("avc", "avc_misses_per_s", "misses", "1/s", (None, 1.0, 0.0, 0.0, None, 0.0)),
    ),
    (
        Batch("page size=1", 0, warmup=True, begin_s=25.0, end_s=25.12),
        Batch("page size=1", 1, warmup=False, begin_s=25.3, end_s=25.35),
    ),
    (Process(25.12, 0.12, 144, "apache2", 10.0, 20.0, 2048.0, 1024.0, 3.0, 0.0),),
)
# A page of its own that holds the report in a frame of the width to be tested: a headless window
# cannot be narrower than 500 pixels. It writes what it measured into its own body.
FRAME = """<!DOCTYPE html>
<html><body style="margin:0"><iframe id="frame" src="page.html"
 style="border:0;width:{width}px;height:{height}px"></iframe>
<p id="result"></p>
<script>
document.getElementById("frame").onload = (event) => {{
  const inner = event.target.contentDocument;
  const wide = [...inner.body.querySelectorAll("*")].filter((element) =>
    !element.parentElement.closest(".scroll, pre") &&
    element.getBoundingClientRect().right > {width} + 0.5);
  document.getElementById("result").textContent = [
    "page", inner.documentElement.scrollWidth, "plots", inner.querySelectorAll("svg").length,
    "boxes", inner.querySelectorAll(".scroll").length,
    "wide", wide.map((element) => element.tagName + "." + element.className).join(","), "end",
  ].join(" ");
}};
</script></body></html>
"""


@pytest.fixture(scope="module")
def browser() -> str:
    for name in PROGRAMS:
        found = shutil.which(name)
        if found:
            return found
    return pytest.fail("no browser: install chromium (apt-get install chromium)")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    long = "a_name_that_no_line_can_hold_" * 5
    problem = Problem("boot 2 hung", "debian:6.1", long, "open", long, ("x" * 400,))
    report = builders.report(kernels=builders.KERNELS, problems=[problem])
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(render(report, "html"), "utf-8")
    return path


def browse(browser: str, profile: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the browser to its end, with a profile of its own."""
    command = [browser, *QUIET, f"--user-data-dir={profile}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=DEADLINE_S)


@pytest.fixture(scope="module")
def policy_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Proofs, layers, states and one-off costs, with texts that no line can hold."""
    report = policy_builders.report()
    proof = report.checks[0]
    long = replace(proof, name="n" * 60, path="/" + "p" * 300, message="m" * 400)
    path = tmp_path_factory.mktemp("policy") / "page.html"
    path.write_text(render(replace(report, checks=(*report.checks, long)), "html"), "utf-8")
    return path


def measured(browser: str, page: Path, profile: Path, width: int) -> tuple[str, ...]:
    """Return the page's width, plots, boxes that scroll, and what is wider than the page."""
    frame = page.parent / f"frame-{width}.html"
    frame.write_text(FRAME.format(width=width, height=900), "utf-8")
    done = browse(browser, profile, "--dump-dom", frame.as_uri())
    result = re.search(
        r"page (\d+) plots (\d+) boxes (\d+) wide (\S*) end", done.stdout.split('id="result"')[1]
    )
    assert result, done.stdout[-500:]
    return result.groups()


@pytest.mark.parametrize("width", [1200, 400])
def test_nothing_is_wider_than_the_page(
    browser: str, page: Path, tmp_path: Path, width: int
) -> None:
    assert measured(browser, page, tmp_path, width) == (str(width), "6", "21", "")


@pytest.mark.parametrize("width", [1200, 400])
def test_nothing_of_a_policy_is_wider_than_the_page(
    browser: str, policy_page: Path, tmp_path: Path, width: int
) -> None:
    # Plots: three of the grid, one of the layers. Boxes: plots, operations, grid, whole costs,
    # their parts, means, layers of two setups, states, two tables of one-off costs, kernels,
    # setups, tools, host, signs.
    assert measured(browser, policy_page, tmp_path, width) == (str(width), "4", "19", "")


@pytest.mark.parametrize("width", [1200, 400])
def test_nothing_over_time_is_wider_than_the_page(browser: str, tmp_path: Path, width: int) -> None:
    run = timed_builders.run(tmp_path / "run", {})
    boot = run.boots[0]
    shown = [Monitored(run.manifest.cells[0].place, boot, OVER_TIME)]
    page = tmp_path / "page.html"
    page.write_text(in_html(over_time(run, Detail.FULL, boots=shown), "html"), "utf-8")
    # Plots: CPU, memory, network, disks, SELinux's cache. Boxes: those, load, processes, series.
    assert measured(browser, page, tmp_path / "profile", width) == (str(width), "5", "8", "")


def test_the_browser_reports_no_error_and_draws_the_page(
    browser: str, page: Path, tmp_path: Path
) -> None:
    picture = tmp_path / "page.png"
    done = browse(
        browser,
        tmp_path / "profile",
        "--window-size=1200,2400",
        f"--screenshot={picture}",
        page.as_uri(),
    )
    # Whatever the page does wrong (syntax, refused loads) is logged as CONSOLE.
    assert "CONSOLE" not in done.stderr
    head = picture.read_bytes()[:24]
    assert struct.unpack(">II", head[16:24]) == (1200, 2400)
    # A page that drew nothing compresses to far less.
    assert picture.stat().st_size > 50_000


def test_the_console_check_can_fail(browser: str, tmp_path: Path) -> None:
    broken = tmp_path / "broken.html"
    broken.write_text("<script>console.error('seen')</script>", "utf-8")
    done = browse(browser, tmp_path / "profile", "--dump-dom", broken.as_uri())
    assert "CONSOLE" in done.stderr


def test_the_width_check_can_fail(browser: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<body><p style='width:3000px'>wide</p>", "utf-8")
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME.format(width=400, height=900), "utf-8")
    done = browse(browser, tmp_path / "profile", "--dump-dom", frame.as_uri())
    assert "wide P. end" in done.stdout
