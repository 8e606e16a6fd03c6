# SPDX-License-Identifier: GPL-2.0-or-later
"""Setups, setups with parameters, and stacks of them, by the names that users give.

`selinux`, `landlock:layers=2,rules=8` and `landlock+apparmor+bpf` are such names.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from lsmeter.catalogue.setups import _family
from lsmeter.catalogue.setups._file import SUFFIX, read_setup
from lsmeter.catalogue.setups._guest import IMA_POLICY, WORK_DIRECTORY
from lsmeter.core.errors import UsageError
from lsmeter.core.model.setup import INTEGRITY, Layer, Setup, Step
from lsmeter.core.registry import find, nearest, unknown

HOOKS_ONLY = "no policy loaded: this measures hook overhead, not policy evaluation"
_SETTING = "[a-z][a-z0-9_]*=[a-z0-9][a-z0-9-]{0,31}"
_COMPONENT = re.compile(f"[a-z][a-z0-9-]*(:{_SETTING}(,{_SETTING})*)?")
_MAX_COMPONENTS = 16
# What a stack has of all its parts, each once.
_JOINED = tuple(item.name for item in fields(Setup) if item.default == ())


@dataclass(frozen=True)
class Parameter:
    """A number that a setup takes, with its default and its limits (both included)."""

    name: str
    title: str
    default: int
    limits: tuple[int, int]
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
    accepts: str
    default = "none"
    kind = "NAME"

    def read(self, text: str, setup: str, where: str) -> str:  # noqa: ARG002
        """Read its value: what the pattern of settings lets through."""
        return text


_FOUND = "the rules that the suite needs stand before the further ones, or after them"
FOUND = Choice("found", _FOUND, "last", ("first", "last"))


@dataclass(frozen=True)
class Values:
    """What the parameters of a setup are set to: those that were given, defaults for the rest."""

    parameters: tuple[Parameter | Choice | Word, ...]
    given: Mapping[str, int | str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> int:
        """Return a Parameter's value."""
        return int(self.settings[name])

    def word(self, name: str) -> str:
        """Return a Choice's value."""
        return str(self.settings[name])

    def name(self, setup: str, *, always: tuple[str, ...] = ()) -> str:
        """Return the setup's name with those parameters that differ from their defaults.

        Those of `always` stand in the name as soon as any does.
        """
        differ = [p.name for p in self.parameters if self.settings[p.name] != p.default]
        shown = [p.name for p in self.parameters if differ and p.name in (*differ, *always)]
        settings = ",".join(f"{name}={self.settings[name]}" for name in shown)
        return f"{setup}:{settings}" if settings else setup

    @property
    def settings(self) -> dict[str, int | str]:
        """All of them by name, in the order of the parameters."""
        return {item.name: self.given.get(item.name, item.default) for item in self.parameters}


@dataclass(frozen=True)
class SetupDefinition:
    """How a setup is built; configure takes values that all lie within their limits."""

    configure: Callable[[Values], Setup]
    parameters: tuple[Parameter | Choice | Word, ...] = ()

    @property
    def setup(self) -> Setup:
        """The setup with the defaults of its parameters."""
        return self.configure(Values(self.parameters))


@cache
def definitions() -> Mapping[str, _family.SetupDefinition]:
    """Return every setup that this package has, by name."""
    found: dict[str, _family.SetupDefinition] = {}
    for definition in _family.families():
        name = definition.table["name"]
        if name in found:
            raise TypeError(f"two setups are named {name}")
        found[name] = definition
    return dict(sorted(found.items()))


def parse_setup(spec: str, *, where: str = "--setup") -> Setup:
    """Return the setup that `spec` names; raise UsageError with the nearest name otherwise."""
    words = spec.split("+")
    if len(words) > _MAX_COMPONENTS:
        raise UsageError(f"{where}: a stack has at most {_MAX_COMPONENTS} modules")
    parts = [_component(word.strip(), where) for word in words]
    if len(parts) == 1:
        return parts[0]
    # Neither a kernel without modules nor its own default list has a place in a list.
    if alone := [part.name for part in parts if not part.lsms]:
        raise UsageError(
            f"{where}: '{alone[0]}' cannot be part of a stack",
            hint="name single modules: --setup 'landlock+apparmor'",
        )
    names = [part.name.partition(":")[0] for part in parts]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"{where}: '{twice[0]}' stands twice in the stack '{spec}'")
    return _stack(parts, where)


def one_each(named: Iterable[tuple[str, Setup]]) -> dict[str, Setup]:
    """Return setups by name; UsageError where one name stands for two that differ.

    named has each setup with what it was called by: a word, or the path of a file.
    """
    found: dict[str, tuple[str, Setup]] = {}
    for word, setup in named:
        first, known = found.setdefault(setup.name, (word, setup))
        if known != setup:
            raise UsageError(
                f"{first} and {word} are different setups of one name, '{setup.name}'",
                hint="a name stands for one setup in a run: give one of them another name",
            )
    return {name: setup for name, (_, setup) in found.items()}


def _component(word: str, where: str) -> Setup:
    if word.endswith(SUFFIX):
        setup = read_setup(Path(word), where=where)
        if setup.name in definitions():
            raise UsageError(
                f"{where}: {word}: name: '{setup.name}' is a setup that comes with lsmeter",
                hint="a name stands for one setup: give the one in the file another name",
            )
        return setup
    if not _COMPONENT.fullmatch(word):
        raise UsageError(
            f"{where}: '{word[:80]}' is not the name of a setup{nearest(word, definitions())}",
            hint="examples: selinux, landlock:layers=2,rules=8, landlock+apparmor",
        )
    name, _, settings = word.partition(":")
    definition = find("setup", name, definitions(), where=where)
    if not settings:
        return definition.setup
    known = {parameter.name: parameter for parameter in definition.parameters}
    if not known:
        raise UsageError(f"{where}: the setup '{name}' takes no parameters")
    given: dict[str, int | str] = {}
    for setting in settings.split(","):
        key, _, text = setting.partition("=")
        given[key] = find(f"parameter of {name}", key, known, where=where).read(text, name, where)
    return definition.configure(given)


def _stack(parts: list[Setup], where: str) -> Setup:
    """Join single modules into one setup, in the order given."""
    images = {part.image for part in parts if part.image}
    if len(images) > 1:
        raise UsageError(f"{where}: the stack needs two images: {', '.join(sorted(images))}")
    names = [part.name for part in parts]
    joined: dict[str, Any] = {
        name: tuple(dict.fromkeys(chain.from_iterable(getattr(part, name) for part in parts)))
        for name in _JOINED
    }
    joined["steps"] = _stacked_steps(parts, joined["steps"])
    # A second policy for IMA needs an option of its own.
    if sum(step.words[:1] == (IMA_POLICY,) for part in parts for step in part.steps) > 1:
        joined["needs_config"] += ("IMA_WRITE_POLICY",)
    return Setup(
        name="+".join(names),
        title=f"stack of {', '.join(names)}, in this order",
        lsms=_stacked_lsms(parts),
        note="; ".join(dict.fromkeys(part.note for part in parts if part.note)),
        image="".join(images),
        over="+".join(names[:-1]),
        layer=parts[-1].layer,
        live=all(part.live for part in parts),
        **joined,
    )


def _stacked_steps(parts: list[Setup], joined: tuple[Step, ...]) -> tuple[Step, ...]:
    """Order the steps: with integrity, files to work with are made when it is in force.

    IMA refuses a file that was made before it could keep the file's hash. A file that a later
    step names, to label it say, stays where it is.
    """
    others = [part for part in parts if part.layer is not Layer.INTEGRITY]
    if len(others) == len(parts):
        return joined
    late = {step for part in others for step in part.steps if _makes_work_file(step, joined)}
    return tuple(sorted(joined, key=lambda step: step in late))


def _makes_work_file(step: Step, steps: tuple[Step, ...]) -> bool:
    if step.action != "file" or not step.words[0].startswith(f"{WORK_DIRECTORY}/"):
        return False
    return not any(step.words[0] in other.words for other in steps if other != step)


def _stacked_lsms(parts: list[Setup]) -> tuple[str, ...]:
    """Join the lists of modules; audit and integrity bring no module to a stack of others."""
    added = [part for part in parts if part.layer not in (Layer.AUDIT, Layer.INTEGRITY)]
    names = [lsm for part in added or parts[:1] for lsm in part.lsms or () if lsm != INTEGRITY]
    switched_on = any(INTEGRITY in (part.lsms or ()) for part in parts)
    return (*names, INTEGRITY) if switched_on else tuple(names)
