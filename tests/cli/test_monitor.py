# SPDX-License-Identifier: GPL-2.0-or-later
"""`run --monitor` and `lsmeter monitor`, over a recorded guest of a real web server."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import polars as pl
import pytest

from tests.cli.test_replay import measured
from tests.cli.test_workloads import IMAGE_BYTES
from tests.conftest import Lsmeter

DATA = Path(__file__).parents[1] / "data"
ASKED = ("--setup", "selinux-enforcing", "--baseline", "selinux-enforcing", "--boots", "1")
WEB = ("run", "--suite", "web", *ASKED, "--benchmark", "missing concurrency=1")


@pytest.fixture
def run(replay: Lsmeter, monkeypatch: pytest.MonkeyPatch) -> Lsmeter:
    monkeypatch.setenv("LSMETER_REPLAY", str(DATA / "monitored"))
    image = replay.home / "image"
    with image.open("wb") as file:
        file.truncate(IMAGE_BYTES)
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", image], check=True)
    done = measured(replay, *WEB, "--image", "./image", "--monitor", "100")
    assert done.code == 0, done.err + done.out
    assert "monitored every 100 ms: not to be compared" in " ".join(done.out.split())
    return replay


def test_a_run_over_time(run: Lsmeter) -> None:
    done = run("monitor", "run")
    answer = " ".join(done.out.partition("\n\n")[0].split())
    assert re.search(
        r": CPU \d+\.\d % in user space, \d+\.\d % in the kernel, .* batches, ", answer
    )
    assert done.code == 0, done.err
    assert max(map(len, done.out.splitlines())) <= 80
    text = " ".join(done.out.split())
    assert "web with selinux-enforcing on ./kernel, tmpfs: over time" in text
    assert "Boot 0: 40 moments" in text
    assert "apache2" in text
    assert "AVC/s" in text
    assert "The same batches, counted exactly: whose instructions" in text


def test_all_values_for_programs(run: Lsmeter) -> None:
    (boot,) = json.loads(run("monitor", "run", "--format", "json").out)["boots"]
    assert len(boot["times_s"]) == 40
    assert {item["warmup"] for item in boot["batches"]} == {False, True}
    series = {item["name"]: item["values"] for item in boot["series"]}
    lookups = [value for value in series["avc_lookups_per_s"] if value is not None]
    assert max(lookups) > 1000
    shares = zip(*(series[name] for name in series if name.startswith("cpu_")), strict=True)
    whole = [sum(row) for row in shares if None not in row]
    assert whole == pytest.approx([100.0] * len(whole))
    assert max(v for v in series["network_eth0_sent_kib_per_s"] if v is not None) > 100
    heads, *rows = run("monitor", "run", "--format", "csv").out.splitlines()
    assert heads.startswith("time_s,benchmark,batch,cpu_user_percent,")
    assert len(rows) == 40
    assert run("monitor", "run", "--format", "parquet", "-o", "series.parquet").code == 0
    table = pl.read_parquet(run.home / "series.parquet")
    assert (table.height, table.columns) == (40, heads.split(","))


def test_a_page_has_plots_with_the_load_behind(run: Lsmeter) -> None:
    for words in (("monitor", "run"), ("report", "run")):
        page = run(*words, "--format", "html").out
        assert page.count('<svg class="plot"') >= 5
        assert ">missing concurrency=1</text>" in page
        for title in ("CPU by mode", "Memory", "Network", "SELinux&#39;s access vector cache"):
            assert f"<h3>{title}</h3>" in page, title


def test_what_was_not_monitored_is_told(run: Lsmeter) -> None:
    for words, why in (
        (("--setup", "smack"), "nothing of 'smack' was monitored"),
        (("--boot", "3"), "no boot 3 that says anything over time"),
    ):
        done = run("monitor", "run", *words)
        assert (done.code, why in " ".join(done.err.split())) == (2, True), done.err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("monitor", "file"), "file: neither a run directory nor a run that"),
        (("monitor", "nothing"), "nothing: no such run directory"),
        (("run", "--monitor", "50", "--dry-run"), "there is no workload among the suites"),
        (("run", "--suite", "web", "--monitor", "10001"), "monitor_ms"),
        (("run", "--suite", "web", "--monitor", "-1"), "monitor_ms"),
    ],
)
def test_what_cannot_be_shown_is_told_in_one_line(
    in_process: Lsmeter, words: tuple[str, ...], why: str
) -> None:
    (in_process.home / "file").write_bytes(b"\x89PNG\r\n")
    done = in_process(*words)
    assert done.code == 2
    assert why in " ".join(done.err.split())
    assert "Traceback" not in done.err
