# SPDX-License-Identifier: GPL-2.0-or-later
"""What a bisection knows, kept after each step: the same command goes on from there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from lsmeter.core.errors import UsageError
from lsmeter.core.storage import write_atomic
from lsmeter.measure.results.documents import read_document, sealed, validated
from lsmeter.questions.bisect.search import Ruling, Step

STATE_FILE = "bisect.json"
_FORMAT, _VERSION = "lsmeter-bisect-state", 1


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

    def after(self, step: Step) -> State:
        """Return the state with one more step."""
        return replace(self, steps=(*self.steps, step))


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
