# SPDX-License-Identifier: GPL-2.0-or-later
"""The search for the first bad commit: over real histories, with a tester that knows the truth."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lsmeter.core.errors import GuestError, InfrastructureError, UsageError
from lsmeter.questions.bisect.history import check_out, find_history, own_history
from lsmeter.questions.bisect.search import (
    STATE_FILE,
    Question,
    Ruling,
    Step,
    bisect,
    load,
    next_step,
    steps_left,
)
from tests.unit.bisection.repositories import commit, git, repository

COMMITS = 17


@pytest.fixture(scope="module")
def linear(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    tree = tmp_path_factory.mktemp("linear") / "tree"
    return tree, repository(tree, [{"file": str(number)} for number in range(COMMITS)])


class Knowing:
    """Says what is true of each commit, and remembers which it was asked for."""

    def __init__(self, ruling: Callable[[str], Ruling]) -> None:
        self.ruling, self.asked = ruling, list[str]()

    def __call__(self, commit: str) -> Step:
        self.asked.append(commit)
        return Step(commit, self.ruling(commit), "why")


def knowing(commits: list[str], first_bad: int, broken: set[int] = frozenset()) -> Knowing:  # type: ignore[assignment]
    def ruling(name: str) -> Ruling:
        at = commits.index(name)
        return Ruling.SKIP if at in broken else Ruling.BAD if at >= first_bad else Ruling.GOOD

    return Knowing(ruling)


@pytest.mark.parametrize("first_bad", range(1, COMMITS))
def test_the_first_bad_commit_is_found_in_few_steps(
    linear: tuple[Path, list[str]], tmp_path: Path, first_bad: int
) -> None:
    tree, commits = linear
    test = knowing(commits, first_bad)
    question = Question(commits[0], commits[-1], ())
    state, found = bisect(find_history(tree), question, tmp_path, test)
    assert found == (commits[first_bad],)
    assert len(test.asked) <= 2 + steps_left(COMMITS - 1)
    assert test.asked == [step.commit for step in state.steps]


@settings(max_examples=25)
@given(
    first_bad=st.integers(1, COMMITS - 1), broken=st.sets(st.integers(1, COMMITS - 2), max_size=12)
)
def test_what_cannot_be_judged_hides_only_itself(
    linear: tuple[Path, list[str]],
    tmp_path_factory: pytest.TempPathFactory,
    first_bad: int,
    broken: set[int],
) -> None:
    tree, commits = linear
    test = knowing(commits, first_bad, broken)
    home = tmp_path_factory.mktemp("home")
    question = Question(commits[0], commits[-1], ())
    _, found = bisect(find_history(tree), question, home, test)
    # The suspects are the first bad commit that can be judged, and what is skipped just before it.
    last = next(at for at in range(first_bad, COMMITS) if at not in broken)
    suspects = {last}
    while last - 1 in broken:
        last -= 1
        suspects.add(last)
    assert {commits.index(name) for name in found} == suspects
    assert len(set(test.asked)) == len(test.asked)


def test_a_merge_is_searched_through(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    base = repository(tree, [{"a": "0"}])[0]
    git(tree, "checkout", "-q", "-b", "side")
    side = [commit(tree, f"side {number}", {"b": str(number)}) for number in range(5)]
    git(tree, "checkout", "-q", "main")
    commit(tree, "main", {"a": "1"})
    git(tree, "merge", "-q", "--no-ff", "-m", "merge", "side")
    head = git(tree, "rev-parse", "HEAD")
    bad = set(git(tree, "rev-list", head, "--not", side[2]).split()) - {
        git(tree, "rev-parse", "HEAD^1")
    }
    test = Knowing(lambda name: Ruling.BAD if name in bad else Ruling.GOOD)
    _, found = bisect(find_history(tree), Question(base, head, ()), tmp_path, test)
    assert found == (side[3],)


def test_a_stopped_search_goes_on_and_tries_nothing_twice(
    linear: tuple[Path, list[str]], tmp_path: Path
) -> None:
    tree, commits = linear
    question = Question(commits[0], commits[-1], ("words",))
    whole = knowing(commits, 11)
    bisect(find_history(tree), question, tmp_path / "whole", whole)

    class StopError(Exception):
        pass

    asked: list[str] = []
    for most in range(1, len(whole.asked) + 1):
        test = knowing(commits, 11)

        def stopped(commit: str, test: Knowing = test) -> Step:
            if test.asked:
                raise StopError
            return test(commit)

        if most < len(whole.asked):
            with pytest.raises(StopError):
                bisect(find_history(tree), question, tmp_path / "parts", stopped)
        else:
            _, found = bisect(find_history(tree), question, tmp_path / "parts", stopped)
            assert found == (commits[11],)
        asked += test.asked
    assert asked == whole.asked
    with pytest.raises(UsageError, match="another bisection"):
        load(tmp_path / "parts", Question(commits[0], commits[-1], ("other",)))
    path = tmp_path / "parts" / STATE_FILE
    path.write_bytes(path.read_bytes().replace(b"bad", b"BAD", 1))
    with pytest.raises(InfrastructureError, match="damaged"):
        load(tmp_path / "parts", question)


@pytest.mark.parametrize(
    ("first_bad", "broken", "kind", "said"),
    [
        (99, set(), UsageError, "breaks no rule"),
        (5, {0}, GuestError, "--good .* cannot be judged: why"),
        (5, {COMMITS - 1}, GuestError, "--bad .* cannot be judged: why"),
    ],
)
def test_ends_that_are_not_what_they_are_called_are_refused(
    linear: tuple[Path, list[str]],
    tmp_path: Path,
    first_bad: int,
    broken: set[int],
    kind: type[Exception],
    said: str,
) -> None:
    tree, commits = linear
    question = Question(commits[0], commits[-1], ())
    for _ in range(2):  # the second time, too
        with pytest.raises(kind, match=said):
            bisect(find_history(tree), question, tmp_path, knowing(commits, first_bad, broken))


def test_after_a_skip_the_next_try_is_not_its_neighbour() -> None:
    candidates = [str(number) for number in range(9)]
    known = {"8": Ruling.BAD}
    assert next_step(candidates, known) == "0"
    assert next_step(candidates, {**known, "0": Ruling.SKIP}) == "3"
    assert next_step(candidates[8:], known) == ("8",)


def test_words_that_name_no_commits_are_refused(
    linear: tuple[Path, list[str]], tmp_path: Path
) -> None:
    tree, commits = linear
    history = find_history(tree)
    assert history.commit("main~16", "--good") == commits[0]
    for word in ("nothing", "--all", "", "HEAD:file"):
        with pytest.raises(UsageError, match=r"--good: .* has no commit"):
            history.commit(word, "--good")
    history.check_order(commits[0], commits[1])
    with pytest.raises(UsageError, match="not an ancestor"):
        history.check_order(commits[1], commits[0])
    with pytest.raises(UsageError, match="one commit"):
        history.check_order(commits[1], commits[1])
    for place in (tmp_path, tmp_path / "none", tree / "file"):
        with pytest.raises(UsageError):
            find_history(place)


def test_a_repository_that_is_no_longer_shallow_has_all_its_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path / "cache"))
    tree = tmp_path / "tree"
    first, second = repository(tree, [{"a": "0"}, {"a": "1"}])
    shallow = tree / ".git/shallow"
    shallow.write_text(f"{second}\n")
    with pytest.raises(UsageError, match="rev-parse fails"):
        own_history(find_history(tree)).parent(second)
    shallow.unlink()
    assert own_history(find_history(tree)).parent(second) == first


def test_the_users_tree_is_not_touched(
    linear: tuple[Path, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path / "cache"))
    tree, commits = linear

    def seen() -> dict[str, tuple[int, int]]:
        found = {path: path.lstat() for path in tree.rglob("*")}
        return {str(path): (item.st_mtime_ns, item.st_size) for path, item in found.items()}

    before = seen()
    history = find_history(tree)
    home = own_history(history).tree
    for at in (3, 0, 16):
        (home / "file").write_text("left over")
        check_out(home, commits[at])
        assert (home / "file").read_text() == str(at)
    assert own_history(find_history(tree)).tree == home
    assert seen() == before
    with pytest.raises(InfrastructureError, match="cannot check out"):
        check_out(home, "0" * 40)
    # A linked work tree, and a directory below the top, are the same history.
    git(tree, "worktree", "add", "-q", str(tmp_path / "linked"), commits[4])
    assert own_history(find_history(tmp_path / "linked")).tree.name.endswith(history.key)
