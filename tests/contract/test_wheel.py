# SPDX-License-Identifier: GPL-2.0-or-later
"""What `pip install .` installs has the documents of `lsmeter help`, and the runs of `demo`."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = {path.stem: path.read_text("utf-8") for path in (ROOT / "docs").rglob("[a-z]*.md")}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack a wheel; the hook that compiles the guest's programs is left out."""
    home = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(home)],
        cwd=ROOT,
        env={**os.environ, "HATCH_BUILD_NO_HOOKS": "true"},
        check=True,
        capture_output=True,
    )
    (wheel,) = home.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(home / "site")
    return home / "site"


def _run(installed: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "lsmeter", *words],
        cwd=installed.parent,
        env={**os.environ, "PYTHONPATH": str(installed), "PYTHONUTF8": "1"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_wheel_has_every_document(installed: Path) -> None:
    documents = (installed / "lsmeter/_docs").rglob("[a-z]*.md")
    found = {path.stem: path.read_text("utf-8") for path in documents}
    assert found == DOCUMENTS


def test_they_are_listed_and_shown_from_there(installed: Path) -> None:
    assert {line.split()[0] for line in _run(installed, "help").splitlines()} == DOCUMENTS.keys()
    text = DOCUMENTS["experiments"]
    assert _run(installed, "help", "experiments") == text[text.index("# ") :]


def test_the_demo_shows_its_runs_from_there(installed: Path) -> None:
    text = _run(installed, "demo", "shown")
    commands = [line for line in text.splitlines() if line.startswith("$ lsmeter ")]
    assert [line.split()[2] for line in commands] == ["report", "report", "compare", "gate"]
    for said in ("SELinux without a policy: median +", "What changed", "Gate: a rule is broken"):
        assert said in text
    home = installed.parent / "shown"
    assert {path.name for path in home.iterdir()} == {
        *("before.lsmeter", "after.lsmeter", "report.html")
    }
    assert sum(path.stat().st_size for path in home.glob("*.lsmeter")) < 200_000
    # What it says of a command is what the command shows.
    (gate,) = [line for line in commands if " gate " in line]
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(gate)[1:]],
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(installed), "PYTHONUTF8": "1"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout in text
