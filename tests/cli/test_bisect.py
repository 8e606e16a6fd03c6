# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter bisect` with everything real but the compiler and the guests, which are recorded."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from lsmeter.core.errors import BuildError
from lsmeter.questions.bisect.workshop_command import Workshop
from tests.cli.conftest import CAPTURES
from tests.cli.test_replay import FIVE
from tests.conftest import Done, Lsmeter
from tests.unit.bisection.repositories import commit, git, repository
from tests.unit.guest.lines import bodies, lines, restated

OPEN = "samples 2 2865x4,3028,2865x15"
COSTLIER = "samples 2 3065x4,3228,3065x15"
MORE_INSNS = 200


@pytest.fixture
def history(replay: Lsmeter, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return nine commits of a `kernel` whose guests say what the commit's files tell them to.

    From the seventh on `open depth=1` takes 200 instructions more; the fifth does not build, and
    a guest of the sixth panics.
    """
    for name in ("cheap", "costly", "panics"):
        shutil.copytree(CAPTURES / "capability", replay.home / name / "capability")
    shutil.rmtree(replay.home / "panics" / "capability")
    shutil.copytree(CAPTURES / "tomoyo", replay.home / "panics" / "capability")
    results = replay.home / "costly" / "capability" / "readings-0" / "results"
    results.write_bytes(costlier(restated(results.read_bytes(), (OPEN, COSTLIER))))

    def build(source: str, *_: object) -> SimpleNamespace:
        said = (Path(source) / "guest").read_text()
        if said == "broken":
            raise BuildError("the kernel does not build: main.c:1: error: oops")
        monkeypatch.setenv("LSMETER_REPLAY", str(replay.home / said))
        return SimpleNamespace(name="./kernel")

    monkeypatch.setattr("lsmeter.sources.kernels.build.builder.build_kernel", build)
    guests = ["cheap"] * 4 + ["broken", "panics"] + ["costly"] * 3
    return repository(replay.home / "tree", [{"guest": guest} for guest in guests])


def costlier(data: bytes) -> bytes:
    """Let the windows of `open depth=1` have what its readings have."""

    def more(text: str) -> str:
        if not text.startswith("window 2 "):
            return text
        name, index, operations, loop, bulk, *rest = text.split(" ")
        bulk = str(int(bulk) + MORE_INSNS * int(operations))
        return " ".join((name, index, operations, loop, bulk, *rest))

    return lines(*map(more, bodies(data)))


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
