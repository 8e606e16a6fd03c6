# SPDX-License-Identifier: GPL-2.0-or-later
"""From a setup's name on the command line to a Setup: definitions, parameters, stacks.

`selinux`, `landlock:layers=2,rules=8` and `landlock+apparmor+bpf` are such names. A definition
is one file in lsmeter.setups. Nothing here boots or reads anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

from lsmeter.errors import UsageError
from lsmeter.model import Setup
from lsmeter.registry import members, unknown

HOOKS_ONLY = "no policy loaded: this measures hooking, not policy enforcement"

_COMPONENT = re.compile(
    r"[a-z][a-z0-9-]*(:[a-z][a-z0-9_]*=[0-9]{1,9}(,[a-z][a-z0-9_]*=[0-9]{1,9})*)?"
)
_MAX_COMPONENTS = 16


@dataclass(frozen=True)
class Parameter:
    """A number that a setup takes, with its default and its limits (both included)."""

    name: str
    title: str
    default: int
    minimum: int
    maximum: int


@dataclass(frozen=True)
class SetupDefinition:
    """What one file in lsmeter.setups offers.

    setup is the configuration with its defaults. Where parameters exist, configure builds the
    setup for given values (all present, all within their limits).
    """

    setup: Setup
    parameters: tuple[Parameter, ...] = ()
    configure: Callable[[Mapping[str, int]], Setup] | None = None
    stackable: bool = True

    @property
    def name(self) -> str:
        """The word that names it on the command line."""
        return self.setup.name


@cache
def definitions() -> Mapping[str, SetupDefinition]:
    """Return every definition that lsmeter.setups holds, by name."""
    found = members("lsmeter.setups", "SETUP", SetupDefinition)
    return {definition.name: definition for definition in found}


def parse_setup(spec: str, *, where: str = "--setup") -> Setup:
    """Return the setup that `spec` names; raise UsageError with the nearest name otherwise."""
    words = spec.split("+")
    if len(words) > _MAX_COMPONENTS:
        raise UsageError(f"{where}: a stack has at most {_MAX_COMPONENTS} modules")
    parts = [_component(word.strip(), where) for word in words]
    if len(parts) == 1:
        return parts[0][1]
    for definition, _ in parts:
        if not definition.stackable:
            raise UsageError(
                f"{where}: '{definition.name}' cannot be part of a stack",
                hint="name single modules: --setup 'landlock+apparmor'",
            )
    names = [definition.name for definition, _ in parts]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"{where}: '{twice[0]}' stands twice in the stack '{spec}'")
    return _stack([setup for _, setup in parts])


def _component(word: str, where: str) -> tuple[SetupDefinition, Setup]:
    if not _COMPONENT.fullmatch(word):
        raise UsageError(
            f"{where}: '{word[:80]}' is not the name of a setup",
            hint="examples: selinux, landlock:layers=2,rules=8, landlock+apparmor",
        )
    name, _, settings = word.partition(":")
    definition = definitions().get(name)
    if definition is None:
        raise unknown("setup", name, definitions(), where=where)
    if not settings:
        return definition, definition.setup
    values = _values(definition, settings, where)
    assert definition.configure is not None  # noqa: S101  (_values refuses settings without it)
    return definition, definition.configure(values)


def _values(definition: SetupDefinition, settings: str, where: str) -> dict[str, int]:
    known = {parameter.name: parameter for parameter in definition.parameters}
    if not known or definition.configure is None:
        raise UsageError(f"{where}: the setup '{definition.name}' takes no parameters")
    values = {parameter.name: parameter.default for parameter in definition.parameters}
    for setting in settings.split(","):
        key, _, text = setting.partition("=")
        if key not in known:
            raise unknown(f"parameter of {definition.name}", key, known, where=where)
        value, parameter = int(text), known[key]
        if not parameter.minimum <= value <= parameter.maximum:
            raise UsageError(
                f"{where}: {definition.name}: {key}={value} is outside "
                f"{parameter.minimum} to {parameter.maximum} ({parameter.title})"
            )
        values[key] = value
    return values


def _stack(parts: list[Setup]) -> Setup:
    """Join single modules into one setup, in the order given."""
    notes = dict.fromkeys(part.note for part in parts if part.note)
    return Setup(
        name="+".join(part.name for part in parts),
        title="stack of " + ", ".join(part.name for part in parts) + ", in this order",
        lsms=tuple(lsm for part in parts for lsm in part.lsms or ()),
        cmdline=tuple(dict.fromkeys(word for part in parts for word in part.cmdline)),
        expect=tuple(dict.fromkeys(item for part in parts for item in part.expect)),
        guest=tuple(dict.fromkeys(item for part in parts for item in part.guest)),
        needs_config=tuple(dict.fromkeys(item for part in parts for item in part.needs_config)),
        note="; ".join(notes),
    )


def canonical_name(name: str, values: Mapping[str, int]) -> str:
    """Return the name with its parameters, as reports show it: landlock:layers=2,rules=8."""
    return name + ":" + ",".join(f"{key}={value}" for key, value in values.items())


def renamed(setup: Setup, name: str) -> Setup:
    """Return the same setup under another name."""
    return replace(setup, name=name)
