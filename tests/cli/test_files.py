# SPDX-License-Identifier: GPL-2.0-or-later
"""Formats for files, Parquet and SVG, from the command line."""

from __future__ import annotations

import csv
import io
import os
import pty
import subprocess
import sys

import polars as pl
import pytest

from tests.cli.test_replay import FINE, measured
from tests.conftest import Lsmeter


@pytest.fixture
def stored(replay: Lsmeter) -> Lsmeter:
    """Return the command line with a run that was made."""
    assert measured(replay, *FINE).code == 0
    return replay


def test_parquet_is_written_to_a_file_with_the_rows_of_csv(stored: Lsmeter) -> None:
    rows = list(csv.DictReader(io.StringIO(stored("report", "run", "-f", "csv").out)))
    done = stored("report", "run", "-f", "parquet", "-o", "run.parquet")
    assert (done.code, done.out) == (0, ""), done.err
    frame = pl.read_parquet(stored.home / "run.parquet")
    assert frame.columns == list(rows[0])
    assert [str(value) for value in frame["unit"]] == [row["unit"] for row in rows]
    assert frame["samples"].to_list() == [int(row["samples"]) for row in rows]


def test_plots_go_to_a_directory_or_numbered_files(stored: Lsmeter) -> None:
    done = stored("report", "run", "-f", "svg", "-o", "plots")
    assert done.code == 0, done.err
    names = sorted(path.name for path in (stored.home / "plots").iterdir())
    assert len(names) > 1 and names[0].startswith("01-overhead-of-each-operation")
    done = stored("report", "run", "-f", "svg", "-o", "plot.svg")
    assert done.code == 0, done.err
    assert len(list(stored.home.glob("plot-[0-9].svg"))) == len(names)
    for path in stored.home.glob("plot-*.svg"):
        assert b'xmlns="http://www.w3.org/2000/svg"' in path.read_bytes()


def test_several_plots_need_a_directory(stored: Lsmeter) -> None:
    done = stored("report", "run", "-f", "svg")
    assert (done.code, done.out) == (2, "")
    assert "-o DIRECTORY" in done.err


def test_what_has_no_plots_says_so(in_process: Lsmeter) -> None:
    done = in_process("list", "setups", "-f", "svg", "-o", "plots")
    assert done.code == 2
    assert "there are no plots" in done.err and "hint:" in done.err
    assert not (in_process.home / "plots").exists()


@pytest.mark.parametrize(("form", "code"), [("parquet", 2), ("csv", 0)])
def test_no_file_is_written_to_a_terminal(form: str, code: int) -> None:
    master, slave = pty.openpty()
    words = [sys.executable, "-m", "lsmeter", "list", "formats", "-f", form]
    done = subprocess.run(words, stdout=slave, stderr=subprocess.PIPE, text=True, check=False)
    os.close(slave)
    os.close(master)
    assert done.returncode == code
    assert ("not for a terminal" in done.stderr) == bool(code)


def test_parquet_goes_through_a_pipe() -> None:
    words = [sys.executable, "-m", "lsmeter", "list", "setups", "-f", "parquet"]
    done = subprocess.run(words, capture_output=True, check=True)
    assert "selinux" in pl.read_parquet(io.BytesIO(done.stdout))["name"].to_list()
