# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

from pathlib import Path

import pytest

from lsmeter.core.errors import BuildError
from lsmeter.guest.probe import Program, catalogue, find_probe, parse_catalogue

HEAD = "lsmeter-catalogue\t4\n"
LINE = "file\topen\tdepth=1,link=soft\tlsmeter\t0\topen a file\tnewstat\tstat+close\t1\t0\n"


def test_line() -> None:
    (found,) = parse_catalogue(HEAD + LINE)
    assert found.id == "open depth=1 link=soft"
    assert found.params == (("depth", 1), ("link", "soft"))
    assert not found.control
    assert (found.calls, found.cycle, found.components) == ("newstat", "stat+close", 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected"),
        ("lsmeter-catalogue\t3\n", "expected"),
        (HEAD + LINE.strip(), "newline"),
        (HEAD + LINE + LINE, "line 3: open depth=1 link=soft is there twice"),
        (HEAD + "file\topen\n", "line 2: expected 10 fields, got 2"),
        (HEAD + LINE.replace("\t0\t", "\t2\t"), "not 0 or 1: '2'"),
        (HEAD + LINE.replace("\t0\n", "\t2\n"), "not 0 or 1: '2'"),
        (HEAD + LINE.replace("depth=1", "depth"), "not parameters: 'depth,link=soft'"),
        (HEAD + LINE.replace("open\t", "Open!\t"), "not a name: 'Open!'"),
        (HEAD + LINE.replace("stat+close", "stat+"), "not system calls: 'stat"),
        (HEAD + LINE.replace("\t1\t", "\t-1\t"), "not a number of components: '-1'"),
        (HEAD + LINE.replace("open a", "open\x1ba"), "not printable"),
    ],
)
def test_strict(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_catalogue(text)


def test_a_missing_probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LSMETER_PROBE", str(tmp_path / "none"))
    with pytest.raises(BuildError, match="LSMETER_PROBE names"):
        find_probe()


def test_a_probe_that_is_none(tmp_path: Path) -> None:
    false = tmp_path / "probe"
    false.write_text("#!/bin/sh\necho hello\n")
    false.chmod(0o755)
    with pytest.raises(BuildError, match="catalogue: expected"):
        catalogue(Program(false, ""))
