# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter help TOPIC` in a terminal, where nobody reads the source of a table."""

from __future__ import annotations

import os
from pathlib import Path

from tests.terminal import install, terminal


def test_a_terminal_gets_a_document_laid_out(tmp_path: Path) -> None:
    install(tmp_path / "bin")
    with terminal(tmp_path, {**os.environ, "COLUMNS": "80"}, tmp_path / "bin") as shown:
        shown.command("lsmeter help experiments")
        shown.command("echo en''ded")
        shown.until("ended")
    assert "An experiment is a TOML file" in shown.said
    assert "|---|" not in shown.said
