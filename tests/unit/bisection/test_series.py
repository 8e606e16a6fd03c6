# SPDX-License-Identifier: GPL-2.0-or-later
"""Series as they come: ranges, mails, plain diffs, and patches that want out of the tree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lsmeter.core.errors import UsageError
from lsmeter.questions.bisect.history import check_out, find_history, own_history
from lsmeter.questions.patches.series import (
    MOST_COMMITS,
    apply_files,
    read_range,
    touched_functions,
    touched_modules,
)
from tests.unit.bisection.repositories import commit, git, repository

CODE = "int first(int a)\n{\n\treturn a;\n}\n\nint second(int a)\n{\n\treturn a;\n}\n"
ADDED = "diff --git a/{0} b/{0}\nnew file mode {1}\n--- /dev/null\n+++ b/{0}\n@@ -0,0 +1 @@\n+{2}\n"
SUBJECTS = ["a.c: int f0; int first", "a.c: int f1; int first", "a.c: int f2; int first"]
NO_END = "\\ No newline at end of file\n"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path / "cache"))
    home = tmp_path / "tree"
    repository(home, [{"a.c": CODE, "security/mine/b.c": CODE, "README": "text\n"}])
    return home


def seen(tree: Path) -> dict[str, tuple[int, int]]:
    """Return sizes and times; git renews the time of an object that is to be made once more."""
    found = {str(path.relative_to(tree)): path.lstat() for path in tree.rglob("*")}
    times = {name: 0 if "objects" in name else item.st_mtime_ns for name, item in found.items()}
    return {name: (item.st_size, times[name]) for name, item in found.items()}


def change(tree: Path, path: str, old: str, new: str) -> str:
    return commit(tree, f"{path}: {new}", {path: (tree / path).read_text().replace(old, new)})


def test_mails_become_commits_as_they_were_and_nothing_of_the_users_runs(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = git(tree, "rev-parse", "HEAD")
    made = [change(tree, "a.c", "int first", f"int f{at};\nint first") for at in range(3)]
    files = git(tree, "format-patch", "-o", str(tmp_path), base).splitlines()
    box = tmp_path / "series.mbox"
    box.write_text("".join(Path(name).read_text() for name in files))
    # What the user has set up would fail each commit.
    hooks, settings = tmp_path / "hooks", tmp_path / "settings"
    hooks.mkdir()
    for name in ("applypatch-msg", "pre-commit", "post-checkout", "post-index-change"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n")
        (hooks / name).chmod(0o755)
    settings.write_text(f"[core]\n\thooksPath = {hooks}\n[commit]\n\tgpgSign = true\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    before = seen(tree)
    own = own_history(find_history(tree)).tree
    for names in (files, [str(box)]):
        found = [*apply_files(own, base, [Path(name) for name in names])]
        assert [item.why for item in found] == [""] * 3
        trees = [git(own, "rev-parse", f"{item.commit}^{{tree}}") for item in found]
        assert trees == [git(tree, "rev-parse", f"{name}^{{tree}}") for name in made]
        assert [item.told.subject for item in found] == SUBJECTS
        assert {item.told.author for item in found} == {"A <a@example.org>"}
        again = [item.commit for item in apply_files(own, base, [Path(name) for name in names])]
        assert again == [item.commit for item in found]
    assert not (tmp_path / "ran").exists()
    assert seen(tree) == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ADDED.format("../out", "100644", "x"), "invalid path '../out'"),
        (ADDED.format("/tmp/out", "100644", "x"), "invalid path"),
        (ADDED.format(".git/hooks/post-checkout", "100755", "x"), "invalid path"),
        (ADDED.format("deep/link", "120000", "../../out") + NO_END, "leads out of the tree"),
        (ADDED.format("link", "120000", "/etc") + NO_END, "leads out of the tree"),
        (ADDED.format("sub", "160000", f"Subproject commit {'1' * 40}"), "another repository"),
        (ADDED.format("a.c", "100644", "x"), "already exists"),
        ("From: A <a@b>\nSubject: words\n\nno diff\n", "No valid patches"),
        ("\0\xff" * 100, "No valid patches"),
        ("", "holds no patch"),
    ],
)
def test_what_leads_out_or_does_not_apply_is_left_out_and_the_rest_goes_on(
    tree: Path, tmp_path: Path, text: str, said: str
) -> None:
    base = git(tree, "rev-parse", "HEAD")
    (tmp_path / "one.diff").write_text(text, "latin-1")
    (tmp_path / "two.diff").write_text(ADDED.format("deep/inside", "120000", "../a.c") + NO_END)
    own = own_history(find_history(tree)).tree
    seen = {path for path in tmp_path.rglob("*") if own not in path.parents}
    files = [tmp_path / "one.diff", tmp_path / "two.diff"]
    lost, kept = apply_files(own, base, files)
    assert not lost.commit and said in lost.why
    assert not kept.why and kept.told.subject == "two.diff"
    assert git(own, "rev-parse", f"{kept.commit}^") == base
    assert {path for path in tmp_path.rglob("*") if own not in path.parents} == seen


def test_a_link_that_is_applied_leads_no_later_patch_out(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "one.diff").write_text(ADDED.format("inside", "120000", "security") + NO_END)
    (tmp_path / "two.diff").write_text(ADDED.format("inside/out", "100644", "x"))
    own = own_history(find_history(tree)).tree
    names = [tmp_path / "one.diff", tmp_path / "two.diff"]
    one, two = apply_files(own, git(tree, "rev-parse", "HEAD"), names)
    assert one.commit and "beyond a symbolic link" in two.why


def test_series_are_bounded(tree: Path, tmp_path: Path) -> None:
    base, own = git(tree, "rev-parse", "HEAD"), own_history(find_history(tree)).tree
    mail = f"From {'0' * 40} Mon\nFrom: A <a@b>\nSubject: s\n\n"
    (tmp_path / "many").write_text(mail * (MOST_COMMITS + 1))
    with pytest.raises(UsageError, match="at most"):
        [*apply_files(own, base, [tmp_path / "many"])]
    with (tmp_path / "large").open("wb") as file:
        file.truncate((16 << 20) + 1)
    with pytest.raises(UsageError, match="larger than"):
        [*apply_files(own, base, [tmp_path / "large"])]
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(UsageError, match="a FIFO"):
        [*apply_files(own, base, [tmp_path / "fifo"])]


def test_what_a_series_touches_is_known_by_function_or_not_at_all(tree: Path) -> None:
    base = git(tree, "rev-parse", "HEAD")
    last = change(tree, "security/mine/b.c", "return a", "return 1 + a")
    assert touched_modules(tree, base, last) == ("mine",)
    own = own_history(find_history(tree)).tree
    assert touched_functions(own, base, last) == {"first", "second"}
    text = commit(tree, "text", {"README": "other\n"})
    assert touched_functions(own, last, text) == frozenset()
    new = change(tree, "a.c", "int second", "int third(void)\n{\n}\n\nint second")
    assert touched_functions(own, text, new) == {"third"}
    outside = commit(tree, "data", {"a.c": "int data;\n" + (tree / "a.c").read_text()})
    assert touched_functions(own, base, outside) is None
    header = commit(tree, "header", {"a.h": "static inline int a(void) { return 0; }\n"})
    assert touched_functions(own, outside, header) is None


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("int limit = 5;\n", "int limit = 6;\n", None),
        ("#define LIMIT 5\n", "#define LIMIT 6\n", None),
        ("#define F(a) \\\n\tdo_it(a)\n", "#define F(a) \\\n\tdo_more(a)\n", None),
        ("static int t[] = {\n\t1,\n};\n", "static int t[] = {\n\t2,\n};\n", None),
        ("/* one */\n", "/* two\n *\n */\n", set()),
        ("long\nf(int a)\n{\n}\n", "static long\nf(int a)\n{\n\ta();\n}\n", {"f"}),
        ("int g(int a)\n{\n\t/* b */\nout:\n\treturn 1;\n}\n", "", {"g"}),
    ],
)
def test_what_stands_between_functions_is_of_none_of_them(
    tree: Path, before: str, after: str, found: set[str] | None
) -> None:
    def with_text(text: str) -> str:
        return commit(tree, "change", {"a.c": CODE.replace("\nint sec", f"\n{text}\nint sec")})

    base, last = with_text(before), with_text(after)
    assert touched_functions(own_history(find_history(tree)).tree, base, last) == found


def test_what_the_other_branch_gained_is_none_of_a_range(tree: Path) -> None:
    base = git(tree, "rev-parse", "HEAD")
    git(tree, "checkout", "-q", "-b", "topic")
    made = [change(tree, "a.c", "return a", "return 1 + a")]
    git(tree, "checkout", "-q", "main")
    change(tree, "README", "text", "gained")
    start, found = read_range(find_history(tree), "main..topic")
    assert (start, [item.commit for item in found]) == (base, made)


def test_a_repository_that_git_was_started_for_is_not_touched(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So it is in `git rebase -x` and in hooks of a linked work tree.
    other = tmp_path / "other"
    repository(other, [{"b.c": "int x;\n"}, {"b.c": "int y;\n"}])
    (other / "b.c").write_text("int z;\n")
    git(other, "add", "-A")
    state = git(other, "status", "--porcelain", "--branch"), git(other, "rev-parse", "HEAD")
    base = git(tree, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git/index"))
    history = find_history(tree)
    own = own_history(history).tree
    check_out(own, history.commit("HEAD", "--good"))
    assert (own / "a.c").read_text() == CODE
    monkeypatch.undo()
    assert git(own, "rev-parse", "HEAD") == base
    assert state == (
        git(other, "status", "--porcelain", "--branch"),
        git(other, "rev-parse", "HEAD"),
    )


def test_a_range_is_read_from_the_oldest(tree: Path) -> None:
    base = git(tree, "rev-parse", "HEAD")
    made = [change(tree, "a.c", "int first", f"int f{at};\nint first") for at in range(3)]
    history = find_history(tree)
    for word in (f"{base}..", f"{base}..main", "HEAD~3", "HEAD~3..HEAD"):
        start, found = read_range(history, word)
        assert (start, [item.commit for item in found]) == (base, made)
    with pytest.raises(UsageError, match="no commit in"):
        read_range(history, "HEAD..HEAD")
