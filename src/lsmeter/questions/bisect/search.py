# SPDX-License-Identifier: GPL-2.0-or-later
"""The search for the first bad commit, as git bisect does it; kept on disk after each step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from lsmeter.core.errors import GuestError, UsageError
from lsmeter.core.storage import write_atomic
from lsmeter.measure.results.documents import read_document, sealed, validated
from lsmeter.questions.bisect.history import SHORT, History

STATE_FILE = "bisect.json"
_FORMAT, _VERSION = "lsmeter-bisect-state", 1


class Ruling(StrEnum):
    """What a step says of its commit."""

    GOOD = "good"
    BAD = "bad"
    SKIP = "skip"  # not built, not booted, not to be judged


@dataclass(frozen=True)
class Step:
    """A commit that was tried: what came of it, why, and how long it took.

    decided_by is the number that the verdict is of; "" where there was none to judge by.
    """

    commit: str
    ruling: Ruling
    detail: str = ""
    build_s: float = 0.0
    run_s: float = 0.0
    decided_by: str = ""


@dataclass(frozen=True)
class Question:
    """What is searched for; the words are all of the command's that can change a ruling."""

    good: str
    bad: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class State:
    """A question, and the steps that were made, in their order."""

    question: Question
    steps: tuple[Step, ...] = ()

    @property
    def rulings(self) -> dict[str, Ruling]:
        """What is known of each commit that was tried."""
        return {step.commit: step.ruling for step in self.steps}

    @property
    def goods(self) -> tuple[str, ...]:
        """The commits that are known to be good."""
        return tuple(step.commit for step in self.steps if step.ruling is Ruling.GOOD)

    @property
    def bad(self) -> str:
        """The last commit that was found to be bad: the first bad one is not after it."""
        bad = (step.commit for step in reversed(self.steps) if step.ruling is Ruling.BAD)
        return next(bad, self.question.bad)


def next_step(candidates: Sequence[str], rulings: Mapping[str, Ruling]) -> str | tuple[str, ...]:
    """Return the commit to try next; at the end the first bad commit alone, or all it may be.

    candidates are those that may be the first bad commit, the last bad one among them; rulings
    those that are known. After a skip, the next try is away from the middle: neighbours of what
    does not build often do not build either.
    """
    bad = [commit for commit in candidates if rulings.get(commit) is Ruling.BAD]
    skipped = [commit for commit in candidates if rulings.get(commit) is Ruling.SKIP]
    left = [commit for commit in candidates if commit not in rulings]
    if not left:
        return (*bad, *skipped)
    return left[len(left) // 3 if skipped else 0]


def steps_left(candidates: int) -> int:
    """Return about how many steps a search among so many commits takes."""
    return max(0, candidates - 1).bit_length()


_STATE: TypeAdapter[State] = TypeAdapter(State)


def load(home: Path, question: Question) -> State:
    """Return what is known of a question, nothing at first; UsageError for another question's."""
    path = home / STATE_FILE
    if not path.exists():
        return State(question)
    document: Any = read_document(path, _FORMAT, (_VERSION,)).get("state")
    found = validated(_STATE, document, path)
    if found.question != question:
        raise UsageError(
            f"--run-dir: {home} holds another bisection",
            hint="name another directory; a bisection is continued only with the same options",
        )
    return found


def save(home: Path, state: State) -> None:
    """Keep what is known."""
    content = {"state": _STATE.dump_python(state, mode="json")}
    write_atomic(home / STATE_FILE, sealed(_FORMAT, _VERSION, content))


def bisect(
    history: History,
    question: Question,
    home: Path,
    test: Callable[[str], Step],
    say: Callable[[str], None] = lambda _: None,
) -> tuple[State, tuple[str, ...]]:
    """Search for the first bad commit, and return it, or all that it may be, with every step.

    What was tried before is not tried again. test builds, boots and judges a commit; it raises only
    for what no other commit would mend.
    """
    state = load(home, question)
    for wanted, commit in ((Ruling.GOOD, question.good), (Ruling.BAD, question.bad)):
        if commit not in state.rulings:
            say(f"the {wanted} commit: {history.named(commit)}")
            state = _record_step(home, state, test(commit), say)
        _check_end(state, commit, wanted)
    while True:
        candidates = history.candidates(state.bad, state.goods)
        following = next_step(candidates, state.rulings)
        if isinstance(following, tuple):
            return state, following
        left = steps_left(len(candidates))
        about = "the last step" if left <= 1 else f"about {left} steps"
        say(f"{len(candidates)} commits left, {about}: {history.named(following)}")
        state = _record_step(home, state, test(following), say)


def _record_step(home: Path, state: State, step: Step, say: Callable[[str], None]) -> State:
    took = f"build {step.build_s:.0f} s, run {step.run_s:.0f} s"
    say(f"{step.ruling}: {step.detail or 'every rule is kept'} ({took})")
    state = replace(state, steps=(*state.steps, step))
    if step.commit not in {state.question.good, state.question.bad} or (
        step.ruling is not Ruling.SKIP
    ):
        save(home, state)  # an end that could not be judged is tried again
    return state


def _check_end(state: State, commit: str, wanted: Ruling) -> None:
    """Refuse a search whose ends are not what they are called."""
    step = next(item for item in state.steps if item.commit == commit)
    if step.ruling is Ruling.SKIP:
        raise GuestError(
            f"--{wanted} {commit[:SHORT]} cannot be judged: {step.detail}",
            hint="take another commit that builds and boots, or more --boots",
        )
    if step.ruling is not wanted:
        raise UsageError(
            f"--{wanted} {commit[:SHORT]} breaks no rule against --good: there is nothing to find",
            hint="a smaller limit (--max 'open*<=1%'), another benchmark or setup",
        )
