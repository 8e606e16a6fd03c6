# SPDX-License-Identifier: GPL-2.0-or-later
"""What the JSON forms of all runs have in common, declared once."""

from __future__ import annotations

from lsmeter.core.model import Problem
from lsmeter.tables.fields import By, Contract, Each, Field, Row, fields_of, named

RUN = (
    *map(named, ("title", "created", "lsmeter_version", "command", "instrument", "covers")),
    Field("conditions", of=By(bool | int | str)),
)
PROBLEMS = Field("problems", of=Each(Row(fields_of(Problem))))


def run_contract(name: str, *fields: Field) -> Contract:
    """Return the form of a run's document, which has these fields beside those of every run."""
    return Contract(name, 1, Row((*RUN, *fields, PROBLEMS, Field("notes", of=Each(str)))))
