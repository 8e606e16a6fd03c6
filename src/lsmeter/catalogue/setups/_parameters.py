# SPDX-License-Identifier: GPL-2.0-or-later
"""What setups with parameters take: numbers, one word of several, and names."""

from collections.abc import Mapping
from dataclasses import dataclass

from lsmeter.core.errors import UsageError
from lsmeter.core.registry import unknown


@dataclass(frozen=True)
class Number:
    """A number that a setup takes, with its default and its limits (both included)."""

    name: str
    title: str
    default: int
    limits: tuple[int, int]
    named: bool = False  # stands in a setup's name as soon as another one does
    kind = "N"

    @property
    def accepts(self) -> str:
        """Say which values it takes."""
        return "{} to {}".format(*self.limits)

    def read(self, text: str, setup: str, where: str) -> int:
        """Read its value for a setup; UsageError unless it lies within the limits."""
        low, high = self.limits
        named, limits = f"{where}: {setup}: {self.name}", f"{self.accepts} ({self.title})"
        if not text.isdecimal():
            raise UsageError(f"{named}={text} is not a number of {limits}")
        if not low <= int(text) <= high:
            raise UsageError(f"{named}={int(text)} is outside {limits}")
        return int(text)


@dataclass(frozen=True)
class Choice:
    """A word that a setup takes, one of several."""

    name: str
    title: str
    default: str
    choices: tuple[str, ...]
    named: bool = False
    kind = "WORD"

    @property
    def accepts(self) -> str:
        """Say which values it takes."""
        return ", ".join(self.choices)

    def read(self, text: str, setup: str, where: str) -> str:
        """Read its value for a setup; UsageError unless it is one of the choices."""
        if text not in self.choices:
            raise unknown(f"{self.name} of {setup}", text, self.choices, where=where)
        return text


@dataclass(frozen=True)
class Word:
    """A name that a setup takes, of which there are too many to list."""

    name: str
    title: str
    default: str
    accepts: str
    named: bool = False
    kind = "NAME"

    def read(self, text: str, setup: str, where: str) -> str:  # noqa: ARG002
        """Read its value: what the pattern of settings lets through."""
        return text


Parameter = Number | Choice | Word


def changed(parameters: tuple[Parameter, ...], given: Mapping[str, int | str]) -> str:
    """Return what a setup's name says of its parameters: those that differ from their defaults."""
    values = {item.name: given.get(item.name, item.default) for item in parameters}
    differ = {item.name for item in parameters if values[item.name] != item.default}
    shown = [p.name for p in parameters if differ and (p.named or p.name in differ)]
    return f":{','.join(f'{name}={values[name]}' for name in shown)}" if shown else ""
