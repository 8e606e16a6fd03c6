# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter publish` on the stored run: its numbers, its news, and wrong use."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import InProcess

MAIN = Path(__file__).parents[2] / "examples" / "main.lsmeter"


def test_a_site_of_a_stored_run_has_the_numbers_of_its_report(
    in_process: InProcess, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    done = in_process("publish", str(MAIN), "-o", str(site))
    assert done.code == 0
    data = json.loads((site / "site.json").read_text())
    overheads = {
        (graph["setup"], graph["benchmark"]): graph["overhead"][0]
        for graph in data["graphs"]
        if graph["decided_by"] == ["typical"]
    }
    report = json.loads(in_process("report", str(MAIN), "--format", "json").out)
    told = {
        (item["setup"], item["id"]): item["overhead"]
        for item in report["comparisons"]
        if (item["setup"], item["id"]) in overheads and item["overhead"] is not None
    }
    assert len(told) > 100
    assert overheads == {key: round(value, 6) for key, value in told.items()}
    assert (data["changes"], (site / "news.txt").read_text()) == ([], "")
    (site / "site.json").write_text("[]")
    again = in_process("publish", str(MAIN), "-o", str(site))
    assert again.code == 2
    assert "not the JSON of a site" in again.err


def test_nothing_to_publish_is_wrong_usage(in_process: InProcess, tmp_path: Path) -> None:
    done = in_process("publish", str(tmp_path / "none"), "-o", str(tmp_path / "site"))
    assert done.code == 2
    assert not (tmp_path / "site").exists()
