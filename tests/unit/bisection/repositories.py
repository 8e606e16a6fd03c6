# SPDX-License-Identifier: GPL-2.0-or-later
"""Small git repositories, as a user has them."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

_WHO = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")


def git(tree: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(tree), *_WHO, *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def commit(tree: Path, subject: str, files: Mapping[str, str]) -> str:
    """Commit files as they are given; return the commit."""
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "--allow-empty", "-m", subject)
    return git(tree, "rev-parse", "HEAD")


def repository(tree: Path, history: Sequence[Mapping[str, str]]) -> list[str]:
    """Make a repository of a line of commits; return them."""
    tree.mkdir()
    git(tree, "init", "-q", "-b", "main")
    return [commit(tree, f"change {at}", files) for at, files in enumerate(history)]
