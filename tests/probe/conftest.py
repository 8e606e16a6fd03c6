# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds the probe once for all tests that run it."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from lsmeter.guest.probe import Program

SOURCE = Path(__file__).parents[2] / "probe"


def built(output: Path, *variables: str) -> Program:
    """Build the probe into `output`, with variables of its Makefile."""
    words = ["make", "-s", "-C", str(SOURCE), f"O={output}", *variables]
    subprocess.run(words, check=True)
    path = output / "lsmeter-probe"
    return Program(path, hashlib.sha256(path.read_bytes()).hexdigest())


@pytest.fixture(scope="session")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return built(tmp_path_factory.mktemp("probe"))
