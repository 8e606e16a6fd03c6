# SPDX-License-Identifier: GPL-2.0-or-later
"""A series of commits: a range of a history, or files of patches that are made into commits.

Patches are applied to an index of our own repository alone: no file of a work tree is written,
and no hook, filter or setting of the user's has a say. What is applied is code all the same, which
a build then runs.
"""

from __future__ import annotations

import posixpath
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lsmeter.core import process
from lsmeter.core.errors import UsageError
from lsmeter.core.inputs import read_file
from lsmeter.questions.bisect.history import Commit, History, run_git

MOST_COMMITS = 100
_MOST_BYTES = 16 << 20  # of one file of patches
_LINK, _SUBMODULE = "120000", "160000"
_BARE = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_COMMITTER_NAME": "lsmeter",
    "GIT_COMMITTER_EMAIL": "lsmeter@localhost",
}
_DIFF = ("-U0", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames")
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_NAMED = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_NO_TEXT = re.compile(r"\s*$|/\*|//| \*[ /]| \*$")  # and no code, outside functions
_NO_CODE = re.compile(r"(Documentation|samples|tools)/.*|.*\.(rst|txt|md)|MAINTAINERS|README")


@dataclass(frozen=True)
class Patch:
    """One of a series: the commit that it is, or why it is none."""

    commit: str  # "" where it was not made
    told: Commit
    why: str = ""


def read_range(history: History, word: str) -> tuple[str, tuple[Patch, ...]]:
    """Return the parent of a range's first commit, and its commits; `A` is `A..HEAD`.

    A may have gone on since the range left it: what it gained is none of the range's.
    """
    first, _, last = word.partition("..")
    base = history.commit(first or "HEAD", "RANGE")
    end = history.commit(last.removeprefix(".") or "HEAD", "RANGE")
    found = history.commits(base, end)
    if not found:
        raise UsageError(
            f"RANGE: there is no commit in {word[:80]}", hint="as git log has it: A..B"
        )
    _check_count(len(found), word[:80])
    return history.parent(found[0]), tuple(Patch(name, history.describe(name)) for name in found)


def apply_files(tree: Path, base: str, files: Sequence[Path]) -> Iterator[Patch]:
    """Make a commit of each patch in mails or plain diffs, on top of those that applied."""
    mails = [mail for path in files for mail in _mails(path)]
    _check_count(len(mails), "the files")
    with tempfile.TemporaryDirectory() as folder:
        applying = _Applying(tree, Path(folder), base)
        for name, mail in mails:
            yield applying.apply(name, mail)


def touched_functions(tree: Path, base: str, last: str) -> frozenset[str] | None:
    """Name the functions in whose text commits differ; None where they differ elsewhere, too."""
    found: set[str | None] = set()
    for path in _changed_files(tree, base, last):
        if _NO_CODE.fullmatch(path):
            continue
        if not path.endswith(".c"):
            return None
        before, after = (_lines_of(tree, commit, path) for commit in (base, last))
        for hunk in _HUNK.finditer(run_git(tree, "diff", *_DIFF, base, last, "--", path)):
            found |= {before.get(number) for number in _numbers(hunk[1], hunk[2])}
            found |= {after.get(number) for number in _numbers(hunk[3], hunk[4])}
    return None if None in found else frozenset(name for name in found if name)


def _changed_files(tree: Path, base: str, last: str) -> list[str]:
    names = run_git(tree, "diff", "--name-only", "--no-renames", "-z", base, last)
    return names.split("\0")[:-1]


def _numbers(first: str, count: str | None) -> range:
    return range(int(first), int(first) + int(count or 1))


def _lines_of(tree: Path, commit: str, path: str) -> dict[int, str]:
    """Return the lines of a file's functions, with their names, and its comments, with "".

    As the kernel's style has it: a function's braces, and no others, begin a line.
    """
    done = process.run(process.git(tree, "cat-file", "blob", f"{commit}:{path}"))
    found: dict[int, str] = {}
    head: dict[int, str] = {}  # what stands before a brace, without a blank line
    name = ""
    for number, line in enumerate(done.stdout.split("\n") if not done.returncode else (), 1):
        if not name and line.startswith("{") and (named := _NAMED.search("\n".join(head.values()))):
            name = named[1]
            found |= dict.fromkeys(head, name)
        if name:
            found[number] = name
            name = "" if line.startswith("}") else name
            head = {}
        elif _NO_TEXT.match(line):
            found[number], head = "", {}
        else:
            ends = line.startswith(("#", "}")) or line.rstrip().endswith(";")
            head = {} if ends else {**head, number: line}
    return found


def touched_modules(tree: Path, base: str, last: str) -> tuple[str, ...]:
    """Name the folders of security modules in which commits differ."""
    names = _changed_files(tree, base, last)
    parts = (name.split("/") for name in names if name.startswith("security/"))
    return tuple(sorted({part[1] for part in parts if len(part) > 2}))


class _Applying:
    """Commits that grow on a base, in an index of their own."""

    def __init__(self, tree: Path, folder: Path, base: str) -> None:
        self._tree, self._folder, self._head = tree, folder, base
        date = run_git(tree, "show", "-s", "--format=%cI", base).strip()
        dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}  # so that names repeat
        self._env = process.environment({**_BARE, **dates, "GIT_INDEX_FILE": str(folder / "index")})

    def apply(self, name: str, mail: bytes) -> Patch:
        """Apply one; what does not apply leaves all as it was."""
        message, diff = self._folder / "message", self._folder / "diff"
        said, why = self._git("mailinfo", str(message), str(diff), stdin=mail)
        facts = dict(re.findall(r"^(Author|Email|Subject): (.*)$", said, re.MULTILINE))
        subject = facts.get("Subject") or name
        told = Commit(subject, f"{facts.get('Author', '')} <{facts.get('Email', '')}>", "")
        if why:
            return Patch("", told, f"{name} holds no patch")
        if not facts:  # a plain diff
            diff.write_bytes(mail)
        self._git("read-tree", self._head)
        _, why = self._git("apply", "--cached", "--whitespace=nowarn", str(diff))
        if why:
            return Patch("", told, why)
        made, _ = self._git("write-tree")
        text = f"{subject}\n\n".encode() + message.read_bytes()
        author = {
            "GIT_AUTHOR_NAME": facts.get("Author") or "unknown",
            "GIT_AUTHOR_EMAIL": facts.get("Email") or "unknown",
        }
        commit, why = self._git("commit-tree", made, "-p", self._head, stdin=text, **author)
        if why := why or _leading_out(self._tree, commit):
            return Patch("", told, why)
        self._head = commit
        return Patch(commit, told)

    def _git(self, *words: str, stdin: bytes = b"", **env: str) -> tuple[str, str]:
        """Return what git prints, and the first line of why it fails (what does not fit, where)."""
        command, env = process.git(self._tree, *words), {**self._env, **env}
        done = process.run_bytes(command, stdin=stdin, env=env)
        out, err = (text.decode(errors="replace").strip() for text in (done.stdout, done.stderr))
        first = (err.splitlines() or ["git fails"])[0] if done.returncode else ""
        return out, first.removeprefix("error: ").removeprefix("fatal: ")[:200]


def _mails(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the mails of a file; one that is no mailbox is one."""
    try:
        data = read_file(path, _MOST_BYTES, "a patch")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    parts = [part for part in re.split(rb"(?m)^(?=From [0-9a-f]{40} )", data) if part.strip()]
    parts = parts or [b""]  # what git format-patch makes of a commit that changes no file
    for number, part in enumerate(parts, 1):
        yield path.name + (f" ({number})" if len(parts) > 1 else ""), part


def _check_count(count: int, where: str) -> None:
    if count > MOST_COMMITS:
        raise UsageError(
            f"{where}: {count} commits; at most {MOST_COMMITS} are measured",
            hint="name a part of them; lsmeter bisect finds one of many",
        )


def _leading_out(tree: Path, commit: str) -> str:
    """Say which link or repository a commit adds that leads out of the tree; "" for none."""
    words = ("diff-tree", "-r", "-z", "--root", "--no-commit-id", "--no-renames", "-m")
    parts = run_git(tree, *words, "--first-parent", commit).split("\0")
    for facts, path in zip(parts[::2], parts[1::2], strict=False):
        _, mode, _, blob, *_ = facts.split(" ")
        if mode == _SUBMODULE:
            return f"refused: {path} is another repository"
        if mode == _LINK:
            target = run_git(tree, "cat-file", "blob", blob)
            goal = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
            if goal.startswith(("/", "..")):
                return f"refused: {path} is a link that leads out of the tree"
    return ""
