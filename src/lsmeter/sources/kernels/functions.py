# SPDX-License-Identifier: GPL-2.0-or-later
"""Tells to which security module a kernel function belongs; pure.

Functions of a module are known by their prefix. Functions without one (`may_create`) are known
by their place: the linker keeps the objects of a directory together, so what lies between two
functions of one module is that module's.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

FRAMEWORK = "framework"

_RULES: Mapping[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
_PREFIXES = {prefix: module for module, found in _RULES["prefixes"].items() for prefix in found}
_LENGTHS = sorted({*map(len, _PREFIXES)}, reverse=True)
_ANY = tuple(_PREFIXES)
_WEAK = frozenset(_RULES["weak"])
_SELINUX_NOT_HOOKS = frozenset(f"security_{name}" for name in _RULES["selinux_not_hooks"])
_NOT_HOOKS = _SELINUX_NOT_HOOKS | {f"security_{name}" for name in _RULES["not_hooks"]}
# How many symbols away from its neighbours of the same module a nameless function may lie. The
# largest gap in builds of 5.3 to 6.12 is well below; between modules the gap is crossed
# by a function of another module, which ends it.
_REACH = 400

# Since 6.19, for each stage of the kernel's start: security_initcall_early and so on.
_START_UP_PREFIX = "security_initcall_"


@lru_cache(maxsize=1 << 16)
def base_name(name: str) -> str:
    """Return a function's name without what the compiler appended (`.isra.0`, `.part.0`)."""
    return name.partition(".")[0]


def is_hook(name: str) -> bool:
    """Say whether a function is a hook: a call site `security_*` of the framework."""
    base = base_name(name)
    named = base.startswith("security_") and not base.startswith(_START_UP_PREFIX)
    return named and base not in _NOT_HOOKS


def assign_modules(names: Sequence[str]) -> tuple[str, ...]:
    """Return the module of each function, "" for none; names in the order of addresses."""
    strong = [_strong(name) for name in names]
    found = list(strong)
    previous = -1
    for index, module in enumerate(strong):
        if not module:
            continue
        if previous >= 0 and strong[previous] == module and index - previous <= _REACH:
            found[previous + 1 : index] = [module] * (index - previous - 1)
        previous = index
    # Among LSMs only the capability module has names that begin with cap_.
    return tuple(
        module or ("capability" if _prefix(name)[0] == "cap_" else "")
        for module, name in zip(found, names, strict=True)
    )


def _strong(name: str) -> str:
    """Return the module that the name alone proves."""
    if base_name(name) in _SELINUX_NOT_HOOKS:
        return "selinux"
    if is_hook(name):
        return FRAMEWORK
    prefix, module = _prefix(name)
    return "" if prefix in _WEAK else module


def _prefix(name: str) -> tuple[str, str]:
    """Return the longest prefix that a function's name begins with, and its module."""
    if not name.startswith(_ANY):  # most of a kernel's 90,000
        return "", ""
    found = next(name[:length] for length in _LENGTHS if name[:length] in _PREFIXES)
    return found, _PREFIXES[found]
