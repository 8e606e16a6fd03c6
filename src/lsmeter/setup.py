# SPDX-License-Identifier: GPL-2.0-or-later
"""From a setup's name on the command line to a Setup: definitions, parameters, stacks.

`selinux`, `landlock:layers=2,rules=8` and `landlock+apparmor+bpf` are such names. A definition
is one file in lsmeter.setups, or a file of the user's (lsmeter.setup_file). Nothing here boots.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from lsmeter.errors import UsageError
from lsmeter.model import Setup
from lsmeter.policy import IMA_POLICY, INTEGRITY, WORK_DIRECTORY, Layer, Step
from lsmeter.registry import members, unknown
from lsmeter.setup_file import is_setup_file, read_setup

HOOKS_ONLY = "no policy loaded: this measures hooking, not policy enforcement"

_COMPONENT = re.compile(
    r"[a-z][a-z0-9-]*(:[a-z][a-z0-9_]*=[a-z0-9][a-z0-9-]{0,31}"
    r"(,[a-z][a-z0-9_]*=[a-z0-9][a-z0-9-]{0,31})*)?"
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
class Choice:
    """A word that a setup takes, one of several."""

    name: str
    title: str
    default: str
    choices: tuple[str, ...]


class Values(dict[str, int]):
    """The value of each parameter; words of a Choice are behind `word`."""

    def __init__(self, numbers: Mapping[str, int], words: Mapping[str, str] | None = None) -> None:
        super().__init__(numbers)
        self._words = dict(words or {})

    def word(self, name: str) -> str:
        """Return the word chosen for `name`."""
        return self._words[name]

    @property
    def settings(self) -> dict[str, int | str]:
        """All of them, in the order of the definition's parameters, numbers first."""
        return {**self, **self._words}


@dataclass(frozen=True)
class SetupDefinition:
    """What one file in lsmeter.setups offers.

    setup is the configuration with its defaults. Where parameters exist, configure builds the
    setup for given values (all present, all within their limits).
    """

    setup: Setup
    parameters: tuple[Parameter | Choice, ...] = ()
    configure: Callable[[Values], Setup] | None = None
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
    for definition, setup in parts:
        if definition is not None and not definition.stackable:
            raise UsageError(
                f"{where}: '{setup.name}' cannot be part of a stack",
                hint="name single modules: --setup 'landlock+apparmor'",
            )
    names = [definition.name if definition else setup.name for definition, setup in parts]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"{where}: '{twice[0]}' stands twice in the stack '{spec}'")
    return _stack([setup for _, setup in parts], where)


def _component(word: str, where: str) -> tuple[SetupDefinition | None, Setup]:
    if is_setup_file(word):
        return None, read_setup(Path(word), where=where)
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


def _values(definition: SetupDefinition, settings: str, where: str) -> Values:
    known = {parameter.name: parameter for parameter in definition.parameters}
    if not known or definition.configure is None:
        raise UsageError(f"{where}: the setup '{definition.name}' takes no parameters")
    numbers, words = default_values(definition.parameters)
    for setting in settings.split(","):
        key, _, text = setting.partition("=")
        if key not in known:
            raise unknown(f"parameter of {definition.name}", key, known, where=where)
        parameter = known[key]
        if isinstance(parameter, Choice):
            if text not in parameter.choices:
                raise unknown(f"{key} of {definition.name}", text, parameter.choices, where=where)
            words[key] = text
        else:
            numbers[key] = _within(parameter, text, f"{where}: {definition.name}: {key}")
    return Values(numbers, words)


def default_values(
    parameters: tuple[Parameter | Choice, ...],
) -> tuple[dict[str, int], dict[str, str]]:
    """Return the default of each number, and of each word."""
    numbers = {item.name: item.default for item in parameters if isinstance(item, Parameter)}
    words = {item.name: item.default for item in parameters if isinstance(item, Choice)}
    return numbers, words


def _within(parameter: Parameter, text: str, where: str) -> int:
    """Read a parameter's number; UsageError unless it lies within the limits."""
    limits = f"{parameter.minimum} to {parameter.maximum} ({parameter.title})"
    if not text.isdecimal():
        raise UsageError(f"{where}={text} is not a number of {limits}")
    value = int(text)
    if not parameter.minimum <= value <= parameter.maximum:
        raise UsageError(f"{where}={value} is outside {limits}")
    return value


def with_parameters(
    parameters: tuple[Parameter | Choice, ...], configure: Callable[[Values], Setup]
) -> SetupDefinition:
    """Offer a setup that is wholly built from its parameters."""
    return SetupDefinition(
        setup=configure(Values(*default_values(parameters))),
        parameters=parameters,
        configure=configure,
    )


def _stack(parts: list[Setup], where: str) -> Setup:
    """Join single modules into one setup, in the order given."""
    images = {part.image for part in parts if part.image}
    if len(images) > 1:
        raise UsageError(f"{where}: the stack needs two images: {', '.join(sorted(images))}")
    last = parts[-1]
    notes = dict.fromkeys(part.note for part in parts if part.note)
    return Setup(
        name="+".join(part.name for part in parts),
        title="stack of " + ", ".join(part.name for part in parts) + ", in this order",
        lsms=_stacked_lsms(parts),
        cmdline=tuple(dict.fromkeys(word for part in parts for word in part.cmdline)),
        expect=tuple(dict.fromkeys(item for part in parts for item in part.expect)),
        guest=tuple(dict.fromkeys(item for part in parts for item in part.guest)),
        needs_config=_stacked_needs(parts),
        note="; ".join(notes),
        image=images.pop() if images else "",
        files=tuple(dict.fromkeys(item for part in parts for item in part.files)),
        steps=_stacked_steps(parts),
        confine=tuple(dict.fromkeys(item for part in parts for item in part.confine)),
        proofs=tuple(dict.fromkeys(item for part in parts for item in part.proofs)),
        states=tuple(dict.fromkeys(item for part in parts for item in part.states)),
        counters=tuple(dict.fromkeys(item for part in parts for item in part.counters)),
        before=tuple(dict.fromkeys(item for part in parts for item in part.before)),
        reads=tuple(dict.fromkeys(item for part in parts for item in part.reads)),
        over="+".join(part.name for part in parts[:-1]),
        layer=last.layer,
    )


def _stacked_steps(parts: list[Setup]) -> tuple[Step, ...]:
    """Join the steps; with integrity, files to work with are made when it is in force.

    IMA refuses a file that was made before it could keep the file's hash. A file that a later
    step names, to label it say, stays where it is.
    """
    joined = tuple(dict.fromkeys(item for part in parts for item in part.steps))
    if not any(part.layer is Layer.INTEGRITY for part in parts):
        return joined
    others = [part for part in parts if part.layer is not Layer.INTEGRITY]
    late = {step for part in others for step in part.steps if _makes_work_file(step, joined)}
    return tuple(sorted(joined, key=lambda step: step in late))


def _makes_work_file(step: Step, steps: tuple[Step, ...]) -> bool:
    if step.action != "file" or not step.words[0].startswith(f"{WORK_DIRECTORY}/"):
        return False
    return not any(step.words[0] in other.words for other in steps if other != step)


def _stacked_needs(parts: list[Setup]) -> tuple[str, ...]:
    """Join the kernel options; a second policy for IMA needs one of its own."""
    needs = dict.fromkeys(item for part in parts for item in part.needs_config)
    policies = [step for part in parts for step in part.steps if step.words[:1] == (IMA_POLICY,)]
    if len(policies) > 1:
        needs["IMA_WRITE_POLICY"] = None
    return tuple(needs)


def _stacked_lsms(parts: list[Setup]) -> tuple[str, ...]:
    """Join the lists of modules; audit and integrity bring no module to a stack of others."""
    added = [part for part in parts if part.layer not in (Layer.AUDIT, Layer.INTEGRITY)]
    names = [lsm for part in added or parts[:1] for lsm in part.lsms or () if lsm != INTEGRITY]
    switched_on = any(INTEGRITY in (part.lsms or ()) for part in parts)
    return (*names, INTEGRITY) if switched_on else tuple(names)


def name_with(name: str, values: Values, parameters: tuple[Parameter | Choice, ...]) -> str:
    """Return the name with those parameters that differ from their defaults."""
    numbers, words = default_values(parameters)
    defaults: dict[str, int | str] = {**numbers, **words}
    given = {key: value for key, value in values.settings.items() if defaults[key] != value}
    return canonical_name(name, given) if given else name


def canonical_name(name: str, values: Mapping[str, int | str]) -> str:
    """Return the name with its parameters, as reports show it: landlock:layers=2,rules=8."""
    return name + ":" + ",".join(f"{key}={value}" for key, value in values.items())


def renamed(setup: Setup, name: str) -> Setup:
    """Return the same setup under another name."""
    return replace(setup, name=name)
