# SPDX-License-Identifier: GPL-2.0-or-later
"""What a git tree holds right now, committed or not; only reads it."""

from __future__ import annotations

import hashlib
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lsmeter.errors import InfrastructureError, UsageError

_GIT_TIMEOUT_S = 120
_MAX_UNTRACKED_BYTES = 64 << 20


@dataclass(frozen=True)
class TreeState:
    """The commit, and a hash of all that differs from it: "" when nothing does."""

    head: str
    changes: str


def is_git(tree: Path) -> bool:
    """Say whether `tree` is the top of a git tree (a linked work tree has a file there)."""
    return (tree / ".git").exists()


def state(tree: Path) -> TreeState:
    """Return commit and changes; the changes are those of tracked and of new, unignored files."""
    head = _git(tree, "rev-parse", "HEAD").decode().strip()
    difference = _git(tree, "diff", "--no-ext-diff", "--no-textconv", "--binary", "HEAD")
    new = [name for name in _git(tree, *_NEW_FILES).split(b"\0") if name]
    if not difference and not new:
        return TreeState(head, "")
    digest = hashlib.sha256(difference)
    for name in sorted(new):
        digest.update(b"\0" + name + b"\0" + _content(tree / os.fsdecode(name)))
    return TreeState(head, digest.hexdigest())


def files(tree: Path) -> tuple[str, ...]:
    """Return tracked and new, unignored files: the tree without what a build left in it."""
    names = _git(tree, "ls-files", "-z", "--cached").split(b"\0")
    names += _git(tree, *_NEW_FILES).split(b"\0")
    decoded = sorted({os.fsdecode(name) for name in names if name})
    return tuple(name for name in decoded if os.path.lexists(tree / name))


_NEW_FILES = ("ls-files", "-z", "--others", "--exclude-standard")


def _content(path: Path) -> bytes:
    if path.is_symlink():
        return os.fsencode(path.readlink())
    if not path.is_file():
        return b""
    if path.stat().st_size > _MAX_UNTRACKED_BYTES:
        raise UsageError(
            f"{path} is new in the kernel tree and larger than {_MAX_UNTRACKED_BYTES >> 20} MiB",
            hint="commit it, or have git ignore it (.git/info/exclude)",
        )
    return path.read_bytes()


def _git(tree: Path, *words: str) -> bytes:
    # no lock and no rewrite of the index: the tree belongs to someone else
    command = ["git", "--no-optional-locks", "-C", str(tree), *words]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_GIT_TIMEOUT_S, check=False)
    except FileNotFoundError as error:
        raise InfrastructureError("git is not installed", hint="install git") from error
    except subprocess.TimeoutExpired as error:
        raise InfrastructureError(f"git {words[0]} in {tree} took too long") from error
    if done.returncode:
        lines = tuple(done.stderr.decode(errors="replace").splitlines()[-5:])
        raise UsageError(
            f"git {words[0]} fails in {tree}",
            hint="the tree needs at least one commit; see what git says",
            log_tail=lines,
        )
    return done.stdout
