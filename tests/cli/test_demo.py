# SPDX-License-Identifier: GPL-2.0-or-later
"""What `lsmeter demo` shows is what the commands that it names show."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from shlex import split

import pytest

from lsmeter.cli.show import HTML_FILE
from lsmeter.questions.demo import command as demo
from tests.conftest import InProcess


def _without_places(page: str) -> str:
    """Leave out where a plot draws: the widths of letters are this machine's."""
    return re.sub(r"<svg.*?</svg>", lambda plot: re.sub(r"<[^>]*>", "|", plot[0]), page, flags=re.S)


def test_each_part_is_what_its_command_says(
    in_process: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where this fails since words have changed, `scripts/demo.sh shown` records them anew."""
    monkeypatch.setenv("TERM", "xterm")
    shown = in_process("demo", ".", "--colour", "always").out
    _, first, *parts = re.split(r"^\$ (.*)\n", shown, flags=re.M)
    assert first == "cd ."
    commands = [split(words) for words in parts[1::2]]
    assert [words[1] for words in commands] == ["report", "report", "compare", "gate"]
    for (_, *words), text in zip(commands, parts[2::2], strict=True):
        # The page is made by the test below; nothing is printed.
        made = "" if "-o" in words else in_process(*words, "--colour", "always").out
        assert made.rstrip() == text.removesuffix(demo.NEXT).rstrip()


def test_a_file_and_a_pipe_get_no_colour(in_process: InProcess, tmp_path: Path) -> None:
    plain = in_process("demo", str(tmp_path / "the demo")).out
    assert f"$ cd '{tmp_path / 'the demo'}'\n" in plain
    assert "Cost of security modules" in plain
    assert "\x1b" not in plain
    in_process(
        "demo", str(tmp_path / "the demo"), "-o", str(tmp_path / "text"), "--colour", "always"
    )
    assert (tmp_path / "text").read_text("utf-8") == plain


def test_the_page_in_the_package_is_as_it_is_made_now(
    in_process: InProcess, tmp_path: Path
) -> None:
    """Where this fails since pages have changed, `scripts/demo.sh shown` makes it anew."""
    home = resources.files("lsmeter.questions.demo")
    made = tmp_path / HTML_FILE
    in_process("report", str(home / "after.lsmeter"), "--format", "html", "-o", str(made))
    kept = (home / HTML_FILE).read_text("utf-8")
    assert _without_places(kept) == _without_places(made.read_text("utf-8"))
