# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter bisect` with everything real but the compiler and the guests, which are recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lsmeter.questions.bisect.workshop_command import Workshop
from tests.cli.test_replay import FIVE
from tests.conftest import Done, Lsmeter
from tests.unit.bisection.repositories import commit, git


def bisected(lsmeter: Lsmeter, *words: str, good: str = "HEAD~8") -> Done:
    where = ("--good", good, "--machine", "replay", "--run-dir", "found")
    return lsmeter("bisect", "tree", *where, *FIVE, "--samples", "20", *words)


def test_the_commit_is_one_of_those_that_cannot_be_told_apart(
    replay: Lsmeter, history: list[str]
) -> None:
    done = bisected(replay, "--max", "open<=2%", "-f", "json")
    assert done.code == 1, done.err
    found = json.loads(done.out)
    assert {history.index(name) for name in found["suspects"]} == {4, 5, 6}
    steps = {history.index(step["commit"]): step for step in found["steps"]}
    assert "does not build: main.c:1" in steps[4]["detail"]
    assert steps[5]["ruling"] == "skip" and "panic" in steps[5]["detail"]
    assert "typical +200 insns" in steps[6]["detail"]
    assert found["first_bad"] is None
    # Once more: nothing is tried again, and the answer is the same.
    again = bisected(replay, "--max", "open<=2%", "-f", "json")
    assert (again.code, json.loads(again.out)) == (1, found)
    assert "commits left" not in again.err
    assert bisected(replay, "--max", "open<=3%").code == 2  # another question
    assert git(replay.home / "tree", "status", "--porcelain") == ""


def test_the_first_bad_commit_is_shown_and_a_stopped_search_goes_on(
    replay: Lsmeter, history: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = replay.home / "tree"
    mended = [commit(tree, f"mend {at}", {"guest": "cheap"}) for at in range(3)]
    first = commit(tree, "make open costlier", {"guest": "costly"})
    commit(tree, "later", {"other": "1"})
    words = ("--max", "open@capability<=100insns", "-f", "text")
    build, made = Workshop.build, list[str]()

    def interrupted(workshop: Workshop, name: str) -> object:
        made.append(name)
        if len(made) == 3:
            raise KeyboardInterrupt
        return build(workshop, name)

    monkeypatch.setattr(Workshop, "build", interrupted)
    done = bisected(replay, *words, good=mended[0])
    assert (done.code, done.out) == (130, "")
    done = bisected(replay, *words, good=mended[0])
    assert done.code == 0, done.err + done.out
    assert "First bad commit" in done.out
    assert f"{first} make open costlier" in " ".join(done.out.split())
    assert len(made) == 2 + 1 + 2 + 2  # two ends, one stopped, two steps, two for the hooks


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--good", "nothing"), "--good: "),
        (("--good", "HEAD"), "are one commit"),
        (("--good", "HEAD~1", "--bad", "HEAD~2"), "is not an ancestor"),
        (("--good", "HEAD~8", "--max", "opne<=2%"), "did you mean open?"),
        (("--good", "HEAD~8", "--max", "open@selinux<=2%"), "no setup that is measured"),
        (("--good", "HEAD~8", "--setup", "slinux"), "did you mean selinux?"),
        (("--good", "HEAD~8", "--machine", "here"), "measured in guests, which boot them"),
        (("--good", "HEAD~8", "--machine", "kvm"), "the instrument exact cannot read it"),
        (("--good", "HEAD~8", "--arch", "arm64", "--arch", "x86_64"), "built for one"),
        (("--good", "HEAD~8", "--run-dir", "tree"), "is no bisection's directory"),
        (("--good", "HEAD~2", "--machine", "replay", "--samples", "20"), "nothing to find"),
    ],
)
def test_wrong_words_are_one_line_and_exit_code_2(
    replay: Lsmeter, history: list[str], words: tuple[str, ...], said: str
) -> None:
    done = replay("bisect", "tree", *FIVE, *words)
    assert (done.code, done.out) == (2, ""), done.err
    assert said in " ".join(done.err.split())
    assert done.err.count("error: ") == 1


def test_an_end_that_does_not_build_is_named(replay: Lsmeter, history: list[str]) -> None:
    done = bisected(replay, "--max", "open<=2%", good="HEAD~4")
    assert done.code == 5
    assert "cannot be judged: the kernel does not build: main.c:1" in " ".join(done.err.split())
    assert not (Path(replay.home) / "tree" / "found").exists()
