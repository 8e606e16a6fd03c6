# SPDX-License-Identifier: GPL-2.0-or-later
"""What a case of the campaign is: a fault, and the endings that are right for it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import tests.faults
from tests.faults.field import Ended, Field


@dataclass(frozen=True)
class Case:
    """One fault.

    inject makes it in a field of its own, types the command that meets it, and returns how that
    ended. codes are the exit codes that are right, says what the command has to say (in any
    case of letters). sound: what is found in ./run afterwards is held against the truth.
    recovers: with the fault mended (Field.mend), the main command ends with all of the truth;
    kept is how many boots it must have from before. measured: the field starts with the run and
    the store of a finished main command. long: only in the whole campaign.
    """

    kind: str
    name: str
    inject: Callable[[Field], Ended]
    codes: frozenset[int]
    says: str = ""
    sound: bool = True
    recovers: bool = True
    kept: int = 0
    measured: bool = False
    long: bool = False

    @property
    def id(self) -> str:
        """Name the case in the test's output."""
        return f"{self.kind}: {self.name}"


def _modules() -> Iterator[str]:
    for module in pkgutil.iter_modules(tests.faults.__path__):
        if module.name.startswith("cases_"):
            yield f"tests.faults.{module.name}"


@cache
def cases() -> tuple[Case, ...]:
    """Return every case: `CASES` of each module cases_KIND; two of one name are an error."""
    found = [case for name in _modules() for case in importlib.import_module(name).CASES]
    names = [case.id for case in found]
    if doubled := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"two cases of one name: {sorted(doubled)}")
    return tuple(found)
