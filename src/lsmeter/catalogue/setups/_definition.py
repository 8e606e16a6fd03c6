# SPDX-License-Identifier: GPL-2.0-or-later
"""Setups, setups with parameters, and stacks of them, by the names that users give.

`selinux`, `landlock:layers=2,rules=8` and `landlock+apparmor+bpf` are such names.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from lsmeter.catalogue.setups._family import SetupDefinition, read_family
from lsmeter.catalogue.setups._file import SUFFIX, read_setup
from lsmeter.catalogue.setups._parameters import Choice
from lsmeter.core.errors import UsageError
from lsmeter.core.model.setup import INTEGRITY, Layer, Setup, Step
from lsmeter.core.registry import find, nearest

# Where the guest mounts the file system of the benchmarks (probe/init/init.c).
_WORK_DIRECTORY = "/data"
# Without CONFIG_IMA_WRITE_POLICY the kernel takes one policy in a boot, then this file is gone.
_IMA_POLICY = "/sys/kernel/security/ima/policy"
_SETTING = "[a-z][a-z0-9_]*=[a-z0-9][a-z0-9-]{0,31}"
_COMPONENT = re.compile(f"[a-z][a-z0-9-]*(:{_SETTING}(,{_SETTING})*)?")
_MAX_COMPONENTS = 16
# What a stack has of all its parts, each once.
_JOINED = tuple(item.name for item in fields(Setup) if item.default == ())


@cache
def definitions() -> Mapping[str, SetupDefinition]:
    """Return every setup that this package has, by name."""
    found: dict[str, SetupDefinition] = {}
    files = sorted(Path(__file__).parent.glob(f"*{SUFFIX}"))
    for definition in chain.from_iterable(map(read_family, files)):
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


def for_command(spec: str) -> str:
    """Return the name of the same setup with a policy for any command, where there is one."""
    return "+".join(map(_for_command, spec.split("+")))


def _for_command(word: str) -> str:
    name, _, settings = word.strip().partition(":")
    definition = definitions().get(name)
    domains = {
        choice
        for item in (definition.parameters if definition else ())
        if isinstance(item, Choice) and item.name == "domain"
        for choice in item.choices
    }
    if "command" not in domains or "domain=" in settings:
        return word
    return f"{name}:{','.join(filter(None, (settings, 'domain=command')))}"


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
    if word in definitions():  # stack:fedora
        return definitions()[word].setup
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
    if sum(step.words[:1] == (_IMA_POLICY,) for part in parts for step in part.steps) > 1:
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
    if step.action != "file" or not step.words[0].startswith(f"{_WORK_DIRECTORY}/"):
        return False
    return not any(step.words[0] in other.words for other in steps if other != step)


def _stacked_lsms(parts: list[Setup]) -> tuple[str, ...]:
    """Join the lists of modules; audit and integrity bring no module to a stack of others."""
    added = [part for part in parts if part.layer not in (Layer.AUDIT, Layer.INTEGRITY)]
    names = [lsm for part in added or parts[:1] for lsm in part.lsms or () if lsm != INTEGRITY]
    switched_on = any(INTEGRITY in (part.lsms or ()) for part in parts)
    return (*names, INTEGRITY) if switched_on else tuple(names)
