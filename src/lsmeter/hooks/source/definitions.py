# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the hooks that the framework defines, in every form a kernel from 5.3 on has them.

Since 5.8 they are LSM_HOOK(…) in include/linux/lsm_hook_defs.h; before, pointers to functions in
union security_list_options of include/linux/lsm_hooks.h.
"""

from __future__ import annotations

import re

from lsmeter.errors import UsageError
from lsmeter.hooks.source.classes import object_class
from lsmeter.hooks.source.macros import conditions_by_line, uses, without_comments
from lsmeter.hooks.source.model import Hook

DEFINITIONS = "include/linux/lsm_hook_defs.h"
OLD_DEFINITIONS = "include/linux/lsm_hooks.h"

_UNION = re.compile(r"\bunion\s+security_list_options\s*\{(.*?)\n\s*\}", re.DOTALL)
_POINTER = re.compile(r"([A-Za-z_][\w \t]*?[\s*])\(\s*\*\s*(\w+)\s*\)\s*\(")


def find_hooks(definitions: str | None, old_definitions: str) -> tuple[Hook, ...]:
    """Return the hooks in the order of definition, each once.

    `definitions` is the text of lsm_hook_defs.h, None where there is none. Raises UsageError
    when neither text has a hook.
    """
    found = _from_list(definitions) if definitions is not None else _from_union(old_definitions)
    hooks: dict[str, Hook] = {}
    for hook in found:
        hooks.setdefault(hook.name, hook)
    if not hooks:
        where = OLD_DEFINITIONS if definitions is None else DEFINITIONS
        raise UsageError(
            f"{where}: no security hook is defined there",
            hint="the tree is damaged, or older than 5.3 or newer than this lsmeter knows",
        )
    return tuple(hooks.values())


def _from_list(text: str) -> list[Hook]:
    hooks: list[Hook] = []
    for use in uses(without_comments(text), "LSM_HOOK"):
        if len(use.arguments) < 3 or not re.fullmatch(r"\w+", use.arguments[2]):
            continue
        name = use.arguments[2]
        returns = use.arguments[0]
        hooks.append(Hook(name, object_class(name), returns, use.condition, DEFINITIONS, use.line))
    return hooks


def _from_union(text: str) -> list[Hook]:
    text = without_comments(text)
    union = _UNION.search(text)
    if union is None:
        return []
    conditions = conditions_by_line(text)
    hooks: list[Hook] = []
    for found in _POINTER.finditer(text, union.start(1), union.end(1)):
        line = text.count("\n", 0, found.end()) + 1
        name = found[2]
        returns = " ".join(found[1].split())
        condition = conditions[line - 1]
        hooks.append(Hook(name, object_class(name), returns, condition, OLD_DEFINITIONS, line))
    return hooks
