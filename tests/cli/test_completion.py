# SPDX-License-Identifier: GPL-2.0-or-later
"""Completion in a real bash: what a line is after the tab key, as the command then gets it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

from tests.conftest import Lsmeter
from tests.terminal import Terminal, install, terminal

# It completes as ever, and else says its words.
_WORDS = """[ "$_LSMETER_COMPLETE" ] || { printf '<%s>' "$@"; echo; exit; }"""
_NO_BREAKS = "COMP_WORDBREAKS=${COMP_WORDBREAKS//[:=]/}"
_BREAKS = "COMP_WORDBREAKS+=:="


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    home = tmp_path_factory.mktemp("home")
    install(home / "bin", _WORDS)
    for name in ("runs/one/boots", "runs/one two"):
        (home / name).mkdir(parents=True)
        (home / name / "manifest.json").touch()
    environment = {**os.environ, "HOME": str(home), "LSMETER_CACHE": str(home / "cache")}
    with terminal(home, environment, home / "bin") as shown:
        shown.command(f"{sys.executable} -m lsmeter --show-completion >script; . ./script")
        yield shown


def _taken(shell: Terminal, typed: str) -> str:
    """Type a command, and return the words that it got."""
    shell.command(f"lsmeter {typed}")
    return shell.until(r"\n<.*>\r").strip()


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("run -k debian:7\t", "<run><-k><debian:7.2>"),
        # Two begin so: what they share is typed, and nothing is said twice.
        ("run -k debian:6.\t2\t", "<run><-k><debian:6.12>"),
        ("run -k debian:\t7\t-s selin\t", "<run><-k><debian:7.2><-s><selinux>"),
        ("run --kernel=debian:7\t", "<run><--kernel=debian:7.2>"),
        ("run -s landlock:la\t4", "<run><-s><landlock:layers=4>"),
        ("run --setup=landlock:la\t4", "<run><--setup=landlock:layers=4>"),
        ("run -s selinux+landlock:la\t4", "<run><-s><selinux+landlock:layers=4>"),
        ("run -k 'debian:7\t", "<run><-k><debian:7.2>"),
        ('run -k "debian:7\t', "<run><-k><debian:7.2>"),
        ("run -b 'open depth=4\t", "<run><-b><open depth=4>"),
        ("run -b open\\ depth=4\t", "<run><-b><open depth=4>"),
        ("run -b sync\t", "<run><-b><sync>"),
        ("hooks cou\t-k debian:7\t", "<hooks><count><-k><debian:7.2>"),
        ("report runs/one\\ \t", "<report><runs/one two>"),
        ("report scr\t", "<report><script>"),
        ("report nothing-like-it\t", "<report><nothing-like-it>"),
    ],
)
def test_a_word_is_completed(shell: Terminal, typed: str, words: str) -> None:
    assert _taken(shell, typed) == words


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("run -k debian:7\t", "<run><-k><debian:7.2>"),
        ("run --setup=landlock:la\t4", "<run><--setup=landlock:layers=4>"),
    ],
)
def test_a_word_is_completed_where_colons_end_none(shell: Terminal, typed: str, words: str) -> None:
    shell.command(_NO_BREAKS)
    assert _taken(shell, typed) == words
    shell.command(_BREAKS)


@pytest.mark.parametrize(
    ("name", "begins", "ours"),
    [
        ("bash", "_lsmeter_completion() {", True),
        ("zsh", "#compdef lsmeter", False),
        ("fish", "complete --command lsmeter", False),
    ],
)
def test_other_shells_have_the_usual_script(
    lsmeter: Lsmeter, name: str, begins: str, *, ours: bool
) -> None:
    done = lsmeter(_LSMETER_COMPLETE=f"source_{name}")
    assert (done.code, done.err) == (0, "")
    assert done.out.lstrip().startswith(begins)
    assert ("Readline" in done.out) is ours
