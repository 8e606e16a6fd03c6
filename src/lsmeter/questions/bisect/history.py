# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel's history, read by git; and a work tree of our own, so that the user's is not touched.

The work tree is a repository that borrows the user's objects and has a HEAD of its own: nothing is
written below the user's tree, its .git included.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from lsmeter.core import process
from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.core.storage import cache_dir, make_dir, write_atomic, writing

_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_CANDIDATE = re.compile(r"([0-9a-f]{40,64}) .*?dist=[0-9]")
_CHECKOUT_S = 3600.0
SHORT = 12  # letters of a commit's name that people see


@dataclass(frozen=True)
class Commit:
    """What people see of a commit."""

    subject: str
    author: str
    date: str


@dataclass(frozen=True)
class History:
    """A repository of the user's: its top directory, and the directory of its objects."""

    tree: Path
    objects: Path

    @property
    def key(self) -> str:
        """Name the repository in names of files of ours."""
        return hashlib.sha256(str(self.objects).encode()).hexdigest()[:12]

    def commit(self, word: str, where: str) -> str:
        """Return the commit that a user's word names; UsageError where it names none."""
        spec = ("--verify", "--quiet", "--end-of-options", f"{word}^{{commit}}")
        done = process.run(process.git(self.tree, "rev-parse", *spec))
        found = done.stdout.strip()
        if done.returncode or not _ID.fullmatch(found):
            raise UsageError(
                f"{where}: {self.tree} has no commit '{word[:80]}'",
                hint="a hash, a tag or a branch; `git log --oneline` shows them",
            )
        return found

    def check_order(self, good: str, bad: str) -> None:
        """Refuse two commits of which the good one is not an ancestor of the bad one."""
        if good == bad:
            raise UsageError(f"--good and --bad are one commit, {good[:SHORT]}")
        if process.run(process.git(self.tree, "merge-base", "--is-ancestor", good, bad)).returncode:
            base = process.run(process.git(self.tree, "merge-base", good, bad)).stdout.strip()
            raise UsageError(
                f"--good {good[:SHORT]} is not an ancestor of --bad {bad[:SHORT]}",
                hint=f"their last common commit is {base[:SHORT]}: try it as --good"
                if base
                else "they have no commit in common",
            )

    def candidates(self, bad: str, goods: Iterable[str]) -> tuple[str, ...]:
        """Return all that may be the first bad commit, what halves them best first."""
        words = ("rev-list", "--bisect-all", bad, "--not", *dict.fromkeys(goods))
        lines = run_git(self.tree, *words).splitlines()
        return tuple(found[1] for line in lines if (found := _CANDIDATE.match(line)))

    def describe(self, commit: str) -> Commit:
        """Return what people see of a commit."""
        parts = run_git(self.tree, "show", "-s", "--format=%s%x00%an <%ae>%x00%cs", commit)
        return Commit(*(part.strip() for part in parts.split("\0")))

    def named(self, commit: str) -> str:
        """Return a commit's short name and subject, for a line of progress."""
        return f"{commit[:SHORT]} {self.describe(commit).subject[:60]}"

    def commits(self, base: str, last: str) -> tuple[str, ...]:
        """Return the commits after a base up to the last one, the oldest first."""
        words = ("rev-list", "--reverse", "--topo-order", "--first-parent", f"{base}..{last}")
        return tuple(run_git(self.tree, *words).split())

    def parent(self, commit: str) -> str:
        """Return the first parent of a commit."""
        return run_git(self.tree, "rev-parse", "--verify", f"{commit}^1").strip()


def find_history(tree: Path) -> History:
    """Return the repository that a tree is of; UsageError where it is none."""
    if not tree.is_dir():
        raise UsageError(f"{tree}: no such directory", hint="give the directory of a kernel's git")
    words = ("rev-parse", "--show-toplevel", "--git-path", "objects")
    done = process.run(process.git(tree, *words))
    lines = done.stdout.splitlines()
    if done.returncode or len(lines) != 2:
        said = process.last_words(done).removeprefix("fatal: ")
        raise UsageError(f"{tree} is no git work tree: {said}", hint="bisect needs a git history")
    return History(Path(lines[0]), (tree / lines[1]).resolve())


def own_history(history: History) -> History:
    """Return a user's history in a work tree of ours in the cache, made where it is missing."""
    home = make_dir(cache_dir() / "bisect") / f"{history.tree.name[:40]}-{history.key}"
    if not (home / ".git/HEAD").is_file():
        with writing(home):
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir(parents=True)
        run_git(home, "init", "--quiet", ".")
    # So that it finds the user's objects, wherever they are now.
    write_atomic(home / ".git/objects/info/alternates", f"{history.objects}\n".encode())
    shallow = history.objects.parent / "shallow"
    if shallow.is_file():
        write_atomic(home / ".git/shallow", shallow.read_bytes())
    else:
        (home / ".git/shallow").unlink(missing_ok=True)  # it may have been one, and is no longer
    return replace(history, tree=home)


def check_out(home: Path, commit: str) -> None:
    """Put a commit's files into our work tree; those that do not differ keep their times."""
    (home / ".git/index.lock").unlink(missing_ok=True)  # of a git that was killed; we hold the tree
    words = ("-c", "advice.detachedHead=false", "checkout", "--quiet", "--force", "--detach")
    done = process.run(process.git(home, *words, commit), deadline_s=_CHECKOUT_S)
    if done.returncode:
        raise InfrastructureError(
            f"git cannot check out {commit[:SHORT]}: {process.last_words(done)}",
            hint="is the disk full, or the repository a partial clone? `git fetch` what it lacks",
        )


def run_git(tree: Path, *words: str) -> str:
    """Return what a git command prints; UsageError where it fails."""
    done = process.run(process.git(tree, *words))
    if done.returncode:
        raise UsageError(f"git {words[0]} fails in {tree}: {process.last_words(done)}")
    return done.stdout
