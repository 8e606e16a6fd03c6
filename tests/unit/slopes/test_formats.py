# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

import json
from dataclasses import replace

import pytest
import vl_convert

from lsmeter.model import Problem
from lsmeter.report.format import RenderOptions
from lsmeter.slopes.formats import FORMATS
from lsmeter.slopes.model import SlopesReport
from lsmeter.slopes.plot import specification
from lsmeter.statistics.regression import Whole
from tests.unit.slopes.sweep_builders import recorded_slopes, report

WIDE = RenderOptions(width=120)


@pytest.fixture(scope="module")
def recorded() -> SlopesReport:
    return report(recorded_slopes())


def test_json_has_what_programs_are_promised(recorded: SlopesReport) -> None:
    data = json.loads(FORMATS["json"](recorded, WIDE))
    promised = {"benchmark", "params", "kernel", "setup", "slope", "stderr", "ci_low", "ci_high"}
    promised |= {"r2", "max_residual", "intercept", "authorisations"}
    assert data["format"] == "lsmeter-slopes"
    assert (data["filesystem"], data["user"]) == ("tmpfs", "root")
    for slope in data["slopes"]:
        assert promised <= slope.keys()
        assert slope["ci_low"] <= slope["slope"] <= slope["ci_high"]
        assert len(slope["points"]) == 12
    (four,) = [s for s in data["slopes"] if (s["benchmark"], s["params"]) == ("open", {"depth": 4})]
    assert four["authorisations"] == four["published"] == 5
    (flat,) = [s for s in data["slopes"] if s["benchmark"] == "getppid"]
    assert (flat["slope"], flat["r2"], flat["authorisations"]) == (0, None, 0)


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_a_row_shows_the_study_beside_the_measurement(recorded: SlopesReport, form: str) -> None:
    text = FORMATS[form](recorded, WIDE)
    rows = [line.replace("|", " ").split() for line in text.splitlines()]
    (eight,) = [row for row in rows if row[:2] == ["open", "depth=8"]]
    assert eight[2:4] == ["9", "8.9"]
    assert "residual" in text
    assert "…" not in text


def test_the_table_fits_a_hundred_columns(recorded: SlopesReport) -> None:
    text = FORMATS["table"](recorded, RenderOptions(width=80))
    assert max(map(len, text.splitlines())) <= 100
    assert "…" not in text


@pytest.mark.parametrize("form", ["table", "markdown", "json"])
def test_doubts_and_problems_are_never_dropped(recorded: SlopesReport, form: str) -> None:
    odd = replace(recorded.slopes[0], authorisations=Whole(None, "2.37 is no whole number"))
    doubtful = replace(
        recorded, slopes=(odd,), problems=(Problem("the guest has gone", detail="a|b"),)
    )
    text = FORMATS[form](doubtful, WIDE)
    assert "2.37 is no whole number" in text
    assert "the guest has gone" in text


def test_text_of_others_is_no_markup(recorded: SlopesReport) -> None:
    titled = replace(recorded, heading=replace(recorded.heading, title="a|b <script>"))
    text = FORMATS["markdown"](titled, WIDE)
    assert "<script>" not in text.replace("\\<script\\>", "")


def test_a_report_without_slopes_is_still_a_report(recorded: SlopesReport) -> None:
    empty = replace(recorded, slopes=(), depths=(), problems=(Problem("nothing was measured"),))
    for render in FORMATS.values():
        assert "nothing was measured" in render(empty, WIDE)
    assert [*specification(empty)["datasets"].values()] == [[]]


def test_the_plot_has_every_reading_and_a_line_for_each_slope(recorded: SlopesReport) -> None:
    described = specification(recorded)
    (rows,) = described["datasets"].values()
    assert sum(row["kind"] == "reading" for row in rows) == 12 * len(recorded.slopes)
    assert sum(row["kind"] == "fit" for row in rows) == 2 * len(recorded.slopes)
    svg = vl_convert.vegalite_to_svg(described, allowed_base_urls=[])
    assert "policy latency" in svg
