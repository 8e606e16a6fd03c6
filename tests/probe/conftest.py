# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds the probe once for all tests that run it."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from lsmeter.guest.probe import Probe

SOURCE = Path(__file__).parents[2] / "probe"


@pytest.fixture(scope="session")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Probe:
    output = tmp_path_factory.mktemp("probe")
    subprocess.run(["make", "-s", "-C", str(SOURCE), f"O={output}"], check=True)
    path = output / "lsmeter-probe"
    return Probe(path, hashlib.sha256(path.read_bytes()).hexdigest())
