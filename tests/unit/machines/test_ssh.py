# SPDX-License-Identifier: GPL-2.0-or-later
"""The scripts of a host clean up after themselves, whenever the connection breaks."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from lsmeter.machines import remote, ssh


@pytest.mark.parametrize("broken", ["stdin", "stdout", "both"])
def test_a_block_leaves_nothing_when_nobody_listens(tmp_path: Path, broken: str) -> None:
    base = tmp_path / "a place"
    base.mkdir()
    script = ssh._BLOCK.format(base=remote.quoted(str(base)))
    reader, writer = os.pipe()
    if broken != "stdin":
        os.close(reader)  # the first write meets SIGPIPE
    with os.fdopen(writer, "wb") as stdout:
        done = subprocess.run(
            ["/bin/sh", "-c", f"( {script} )"],
            input=b"go\n" if broken == "stdout" else b"",
            stdout=stdout,
            stderr=subprocess.PIPE,
            check=False,
        )
    if broken == "stdin":
        os.close(reader)
    assert done.returncode in (91, 92)
    assert list(base.iterdir()) == []


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("free 1", "no space left: 1 KiB are free, 2 are needed"),
        ("free 4", "tar: cannot"),
        (f"free {'9' * 5000}", "tar: cannot"),
        ("free", "tar: cannot"),
        ("", "tar: cannot"),
    ],
)
def test_a_full_disk_is_told_by_what_is_free(said: str, why: str) -> None:
    assert ssh._why_not(remote.Answer(93, said, "tar: cannot"), 2048) == why
