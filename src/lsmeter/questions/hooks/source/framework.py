# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the framework's hooks, the modules of a tree with their hooks and size, and interfaces.

A hook is an LSM_HOOK(…) of include/linux/lsm_hook_defs.h, before 5.8 a pointer in union
security_list_options. A module is a DEFINE_LSM(…); its hooks are the LSM_HOOK_INIT(…) of its
folder. BPF takes the framework's whole list by including it. IMA and EVM are modules like others
since 6.9; before, the framework calls their functions by name, and those count as their hooks.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping

from lsmeter.core.errors import UsageError
from lsmeter.core.groups import grouped
from lsmeter.questions.hooks.source.config import chosen, without_comments
from lsmeter.questions.hooks.source.model import Function, Hook, Implementation, Interface, Module
from lsmeter.questions.hooks.source.program import Program
from lsmeter.questions.hooks.source.rules import CLASSES, OTHER, decides, object_class

DEFINITIONS = "include/linux/lsm_hook_defs.h"
OLD_DEFINITIONS = "include/linux/lsm_hooks.h"
MAX_MODULES = 20  # of a file
MAX_USES = 5000  # of a macro in one file; the longest list of a kernel has fewer than 300

_INTEGRITY, _INTEGRITY_FOLDER = ("ima", "evm"), "security/integrity"
# A tree may come from anywhere: no pattern goes over a place twice, or farther than a bound.
_LSM_HOOK = re.compile(r"\bLSM_HOOK\s*+\(\s*+([^,()\s][^,()]*+),[^,()]*+,\s*+(\w++)\s*+[,)]")
_LSM_HOOK_INIT = re.compile(r"\bLSM_HOOK_INIT\s*+\(\s*+(\w++)\s*+,\s*+(\w++)\s*+\)")
_UNION = re.compile(r"\bunion\s++security_list_options\s*+\{")
_END_OF_UNION = re.compile(r"\n[ \t]*+\}")
_POINTER = re.compile(r"\b([A-Za-z_][\w \t]{0,200}?[\s*])\(\s*+\*\s*+(\w++)\s*+\)\s*+\(")
_LSM_BEGIN = re.compile(r"^[ \t]*+DEFINE_(?:EARLY_)?LSM\(", re.MULTILINE)
_LSM = re.compile(_LSM_BEGIN.pattern + r"\s*+(\w++)\s*+\)\s*+=\s*+\{([^;]{0,4000}+);", re.MULTILINE)
_NAME = re.compile(r"\.name\s*+=\s*+(\"[^\"]*+\"|\w++)")
_ID = re.compile(r"\.id\s*+=\s*+&\s*+(\w++)")
_WHOLE_LIST = re.compile(
    r"#[ \t]*+define[ \t]++LSM_HOOK[ \t]*+\((?:[^\n]{0,500}\\\n){0,20}[^\n]{0,500}?"
    r"\bLSM_HOOK_INIT\s*+\(\s*+(\w++)"
)
_INTERFACE = re.compile(
    r"^[a-z][^\n;]{0,300}\b(security_\w++)\s*+\([^;{]{0,2000}?\)\s*+\{", re.MULTILINE
)
_CALL = re.compile(r"\b((ima|evm)_\w++)\s*+\(")
_NOT_CODE = re.compile(
    r"/\*.*?(?:\*/|\Z)|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?", re.DOTALL
)
_WHOLE = "it takes the framework's whole list; the rest of it, outside security/, not counted"
_BY_NAME = (
    "no module of the framework in this kernel: its hooks are its functions that"
    " security/security.c calls by name; other code calls further ones"
)
_TEST = re.compile(r"(_test|_kunit)\.c$")


def _uses(macro: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield every use of a macro in `text` with its condition, but those in directives."""
    condition = chosen(text).condition
    for found in itertools.islice(macro.finditer(text), MAX_USES):
        line = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
        if not line.lstrip().startswith("#"):
            yield found, condition(found.start())


def find_hooks(definitions: str, old_definitions: str) -> tuple[Hook, ...]:
    """Return the hooks in the order of definition, each once.

    `definitions` is the text of lsm_hook_defs.h, "" where there is none. Raises UsageError when
    neither text has a hook.
    """
    old = _uses(_POINTER, _union(without_comments(old_definitions)))
    hooks: dict[str, Hook] = {}
    for found, condition in _uses(_LSM_HOOK, without_comments(definitions)) if definitions else old:
        returns, name = " ".join(found[1].split()), found[2]
        hooks.setdefault(name, Hook(name, object_class(name), returns, condition))
    if not hooks:
        raise UsageError(
            f"{DEFINITIONS if definitions else OLD_DEFINITIONS}: no security hook is defined there",
            hint="the tree is damaged, or older than 5.3 or newer than this lsmeter knows",
        )
    return tuple(hooks.values())


def _union(text: str) -> str:
    begin = _UNION.search(text)
    end = _END_OF_UNION.search(text, begin.end()) if begin else None
    return text[begin.end() : end.start()] if begin and end else ""


def code_lines(text: str) -> int:
    """Count the lines of C in `text` that are neither blank nor only a comment."""

    def without(found: re.Match[str]) -> str:
        lines = "\n" * found[0].count("\n")
        return lines or " " if found[0].startswith(("/*", "//")) else "x" + lines

    return sum(1 for line in _NOT_CODE.sub(without, text).split("\n") if line.strip())


def all_code_lines(texts: Mapping[str, str], ignored: frozenset[str]) -> dict[str, int]:
    """Return the code lines of each file, without KUnit tests, and what git ignores: it is made."""
    counted = {path: text for path, text in texts.items() if not _TEST.search(path)}
    return {path: code_lines(text) for path, text in counted.items() if path not in ignored}


def find_modules(
    texts: Mapping[str, str], hooks: tuple[Hook, ...], lines: Mapping[str, int]
) -> tuple[Module, ...]:
    """Return the modules, by name.

    texts are all .c and .h files of security/ by path, lines their lines of code. Raises
    UsageError where a file defines modules that cannot all be read.
    """
    bare = {path: without_comments(text) for path, text in texts.items()}
    found = [
        (_name(match, folder, bare), path if folder == "security" else folder)
        for path, text in bare.items()
        for folder in (path.rpartition("/")[0],)
        for match in _definitions(path, text)
    ]
    places = {place for _, place in found}
    own = grouped((_place(path, places), path) for path in bare)
    modules: list[Module] = []
    for name, place in found:
        near = [bare[path] for path in own[place]]
        note = _WHOLE if any(map(_WHOLE_LIST.search, near)) else ""
        size = sum(lines.get(path, 0) for path in own[place])
        modules.append(_module(name, place, _implementations(near, hooks), size, note))
    if not any(module.name in _INTEGRITY for module in modules):
        modules = [module for module in modules if module.name != "integrity"]
        for name in _INTEGRITY:
            folder = f"{_INTEGRITY_FOLDER}/{name}"
            sizes = [lines.get(path, 0) for path in bare if path.startswith(f"{folder}/")]
            called = _called(name, bare.get("security/security.c", ""))
            if sizes:
                modules.append(_module(name, folder, called, sum(sizes), _BY_NAME))
    return tuple(sorted(modules, key=lambda module: module.name))


def _definitions(path: str, text: str) -> list[re.Match[str]]:
    """Return the definitions of modules in a file; UsageError where one of them is not read."""
    found = list(itertools.islice(_LSM.finditer(text), MAX_MODULES + 1))
    ends = (0, *(match.end() for match in found))
    starts = (*(match.start() for match in found), len(text))
    unread = map(_LSM_BEGIN.search, itertools.repeat(text), ends, starts)
    wrong = ""
    if len(found) > MAX_MODULES:
        wrong = f"{path}: more than {MAX_MODULES} modules are defined there"
    elif begin := next(filter(None, unread), None):
        line = text.count("\n", 0, begin.start()) + 1
        wrong = f"{path}:{line}: the module that is defined there cannot be read"
    if wrong:
        raise UsageError(wrong, hint="the tree is damaged, or newer than this lsmeter knows")
    return found


def _place(path: str, places: Container[str]) -> str:
    """Return the place of the module that a file is of: the nearest one around it, or ""."""
    while path and path not in places:
        path = path.rpartition("/")[0]
    return path


def _name(match: re.Match[str], folder: str, texts: Mapping[str, str]) -> str:
    """Return the name a module goes by: .name, that of its .id, or what DEFINE_LSM says."""
    near = "\n".join(text for path, text in texts.items() if path.startswith(f"{folder}/"))
    named = _NAME.search(match[2])
    if named is None and (identity := _ID.search(match[2])):
        struct = re.search(rf"\b{identity[1]}\s*+=\s*+\{{([^}}]{{0,4000}}+)\}}", near)
        named = _NAME.search(struct[1]) if struct else None
    name = named[1] if named else match[1]
    if name.startswith('"'):
        return name.strip('"')
    macro = rf"^[ \t]*+#[ \t]*+define[ \t]++{name}[ \t]++\"([^\"\n]*+)\""
    defined = re.search(macro, near, re.MULTILINE)
    return defined[1] if defined else name


def _module(name: str, place: str, found: Iterable[Implementation], size: int, note: str) -> Module:
    by_name = note == _BY_NAME
    items: dict[str, Implementation] = {}
    for one in found:
        items.setdefault(one.function if by_name else one.hook, one)
    classes = Counter(object_class(one.hook) for one in items.values())
    return Module(
        name,
        place,
        hooks=len(items),
        general_hooks=sum(1 for one in items.values() if not one.condition),
        hooks_by_class={one: classes[one] for one in (*CLASSES, OTHER) if classes[one]},
        code_lines=size,
        lines_per_hook=round(size / len(items), 1) if items else None,
        implementations=tuple(items.values()),
        called_by_name=by_name,
        note=note,
    )


def _implementations(texts: Iterable[str], hooks: Iterable[Hook]) -> Iterator[Implementation]:
    known = {hook.name for hook in hooks}
    for text in texts:
        if _WHOLE_LIST.search(text):
            for hook in hooks:
                yield Implementation(hook.name, f"bpf_lsm_{hook.name}", hook.condition)
        for found, condition in _uses(_LSM_HOOK_INIT, text):
            # without CONFIG_SECURITY there are no modules at all
            parts = (part for part in condition.split(" && ") if part != "CONFIG_SECURITY")
            if found[1] in known:
                yield Implementation(found[1], found[2], " && ".join(parts))


def _called(name: str, text: str) -> Iterator[Implementation]:
    """Yield the functions of IMA or EVM that an old security.c calls, by the hook beside them."""
    condition = chosen(text).condition
    for start in _INTERFACE.finditer(text):
        end = text.find("\n}", start.end())
        for call in _CALL.finditer(text, start.end(), end if end >= 0 else len(text)):
            if call[2] == name:
                hook = start[1].removeprefix("security_")
                yield Implementation(hook, call[1], condition(call.start()))


def find_interfaces(
    program: Program, hooks: Iterable[Hook], modules: Iterable[Module]
) -> dict[int, Interface]:
    """Return the functions by which the kernel asks its modules, and which modules each reaches.

    They are the functions of security/*.c that run the modules of a hook, and the functions of a
    module itself that other code calls by name (IMA and EVM of old kernels, cap_* still).
    """
    returns = {hook.name: hook.returns for hook in hooks}
    places = {module.directory: module.name for module in modules}
    acting: dict[str, set[str]] = defaultdict(set)
    for module in modules:
        if not module.called_by_name:  # those are found by the calls of their functions
            for one in module.implementations:
                acting[one.hook].add(module.name)

    def owner(function: Function) -> set[str]:
        place = _place(function.file, places)
        return {places[place]} if place and not function.macro else set()

    found: dict[int, Interface] = {}
    for number, function in enumerate(program.functions):
        name, own = function.name, owner(function)
        run = tuple(hook for hook in function.hooks if hook in returns)
        if own:
            bare = re.sub(r"^(cap|ima|evm)_", "", name)
            found[number] = Interface(name, (), tuple(own), object_class(bare), decision=False)
        elif run and name.startswith("security_") and not function.macro:
            called = (one for call in function.calls for one in program.by_name.get(call.name, ()))
            owners = (owner(program.functions[one]) for one in called)
            asked = set().union(*map(acting.__getitem__, run), *owners)
            bare = name.removeprefix("security_")
            main = bare if bare in run else run[0]
            decision = any(decides(hook, returns[hook]) for hook in run)
            found[number] = Interface(name, run, tuple(sorted(asked)), object_class(main), decision)
    return found
