# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of a gate: which benchmarks of which setups may cost how much more; read, not applied."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from lsmeter.core.errors import UsageError
from lsmeter.core.model.conclusion import Number
from lsmeter.core.registry import unknown
from lsmeter.core.toml_file import checked, read_toml

PERCENT = "%"
EXAMPLE = "write 'open*<=2%', 'stat*<=50insns' or 'open*@selinux<=2%'"
_UNITS = {"%": PERCENT, "percent": PERCENT, "insns": "insns", "instructions": "insns"}
_LIMIT = re.compile(
    r"\+?([0-9]{1,12}(?:\.[0-9]{0,12})?|\.[0-9]{1,12})\s*(%|[A-Za-z]{1,16}(?:/[a-z]{1,16})?)"
)
_MOST_RULES = 200


@dataclass(frozen=True)
class Limit:
    """By how much something may get worse: a fraction where unit is %, else in that unit."""

    value: float
    unit: str

    @property
    def text(self) -> str:
        """Write it as it is typed: 2%, 50insns."""
        value = self.value * 100 if self.unit == PERCENT else self.value
        return f"{value:.10g}{self.unit}"


@dataclass(frozen=True)
class Rule:
    """Benchmarks by pattern (of the id, or the operation), setups by pattern, and the limit."""

    benchmark: str
    limit: Limit
    setup: str = "*"
    numbers: tuple[Number, ...] = tuple(Number)
    where: str = "--max"

    def _said(self, limit: str) -> str:
        of = self.benchmark + ("" if self.setup == "*" else f"@{self.setup}")
        some = "" if self.numbers == tuple(Number) else f" ({', '.join(self.numbers)})"
        return f"{of}{limit}{some}"

    @property
    def name(self) -> str:
        """Write what the rule is about, without its limit."""
        return self._said("")

    @property
    def text(self) -> str:
        """Write the rule as it is typed."""
        return self._said(f"<={self.limit.text}")


def parse_limit(text: str, *, where: str) -> Limit:
    """Read 2%, 50insns or 1.5ns; raise UsageError for anything else, a limit below 0 included."""
    found = _LIMIT.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{where}: '{text[:60]}' is no limit", hint=f"{EXAMPLE}: number and unit")
    value, unit = float(found[1]), _UNITS.get(found[2].casefold(), found[2])
    return Limit(value / 100 if unit == PERCENT else value, unit)


def parse_rule(text: str, numbers: Sequence[Number] = tuple(Number)) -> Rule:
    """Read `PATTERN[@SETUP]<=LIMIT`; a benchmark's own `=` is no sign of it."""
    words, sign, limit = text.rpartition("<=")
    pattern, at, setup = words.partition("@")
    if not sign or not pattern.strip() or (at and not setup.strip()):
        raise UsageError(f"--max: '{text[:80]}' is no rule", hint=EXAMPLE)
    found = parse_limit(limit, where=f"--max: '{text[:80]}'")
    return Rule(pattern.strip(), found, setup.strip() or "*", tuple(numbers))


class _Table(BaseModel):
    """One `[[rule]]` of a file of rules."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)
    benchmark: str = Field(min_length=1, max_length=200)
    max: str = Field(min_length=1, max_length=60)
    setup: str = Field("*", min_length=1, max_length=400)
    numbers: Annotated[list[str], Field(min_length=1)] = [*Number]


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)
    rule: Annotated[list[_Table], Field(min_length=1, max_length=_MOST_RULES)]


def read_rules(path: Path) -> tuple[Rule, ...]:
    """Read a TOML file of `[[rule]]` tables; raise UsageError with file and key."""
    hint = "tables [[rule]] with benchmark and max: lsmeter help gate shows one"
    data = read_toml(path, "a file of rules", hint=hint, where="--rules")
    tables = checked(_File, data, where=str(path), hint=hint).rule
    return tuple(_rule(table, f"{path}: rule {at}") for at, table in enumerate(tables, start=1))


def _rule(table: _Table, where: str) -> Rule:
    limit = parse_limit(table.max, where=f"{where}: max")
    return Rule(table.benchmark, limit, table.setup, read_numbers(table.numbers, where), where)


def read_numbers(words: Iterable[str], where: str) -> tuple[Number, ...]:
    """Read names of numbers; raise UsageError with the nearest one for what is none."""
    for word in (found := list(dict.fromkeys(words))):
        if word not in set(Number):
            raise unknown("number", word, [*Number], where=where)
    return tuple(item for item in Number if item in found)


def margin_rule(margin: float, numbers: Sequence[Number] = tuple(Number)) -> Rule:
    """Return the rule that is taken where none is said: nothing worse by more than the margin."""
    return Rule("*", Limit(margin, PERCENT), numbers=tuple(numbers), where="--margin")
