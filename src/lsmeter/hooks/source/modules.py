# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the security modules of a tree, the hooks each implements, and how large each is.

A module is a DEFINE_LSM(…); its hooks are the LSM_HOOK_INIT(…) of its folder. BPF takes the whole
list of the framework by including it. IMA and EVM are modules of that kind since 6.9; before,
the framework calls their functions by name, and those count as their hooks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from lsmeter.hooks.source.classes import CLASSES, OTHER, object_class
from lsmeter.hooks.source.lines import code_lines, counts
from lsmeter.hooks.source.macros import conditions_by_line, uses, without_comments
from lsmeter.hooks.source.model import Hook, Implementation, Module

INTEGRITY = ("ima", "evm")
_INTEGRITY_FOLDER = "security/integrity"
_DEFINE = re.compile(
    r"^[ \t]*DEFINE_LSM\(\s*(\w+)\s*\)\s*=\s*\{(.*?)\}\s*;", re.MULTILINE | re.DOTALL
)
_NAME = re.compile(r"\.name\s*=\s*(\"[^\"]*\"|\w+)")
_ID = re.compile(r"\.id\s*=\s*&\s*(\w+)")
_WHOLE_LIST = re.compile(
    r"#\s*define\s+LSM_HOOK\s*\((?:[^\n]*\\\n)*[^\n]*\bLSM_HOOK_INIT\s*\(\s*(\w+)"
)
_CALL = re.compile(r"\b((?:ima|evm)_\w+)\s*\(")
_ORDER = (*(name for name, _ in CLASSES), OTHER)


@dataclass(frozen=True)
class _Found:
    """A module before its hooks are known: its folder, or its file in security/ itself."""

    name: str
    place: str

    def owns(self, path: str) -> bool:
        return path == self.place or path.startswith(f"{self.place}/")


def find_modules(
    texts: Mapping[str, str], hooks: tuple[Hook, ...], ignored: Mapping[str, frozenset[str]]
) -> tuple[Module, ...]:
    """Return the modules, by name.

    texts are all .c and .h files of security/ by path; ignored are the names that the .gitignore
    of a folder has, by folder.
    """
    bare = {path: without_comments(text) for path, text in texts.items()}
    found = _definitions(bare)
    lines = {
        path: code_lines(text)
        for path, text in texts.items()
        if counts(path, ignored.get(path.rpartition("/")[0], frozenset()))
    }
    modules = [_module(one, found, bare, hooks, lines) for one in found]
    named = {module.name for module in modules}
    if not set(INTEGRITY) & named:
        modules = [module for module in modules if module.name != "integrity"]
        modules += [
            _called_by_name(name, bare, lines)
            for name in INTEGRITY
            if any(path.startswith(f"{_INTEGRITY_FOLDER}/{name}/") for path in bare)
        ]
    return tuple(sorted(modules, key=lambda module: module.name))


def _definitions(texts: Mapping[str, str]) -> tuple[_Found, ...]:
    found: list[_Found] = []
    for path, text in texts.items():
        for match in _DEFINE.finditer(text):
            folder = path.rpartition("/")[0]
            place = path if folder == "security" else folder
            found.append(_Found(_name(match, folder, texts), place))
    return tuple(found)


def _name(match: re.Match[str], folder: str, texts: Mapping[str, str]) -> str:
    """Return the name a module goes by: .name, that of its .id, or what DEFINE_LSM says."""
    near = "\n".join(text for path, text in texts.items() if path.startswith(f"{folder}/"))
    named = _NAME.search(match[2])
    if named is None and (identity := _ID.search(match[2])):
        struct = re.search(rf"\b{identity[1]}\s*=\s*\{{(.*?)\}}", near, re.DOTALL)
        named = _NAME.search(struct[1]) if struct else None
    name = named[1] if named else match[1]
    if not name.startswith('"'):
        defined = re.search(rf"^\s*#\s*define\s+{name}\s+\"([^\"]*)\"", near, re.MULTILINE)
        return defined[1] if defined else name
    return name.strip('"')


def _module(
    one: _Found,
    others: tuple[_Found, ...],
    texts: Mapping[str, str],
    hooks: tuple[Hook, ...],
    lines: Mapping[str, int],
) -> Module:
    inner = tuple(other for other in others if other.place != one.place and one.owns(other.place))
    own = [
        path for path in texts if one.owns(path) and not any(other.owns(path) for other in inner)
    ]
    known = {hook.name for hook in hooks}
    done: dict[str, Implementation] = {}
    for path in own:
        for implementation in _implementations(path, texts[path], hooks):
            if implementation.hook in known:
                done.setdefault(implementation.hook, implementation)
    size = sum(lines.get(path, 0) for path in own)
    module = Module(one.name, one.place, 0, 0, (), size, None, tuple(done.values()))
    if any(_WHOLE_LIST.search(texts[path]) for path in own):
        note = "it takes the framework's whole list; the rest of it, outside security/, not counted"
        module = replace(module, note=note)
    return _sized(module)


def _implementations(path: str, text: str, hooks: tuple[Hook, ...]) -> list[Implementation]:
    found: list[Implementation] = []
    whole = _WHOLE_LIST.search(text)
    if whole:
        line = text.count("\n", 0, whole.end()) + 1
        found += [
            Implementation(hook.name, f"bpf_lsm_{hook.name}", hook.condition, path, line)
            for hook in hooks
        ]
    for use in uses(text, "LSM_HOOK_INIT"):
        if len(use.arguments) == 2:
            hook, function = use.arguments
            found.append(Implementation(hook, function, _own(use.condition), path, use.line))
    return found


def _own(condition: str) -> str:
    """Leave out CONFIG_SECURITY: without it there are no modules at all."""
    parts = (part for part in condition.split(" && ") if part != "CONFIG_SECURITY")
    return " && ".join(parts)


def _sized(module: Module) -> Module:
    classes = Counter(object_class(one.hook) for one in module.implementations)
    hooks = len(module.implementations)
    return replace(
        module,
        hooks=hooks,
        general_hooks=sum(1 for one in module.implementations if not one.condition),
        hooks_by_class=tuple((name, classes[name]) for name in _ORDER if classes[name]),
        lines_per_hook=round(module.code_lines / hooks, 1) if hooks else None,
    )


def _called_by_name(name: str, texts: Mapping[str, str], lines: Mapping[str, int]) -> Module:
    """Describe IMA or EVM of a kernel that has them outside the framework.

    Their hooks are the functions of theirs that security/security.c calls, once each, of the
    class of the hook they are called beside.
    """
    folder = f"{_INTEGRITY_FOLDER}/{name}"
    path = "security/security.c"
    text = texts.get(path, "")
    conditions = conditions_by_line(text)
    done: dict[str, Implementation] = {}
    for start, function, body in _framework_functions(text):
        for call in _CALL.finditer(body):
            if not call[1].startswith(f"{name}_") or call[1] in done:
                continue
            line = text.count("\n", 0, start + call.start()) + 1
            hook = function.removeprefix("security_")
            done[call[1]] = Implementation(hook, call[1], conditions[line - 1], path, line)
    size = sum(count for path, count in lines.items() if path.startswith(f"{folder}/"))
    note = (
        "no module of the framework in this kernel: its hooks are its functions that"
        " security/security.c calls by name; other code calls further ones"
    )
    module = Module(name, folder, 0, 0, (), size, None, tuple(done.values()))
    return _sized(replace(module, called_by_name=True, note=note))


def _framework_functions(text: str) -> list[tuple[int, str, str]]:
    """Return (offset of the body, name, body) of every security_* function."""
    found: list[tuple[int, str, str]] = []
    starts = list(
        re.finditer(r"^[a-z][^\n;]*\b(security_\w+)\s*\([^;{]*?\)\s*\{", text, re.MULTILINE)
    )
    for start in starts:
        end = text.find("\n}", start.end())
        found.append((start.end(), start[1], text[start.end() : end if end >= 0 else len(text)]))
    return found
