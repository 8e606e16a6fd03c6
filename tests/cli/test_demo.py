# SPDX-License-Identifier: GPL-2.0-or-later
"""What `lsmeter demo` shows is what the commands that it names show."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from shlex import split

from lsmeter.cli.show import HTML_FILE
from tests.conftest import InProcess


def _without_places(page: str) -> str:
    """Leave out where a plot draws: the widths of letters are this machine's."""
    return re.sub(r"<svg.*?</svg>", lambda plot: re.sub(r"<[^>]*>", "|", plot[0]), page, flags=re.S)


def test_each_part_is_what_its_command_says(in_process: InProcess, tmp_path: Path) -> None:
    shown = in_process("demo", str(tmp_path / "demo")).out
    commands = re.findall(r"^\$ lsmeter (.*)\n", shown, flags=re.M)
    assert [split(words)[0] for words in commands] == ["report", "report", "compare", "gate"]
    for words in commands:
        if "-o" not in split(words):
            assert in_process(*split(words)).out.rstrip() in shown


def test_the_page_in_the_package_is_as_it_is_made_now(
    in_process: InProcess, tmp_path: Path
) -> None:
    """Where this fails since pages have changed, the last line of scripts/demo.sh makes it anew."""
    home = resources.files("lsmeter.questions.demo")
    made = tmp_path / HTML_FILE
    in_process("report", str(home / "after.lsmeter"), "--format", "html", "-o", str(made))
    kept = (home / HTML_FILE).read_text("utf-8")
    assert _without_places(kept) == _without_places(made.read_text("utf-8"))
