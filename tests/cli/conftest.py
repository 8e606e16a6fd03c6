# SPDX-License-Identifier: GPL-2.0-or-later
"""The command on a machine whose guests were recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import InProcess, Lsmeter
from tests.unit.kernels.synthetic import bzimage, elf

CAPTURES = Path(__file__).parents[1] / "data" / "captures"


@pytest.fixture
def replay(in_process: InProcess, monkeypatch: pytest.MonkeyPatch) -> Lsmeter:
    """Return the command on a machine whose guests are recorded; its kernel is ./kernel."""
    (in_process.home / "kernel").write_bytes(bzimage(elf(), release="6.1.0-56-cloud-amd64"))
    monkeypatch.setenv("LSMETER_REPLAY", str(CAPTURES))
    monkeypatch.setenv("LSMETER_CACHE", str(in_process.home / "cache"))
    return in_process
