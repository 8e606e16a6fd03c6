# SPDX-License-Identifier: GPL-2.0-or-later
"""Why kconfig dropped an option: reads a tree's Kconfig files for what the option depends on.

This is no second kconfig: the kernel's own decides. It is used only after an option was
dropped, and names the part of the condition that the final configuration does not meet. What
it does not understand it passes over, so that a new keyword costs a reason and nothing else.
(kconfiglib stops at such a keyword: at `modules` of 5.14 and at `transitional` of 6.18.)
"""

from __future__ import annotations

import operator as operators
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from lsmeter.core.model.arch import X86_64, Arch

Reader = Callable[[str], str | None]  # a file's text by its path in the tree, None if absent

_MAX_FILES = 10_000
_ARCH = re.compile(r"\$\(?(SRCARCH|ARCH|HEADER_ARCH)\)?")
_TYPES = ("bool", "tristate", "string", "int", "hex", "def_bool", "def_tristate", "prompt")
# A macro's definition (if-success = …) begins with a word that is none.
_KEYWORD = re.compile(r"([a-z_]+)(?=[\s\"'(]|$)\s*(.*)")
_QUOTED = re.compile(r"(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')\s*(?:if\s+(.*))?")
_SELECT = re.compile(r"([A-Za-z0-9_]+)(?:\s+if\s+(.*))?")
_COMMENT = re.compile(r"((?:\"[^\"]*\"?|'[^']*'?|[^\"'#])*+)#.*")
_WORD = r"\$\((?:[^()]|\([^()]*\))*\)|\"[^\"]*\"|'[^']*'|[A-Za-z0-9_.\-]+"
_TOKEN = re.compile(rf"({_WORD}|&&|\|\||!=|<=|>=|[!=<>()])|\S.*", re.DOTALL)
_COMPARED = re.compile(rf"({_WORD})(?:\s*(!=|<=|>=|[=<>])\s*({_WORD}))?")
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operators.eq,
    "!=": operators.ne,
    "<": operators.lt,
    ">": operators.gt,
    "<=": operators.le,
    ">=": operators.ge,
}
# What binds closest comes first.
_RULES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"! *([012])"), lambda found: f"{2 - int(found[1])}"),
    (re.compile(r"\( *([012]) *\)"), lambda found: found[1]),
    (re.compile(r"([012]) *&& *([012])"), lambda found: min(found[1], found[2])),
    (re.compile(r"([012]) *\|\| *([012])(?! *&&)"), lambda found: max(found[1], found[2])),
)
_SYMBOL = re.compile(r"(?=.*[A-Z])[A-Za-z0-9_]+")


class Value(IntEnum):
    """The truth of a condition: m counts as YES; what only kconfig itself can know is UNKNOWN."""

    NO = 0
    UNKNOWN = 1
    YES = 2


def _tokens(text: str) -> list[str]:
    """Return the words and operators of a condition; a rest that has none is one word."""
    return [word or "$(unreadable)" for word in _TOKEN.findall(text)]


def evaluate(condition: str, config: Mapping[str, str]) -> Value:
    """Return the truth of `condition`: symbols become values, joined until one is left."""
    text = _COMPARED.sub(lambda found: f"{_compare(config, *found.groups()):d}", condition)
    reduced = ""
    while text != reduced:
        reduced = text
        rules = ((pattern.subn(result, text, count=1)) for pattern, result in _RULES)
        text = next((after for after, found in rules if found), text)
    return Value(int(text)) if re.fullmatch(r" *[012] *", text) else Value.UNKNOWN


def _compare(
    config: Mapping[str, str], left: str, operator: str | None, right: str | None
) -> Value:
    """Return the truth of a comparison, or of a symbol alone."""
    values = [_text(word, config) for word in (left, right or "y")]
    if None in values:
        return Value.UNKNOWN
    if operator is None:
        return Value.YES if values[0] in ("y", "m") else Value.NO
    try:
        numbers = [int(value or "", 0) for value in values] if operator not in ("=", "!=") else []
    except ValueError:
        return Value.UNKNOWN
    return Value.YES if _COMPARISONS[operator](*(numbers or values)) else Value.NO


def _text(word: str, config: Mapping[str, str]) -> str | None:
    """Return the value of a symbol or constant; None when only kconfig knows it."""
    if "$(" in word:
        return None
    if word[0] in "\"'":
        return word[1:-1]
    return config.get(word, "n") if _SYMBOL.fullmatch(word) else word


def conjuncts(condition: str) -> tuple[str, ...]:
    """Split at the outermost `&&`, so that the false part can be named alone."""
    parts: list[list[str]] = [[]]
    depth = 0
    for word in _tokens(condition):
        depth += {"(": 1, ")": -1}.get(word, 0)
        if word == "||" and depth == 0:
            return (condition,)
        if word == "&&" and depth == 0:
            parts.append([])
        else:
            parts[-1].append(word)
    return tuple(re.sub(r"(?<=[!(]) | (?=\))", "", " ".join(part)) for part in parts if part)


def symbols(condition: str) -> tuple[str, ...]:
    """Return the names of the options in `condition`, each once, in order."""
    return tuple(dict.fromkeys(word for word in _tokens(condition) if _SYMBOL.fullmatch(word)))


@dataclass
class Definition:
    """One place that defines a symbol; depends includes the conditions of menus around it."""

    name: str
    place: str  # file:line
    depends: list[str]
    title: str = ""
    asked: bool = False  # whether it has a question at all; if not, only others can set it
    asked_if: str = ""  # the condition of the question, "" when there is none
    choice: str = ""  # the question of the choice that it belongs to, "" when none


@dataclass
class Kconfig:
    """What was read: definitions, and who selects whom under which condition."""

    definitions: dict[str, list[Definition]] = field(default_factory=dict)
    selected_by: dict[str, list[tuple[str, str]]] = field(default_factory=dict)


def read_kconfig(read: Reader, arch: Arch = X86_64) -> Kconfig:
    """Read all Kconfig files; read gives a file's text, None where there is none."""
    found = Kconfig()
    blocks: list[Definition] = []  # those that are open
    owner: Definition | None = None  # of the properties that follow
    for place, word, rest in _statements(read, "Kconfig", iter(range(_MAX_FILES)), (), arch):
        if word in ("config", "menuconfig"):
            outer = [condition for block in blocks for condition in block.depends]
            choices = [block.title or "a choice" for block in blocks if block.name == "choice"]
            owner = Definition(rest, place, outer, choice=choices[-1] if choices else "")
            found.definitions.setdefault(rest, []).append(owner)
        elif word in ("if", "menu", "choice"):
            owner = Definition(word, place, [rest] if word == "if" else [], rest.strip("\"'"))
            blocks.append(owner)
        elif word in ("endif", "endmenu", "endchoice"):
            del blocks[-1:]
            owner = blocks[-1] if blocks else None
        elif word == "comment":
            owner = Definition("", place, [])  # whose conditions are its own, and of no interest
        elif word in ("mainmenu", "source"):
            owner = blocks[-1] if blocks else None
        elif owner is not None:
            _property(found, owner, word, rest)
    return found


def _statements(
    read: Reader, path: str, files: Iterator[int], above: tuple[str, ...], arch: Arch
) -> Iterator[tuple[str, str, str]]:
    """Give place, keyword and rest of each line, with those of a sourced file in its place."""
    known = path not in above and next(files, None) is not None
    for number, line in _logical_lines((read(path) or "") if known else ""):
        match = _KEYWORD.match(line)
        if match is None:
            continue
        word, rest = match[1], match[2].strip()
        if word in ("source", "osource", "rsource", "orsource"):
            target = _ARCH.sub(arch.tree, rest.strip("\"'"))
            target = f"{path.rpartition('/')[0]}/{target}" if "rsource" in word else target
            yield path, "source", target
            yield from _statements(read, target, files, (*above, path), arch)
            yield path, "source", ""
        else:
            yield f"{path}:{number}", word, rest


def _property(found: Kconfig, owner: Definition, word: str, rest: str) -> None:
    if word == "depends" and rest.startswith("on"):
        condition, _, when = rest[2:].strip().partition(" if ")  # since Linux 7
        owner.depends.append(f"{condition} || !({when})" if when else condition)
    elif word in _TYPES and (match := _QUOTED.fullmatch(rest)):
        owner.asked, owner.asked_if = True, match[2] or ""
        owner.title = match[1].strip("\"'")
    elif word == "select" and (match := _SELECT.fullmatch(rest)):
        found.selected_by.setdefault(match[1], []).append((owner.name, match[2] or ""))


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Give lines without comments and help texts, with continued lines joined."""
    help_indent = -1  # of the text of a help; 0 before its first line, -1 outside of one
    held, held_number = "", 0
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.expandtabs()
        if help_indent >= 0:
            indent = len(line) - len(line.lstrip())
            help_indent = help_indent or indent
            if not line.strip() or (indent >= help_indent and indent > 0):
                continue
            help_indent = -1
        commented = _COMMENT.fullmatch(line)
        stripped = (commented[1] if commented else line).strip()
        if stripped.endswith("\\"):
            held, held_number = held + stripped[:-1] + " ", held_number or number
            continue
        whole, held = held + stripped, ""
        start, held_number = held_number or number, 0
        if whole in ("help", "---help---"):
            help_indent = 0
        elif whole:
            yield start, whole


def reason(kconfig: Kconfig, config: Mapping[str, str], option: str, wanted: str) -> str:
    """Say in one line why `option` did not become `wanted`, as far as the files tell it."""
    definitions = kconfig.definitions.get(option)
    if not definitions:
        return "this kernel has no such option"
    selectors = kconfig.selected_by.get(option, [])
    forced = [
        f"{name} (={config[name]})"
        for name, condition in selectors
        if config.get(name, "n") != "n" and evaluate(condition, config) is not Value.NO
    ]
    if wanted == "n" and forced:
        return f"it is selected by {', '.join(forced)}"
    unmet = [_unmet(definition, config) for definition in definitions]
    if all(unmet):
        return f"{'; or '.join(dict.fromkeys(unmet))} ({definitions[0].place})"
    met = definitions[unmet.index("")]
    names = [name for name, _ in selectors][:6]
    return f"{_otherwise(met, names, config, wanted)} ({met.place})"


def _unmet(definition: Definition, config: Mapping[str, str]) -> str:
    parts = [part for condition in definition.depends for part in conjuncts(condition)]
    false = [part for part in parts if evaluate(part, config) is Value.NO]
    return "it depends on " + " and ".join(_valued(p, config) for p in false) if false else ""


def _otherwise(
    definition: Definition, selectors: list[str], config: Mapping[str, str], wanted: str
) -> str:
    if not definition.asked:
        by = f" (select it: {', '.join(selectors)})" if selectors else ""
        return f"it cannot be set, it follows from other options{by}"
    if definition.asked_if and evaluate(definition.asked_if, config) is Value.NO:
        return f"it can only be set with {_valued(definition.asked_if, config)}"
    if definition.choice:
        return f"another option of the choice '{definition.choice}' was taken"
    unsure = [part for part in definition.depends if evaluate(part, config) is Value.UNKNOWN]
    if unsure:
        return f"it depends on {' and '.join(unsure)}, which the compiler decides"
    value = config.get(definition.name, "n")
    return f"kconfig gave no reason; it has the value {value}, not {wanted}"


def _valued(part: str, config: Mapping[str, str]) -> str:
    values = ", ".join(f"{name}={config.get(name, 'n')}" for name in symbols(part))
    return f"{part} ({values})" if values else part
