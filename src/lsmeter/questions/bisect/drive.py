# SPDX-License-Identifier: GPL-2.0-or-later
"""Drives a bisection from its two ends to the first bad commit, one step after the other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from lsmeter.core.errors import GuestError, UsageError
from lsmeter.questions.bisect.history import SHORT, History
from lsmeter.questions.bisect.search import Ended, Ruling, Step, next_step, steps_left
from lsmeter.questions.bisect.state import Question, State, load, save


class Tester(Protocol):
    """Builds, boots and judges one commit."""

    def __call__(self, commit: str) -> Step:
        """Return what comes of a commit; raise only for what no other commit would mend."""
        ...


def bisect(
    history: History,
    question: Question,
    home: Path,
    test: Tester,
    say: Callable[[str], None] = lambda _: None,
) -> tuple[State, Ended]:
    """Search until the first bad commit is known; what was tried before is not tried again."""
    state = load(home, question)
    for name, commit, wanted in (
        ("good", question.good, Ruling.GOOD),
        ("bad", question.bad, Ruling.BAD),
    ):
        if commit not in state.rulings:
            say(f"the {name} commit: {_named(history, commit)}")
            state = _record_step(home, state, test(commit), say)
        _check_end(state, name, commit, wanted)
    while True:
        candidates = history.candidates(state.bad, state.goods)
        following = next_step(candidates, state.rulings)
        if isinstance(following, Ended):
            return state, following
        left = steps_left(len(candidates))
        about = "the last step" if left <= 1 else f"about {left} steps"
        say(f"{len(candidates)} commits left, {about}: {_named(history, following)}")
        state = _record_step(home, state, test(following), say)


def _named(history: History, commit: str) -> str:
    return f"{commit[:SHORT]} {history.describe(commit)[0][:60]}"


def _record_step(home: Path, state: State, step: Step, say: Callable[[str], None]) -> State:
    took = f"build {step.build_s:.0f} s, run {step.run_s:.0f} s"
    say(f"{step.ruling}: {step.detail or 'every rule is kept'} ({took})")
    state = state.after(step)
    if step.commit not in {state.question.good, state.question.bad} or (
        step.ruling is not Ruling.SKIP
    ):
        save(home, state)  # an end that could not be judged is tried again
    return state


def _check_end(state: State, name: str, commit: str, wanted: Ruling) -> None:
    """Refuse a search whose ends are not what they are called."""
    step = next(item for item in state.steps if item.commit == commit)
    if step.ruling is Ruling.SKIP:
        raise GuestError(
            f"--{name} {commit[:SHORT]} cannot be judged: {step.detail}",
            hint="take another commit that builds and boots, or more --boots",
        )
    if step.ruling is not wanted:
        raise UsageError(
            f"--{name} {commit[:SHORT]} breaks no rule against --good: there is nothing to find",
            hint="a smaller limit (--max 'open*<=1%'), another benchmark or setup",
        )
