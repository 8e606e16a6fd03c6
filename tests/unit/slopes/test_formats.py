# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

import json
from dataclasses import replace

import pytest
import vl_convert

from lsmeter.model import Problem
from lsmeter.report.format import RenderOptions
from lsmeter.report.numbers import MISSING
from lsmeter.slopes.formats import FORMATS
from lsmeter.slopes.model import SlopesReport
from lsmeter.slopes.plot import specification
from lsmeter.statistics.regression import Whole
from tests.unit.slopes.sweep_builders import recorded_lookups, recorded_slopes, report

WIDE = RenderOptions(width=120)


@pytest.fixture(scope="module")
def recorded() -> SlopesReport:
    return report(recorded_slopes())


def test_json_has_what_programs_are_promised(recorded: SlopesReport) -> None:
    data = json.loads(FORMATS["json"](recorded, WIDE))
    promised = {"benchmark", "params", "kernel", "setup", "slope", "stderr", "ci_low", "ci_high"}
    promised |= {"r2", "max_residual", "intercept", "authorisations", "hook_calls", "delays"}
    assert data["format"] == "lsmeter-slopes"
    assert (data["filesystem"], data["user"]) == ("tmpfs", "root")
    for slope in data["slopes"]:
        assert promised <= slope.keys()
        assert slope["ci_low"] <= slope["slope"] <= slope["ci_high"]
        assert len(slope["points"]) == slope["delays"] == 12
        # The old names stay, beside the new ones.
        for name in ("", "_reason"):
            assert slope[f"authorisations{name}"] == slope[f"hook_calls{name}"]
    for depth in data["depths"]:
        for name in ("per_component", "fixed", "r2"):
            assert depth[f"authorisations_{name}"] == depth[f"hook_calls_{name}"]
    (four,) = [s for s in data["slopes"] if (s["benchmark"], s["params"]) == ("open", {"depth": 4})]
    assert four["hook_calls"] == four["published"] == 5
    (flat,) = [s for s in data["slopes"] if s["benchmark"] == "getppid"]
    assert (flat["slope"], flat["r2"], flat["authorisations"]) == (0, None, 0)


@pytest.fixture(scope="module")
def with_lookups(recorded: SlopesReport) -> SlopesReport:
    found, problems = recorded_lookups()
    assert problems == ()
    return replace(recorded, lookups=tuple(replace(item, kernel="6.1") for item in found))


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_look_ups_stand_beside_the_calls(with_lookups: SlopesReport, form: str) -> None:
    text = FORMATS[form](with_lookups, WIDE)
    rows = [line.replace("|", " ").split() for line in text.splitlines()]
    found = {tuple(row[:2]): row[2:4] for row in rows if len(row) > 4}
    assert found["stat", "depth=1"] == ["1", "2"]
    assert found["open", "depth=1"] == ["2", "3"]
    assert found["open", "depth=8"] == ["9", MISSING]
    assert [row[1:3] for row in rows if row[:1] == ["getppid"]] == [["0", "0"]]
    assert "avc: avc.lookups of selinux in one operation" in " ".join(
        text.replace("\\", "").split()
    )


def test_an_odd_number_of_look_ups_is_marked_and_wide_tables_still_fit(
    with_lookups: SlopesReport,
) -> None:
    odd = tuple(replace(item, steady=False) for item in with_lookups.lookups)
    text = FORMATS["table"](replace(with_lookups, lookups=odd), RenderOptions(width=80))
    assert "2~" in text
    assert max(map(len, text.splitlines())) <= 100


def test_json_has_every_counter_of_every_benchmark(with_lookups: SlopesReport) -> None:
    data = json.loads(FORMATS["json"](with_lookups, WIDE))["lookups"]
    creat = {item["counter"]: item for item in data if item["benchmark"] == "creat"}
    assert len(creat) == 6
    assert creat["avc.lookups"] == {
        "benchmark": "creat",
        "params": {"depth": 1},
        "kernel": "6.1",
        "setup": "selinux",
        "counter": "avc.lookups",
        "per_operation": 6,
        "steady": True,
    }
    assert creat["avc.misses"]["per_operation"] == 0


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_it_is_said_what_a_slope_counts(recorded: SlopesReport, form: str) -> None:
    text = " ".join(FORMATS[form](recorded, WIDE).replace("\\", "").split())
    assert "calls: of hooks that consult the policy (inode_permission, file_permission)" in text
    for word in ("uthorisation", "decision", "auth."):
        assert word not in text


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
    odd = replace(recorded.slopes[0], hook_calls=Whole(None, "2.37 is no whole number"))
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
