# SPDX-License-Identifier: GPL-2.0-or-later
"""The documents are true: their commands exist, the quick ones run, and no link leads nowhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer
from bench import results

from lsmeter.app import make_app
from lsmeter.cli import manual
from tests.conftest import InProcess
from tests.contract.documents import (
    DOCUMENTS,
    ROOT,
    anchors,
    commands,
    links,
    quick_commands,
    words,
)

README_LINES = 90
TEXTS = {path.relative_to(ROOT): path.read_text("utf-8") for path in DOCUMENTS}
QUICK = sorted({command for text in TEXTS.values() for command in quick_commands(text)})
PROGRAM: Any = typer.main.get_command(make_app())


def wrong_in(command: str) -> str:
    """Return what of a command line does not exist."""
    found = PROGRAM
    for word in words(command):
        if hasattr(found, "commands") and not word.startswith("-"):
            if word.isupper() or word == "…":  # any command
                return ""
            if word not in found.commands:
                return word
            found = found.commands[word]
        elif re.match(r"--?[a-z]", word):
            known = {name for item in found.params for name in (*item.opts, *item.secondary_opts)}
            known |= {"-h", "--help", *manual._OLD_NAMES}
            if word.partition("=")[0] not in known:
                return word
    return ""


def test_a_wrong_command_is_seen() -> None:
    assert wrong_in("lsmeter reprt runs/x") == "reprt"
    assert wrong_in("lsmeter hooks cots") == "cots"
    assert wrong_in("lsmeter report --beneath lomac2001 | less") == "--beneath"
    assert wrong_in("lsmeter report --beside lomac2001 | less -S # --beneath") == ""


@pytest.mark.parametrize("path", TEXTS, ids=str)
def test_commands_exist(path: Path) -> None:
    wrong = {command: found for command in commands(TEXTS[path]) if (found := wrong_in(command))}
    assert wrong == {}


def test_commands_are_found() -> None:
    assert sum(len(list(commands(text))) for text in TEXTS.values()) > 200
    assert len(QUICK) > 10


@pytest.fixture
def checkout(in_process: InProcess) -> InProcess:
    """Return the command in a directory that has what the documents name, and is thrown away."""
    for name in ("examples", "experiments", "kernel", "tests"):
        (in_process.home / name).symlink_to(ROOT / name)
    return in_process


@pytest.mark.parametrize("command", [c for c in QUICK if "--dry-run" not in c])
def test_quick_commands_run(checkout: InProcess, command: str) -> None:
    done = checkout(*words(command))
    assert done.code == 0, done.err


@pytest.mark.guest
@pytest.mark.parametrize("command", [c for c in QUICK if "--dry-run" in c])
def test_plans_are_shown(checkout: InProcess, command: str) -> None:
    done = checkout(*words(command))
    assert done.code == 0, done.err
    assert "plan " in done.err


@pytest.mark.parametrize("path", TEXTS, ids=str)
def test_links_lead_somewhere(path: Path) -> None:
    wrong = []
    for link in links(TEXTS[path]):
        if re.match(r"(https?|mailto):", link):
            continue
        name, _, anchor = link.partition("#")
        target = (ROOT / path).parent / name if name else ROOT / path
        if not target.exists() or (anchor and anchor not in anchors(target.read_text("utf-8"))):
            wrong.append(link)
    assert wrong == []


@pytest.mark.parametrize("path", TEXTS, ids=str)
def test_files_of_the_repository_that_are_named_exist(path: Path) -> None:
    tree = "|".join(("bench", "bpf", "experiments", "examples", "kernel", "plugin", "probe"))
    named = re.findall(rf"`((?:{tree}|scripts|src|tests)/[\w./-]+)", TEXTS[path])
    kept = [name.rpartition("/")[0] if "NAME" in name else name for name in named]
    assert [name for name in kept if not (ROOT / name).exists()] == []


def test_every_document_is_listed_once() -> None:
    listed = list(links(TEXTS[Path("docs/README.md")]))
    there = [str(path.relative_to("docs")) for path in TEXTS if path.parts[0] == "docs"]
    assert sorted(listed) == sorted(name for name in there if name != "README.md")


def test_nothing_is_fetched_to_show_a_document() -> None:
    picture = re.compile(r"!\[[^]]*\]\(https?:|(?:src|srcset)=\"https?:|<script|<iframe")
    pictures = {path.name: path.read_text("utf-8") for path in (ROOT / "docs").rglob("*.svg")}
    assert len(pictures) == 5
    assert [path for path, text in TEXTS.items() if picture.search(text)] == []
    for text in pictures.values():
        assert not re.search(r"(href|src|url\()", text)


def test_the_readme_is_short() -> None:
    assert len(TEXTS[Path("README.md")].splitlines()) <= README_LINES


def test_results_are_those_of_the_stored_run() -> None:
    made = results.files(results.report_of(results.RUN))
    assert len(made) == 4
    assert [path for path, text in made.items() if path.read_text("utf-8") != text] == []
