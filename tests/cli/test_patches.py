# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter patches` with everything real but the compiler and the guests, which are recorded."""

from __future__ import annotations

import csv
import json
import re

import pytest

from tests.cli.conftest import MORE_INSNS
from tests.cli.test_replay import FIVE
from tests.conftest import Done, Lsmeter
from tests.unit.bisection.repositories import git

WHERE = ("--machine", "replay", *FIVE, "--samples", "20", "--run-dir", "found")
_BETWEEN = "what lies between is in it."
_LOST = "--- a/guest\n+++ b/guest\n@@ -1 +1 @@\n-nothing\n+cheap\n"
_LINK = """\
diff --git a/out b/out
new file mode 120000
--- /dev/null
+++ b/out
@@ -0,0 +1 @@
+../../etc
\\ No newline at end of file
"""


def measured(lsmeter: Lsmeter, *words: str) -> Done:
    return lsmeter("patches", "tree", *words, *WHERE)


def test_each_commit_of_a_range_says_what_it_changes(replay: Lsmeter, history: list[str]) -> None:
    done = measured(replay, "HEAD~7..HEAD~1", "-f", "json")
    assert done.code == 1, done.err
    found = json.loads(done.out)
    outcomes = {history.index(item["commit"]): item for item in found["commits"]}
    assert [item["outcome"] for item in outcomes.values()] == [
        *("identical", "identical", "not built", "not measured", "changed", "identical")
    ]
    assert "main.c:1: error" in outcomes[4]["why"]
    assert "panic" in outcomes[5]["why"]
    assert outcomes[6]["against"] == history[3]
    for effects in (outcomes[6]["effects"], found["total"]):
        (seen,) = [item for item in effects if item["found"] == "seen"]
        assert (seen["id"], seen["typical"]["difference"]) == ("open depth=1", MORE_INSNS)
    letter = (replay.home / "found" / "cover-letter.txt").read_text()
    assert all(len(line) <= 72 for line in letter.splitlines())
    assert letter.startswith(f"6 commits on {history[1][:12]} change 1\n")
    words = " ".join(letter.split())
    assert (
        f"capability: open depth=1 +{MORE_INSNS} instructions (+7.0 %, typical; whole cost" in words
    )
    assert f"Without a number: {history[4][:12]} (not built), {history[5][:12]}" in words
    assert f"Held against {history[3][:12]}, the last one with a number: {_BETWEEN}" in words
    assert "Changes nothing: the kernel is the same." in words
    assert "command: lsmeter patches tree 'HEAD~7..HEAD~1' " in words
    assert git(replay.home / "tree", "status", "--porcelain") == ""
    # Once more, as a table for programs: a row for each commit, and nothing is measured again.
    again = measured(replay, "HEAD~7..HEAD~1", "-f", "csv")
    rows = list(csv.DictReader(again.out.splitlines()))
    assert [*dict.fromkeys((row["commit"], row["outcome"]) for row in rows)] == [
        (item["commit"], item["outcome"]) for item in found["commits"]
    ]
    assert again.err.count("from earlier runs") == 5


def test_patches_are_applied_beside_the_tree_and_the_rest_goes_on(
    replay: Lsmeter, history: list[str]
) -> None:
    tree = replay.home / "tree"
    git(tree, "format-patch", "-q", "--cover-letter", "-o", str(replay.home), "HEAD~5..HEAD~2")
    names = sorted(path.name for path in replay.home.glob("0*.patch"))
    names[2:2] = ["lost.diff", "link.diff"]
    (replay.home / "lost.diff").write_text(_LOST)
    (replay.home / "link.diff").write_text(_LINK)
    before = git(tree, "rev-parse", "HEAD")
    files = [str(replay.home / name) for name in names]
    done = measured(replay, *files, "--base", "HEAD~5", "-f", "markdown")
    assert done.code == 1, done.err
    assert "left out: a cover letter" in done.err
    heads = [line for line in done.out.splitlines() if line.startswith("## ")]
    assert len(heads) == 5
    said = re.findall(r"^- ((?:Not|Held).*)$", done.out, re.MULTILINE)
    assert said[0].startswith("Not built: the kernel does not build: main.c:1")
    assert said[1] == "Not applied: patch failed: guest:1"
    assert said[2] == "Not applied: refused: out is a link that leads out of the tree"
    assert said[3].startswith("Not measured: ") and "panic" in said[3]
    assert said[4:] == [f"Held against {history[3][:12]}, the last one with a number: {_BETWEEN}"]
    assert git(tree, "rev-parse", "HEAD") == before
    assert git(tree, "status", "--porcelain", "--ignored") == ""


def test_a_base_without_a_number_is_an_error(replay: Lsmeter, history: list[str]) -> None:
    done = measured(replay, "HEAD~4..HEAD~2")
    assert (done.code, done.out) == (3, "")
    assert "has no number: the kernel does not build: main.c:1" in " ".join(done.err.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("HEAD..HEAD",), "there is no commit in HEAD..HEAD"),
        (("nothing..HEAD",), "has no commit 'nothing'"),
        (("HEAD", "HEAD~1"), "HEAD: cannot be read"),
        (("HEAD~1..HEAD", "--base", "HEAD~2"), "is a range, which says where it begins"),
        (("HEAD~1..HEAD", "--run-dir", "tree"), "is no series's directory"),
        (("HEAD~1..HEAD", "-s", "slinux"), "did you mean selinux?"),
    ],
)
def test_wrong_words_are_one_line_and_exit_code_2(
    replay: Lsmeter, history: list[str], words: tuple[str, ...], said: str
) -> None:
    done = replay("patches", "tree", *WHERE, *words)
    assert (done.code, done.out) == (2, ""), done.err
    assert said in " ".join(done.err.split())
    assert done.err.count("error: ") == 1
