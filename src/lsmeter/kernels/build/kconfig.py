# SPDX-License-Identifier: GPL-2.0-or-later
"""Why kconfig dropped an option: reads a tree's Kconfig files for what the option depends on.

This is no second kconfig: the kernel's own decides. It is used only after an option was
dropped, and names the part of the condition that the final configuration does not meet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from lsmeter.kernels.build.expression import Value, conjuncts, evaluate, symbols

Reader = Callable[[str], str | None]  # a file's text by its path in the tree, None if absent

_MAX_FILES = 10_000
_BLOCK_ENDS = {"endif": "if", "endmenu": "menu", "endchoice": "choice"}
_TYPES = ("bool", "tristate", "string", "int", "hex", "def_bool", "def_tristate")
# A macro's definition (if-success = …) begins with a word that is none.
_KEYWORD = re.compile(r"([a-z_]+)(?=[\s\"'(]|$)\s*(.*)")
_QUOTED = re.compile(r"(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')\s*(?:if\s+(.*))?")
_SELECT = re.compile(r"([A-Za-z0-9_]+)(?:\s+if\s+(.*))?")


@dataclass(frozen=True)
class Definition:
    """One place that defines a symbol; depends includes the conditions of menus around it."""

    file: str
    line: int
    depends: tuple[str, ...]
    asked: bool  # whether it has a question at all; if not, only others can set it
    asked_if: str  # the condition of the question, "" when there is none
    choice: str  # the question of the choice that it belongs to, "" when none


@dataclass
class Kconfig:
    """What was read: definitions, and who selects whom under which condition."""

    definitions: dict[str, list[Definition]] = field(default_factory=dict)
    selected_by: dict[str, list[tuple[str, str]]] = field(default_factory=dict)


@dataclass
class _Block:
    kind: str
    depends: list[str]
    title: str = ""


@dataclass
class _Entry:
    """The config that is being read."""

    name: str
    file: str
    line: int
    depends: list[str] = field(default_factory=list)
    asked: bool = False
    asked_if: str = ""


class _Reader:
    """Follows `source` lines through the tree and keeps the conditions of open blocks."""

    def __init__(self, read: Reader, variables: Mapping[str, str]) -> None:
        self._read = read
        self._variables = variables
        self._blocks: list[_Block] = []
        self._entry: _Entry | None = None
        self._files = 0
        self._open_files: list[str] = []  # a file that sources itself is read once
        self.result = Kconfig()

    def file(self, path: str) -> None:
        text = None if path in self._open_files else self._read(path)
        self._files += 1
        if text is None or self._files > _MAX_FILES:
            return
        self._open_files.append(path)
        for number, line in _logical_lines(text):
            self._line(path, number, line)
        self._close()
        self._open_files.pop()

    def _line(self, path: str, number: int, line: str) -> None:
        match = _KEYWORD.match(line)
        if match is None:
            return
        word, rest = match[1], match[2].strip()
        if word in ("config", "menuconfig"):
            self._close()
            self._entry = _Entry(rest, path, number)
        elif word in ("source", "osource", "rsource", "orsource"):
            self._close()
            self._source(path, word, rest)
        elif word in ("if", "menu", "choice", "comment", "mainmenu"):
            self._close()
            self._open(word, rest)
        elif word in _BLOCK_ENDS:
            self._close()
            if self._blocks:
                self._blocks.pop()
        else:
            self._property(word, rest)

    def _source(self, path: str, word: str, rest: str) -> None:
        target = rest.strip("\"'")
        for name, value in self._variables.items():
            target = target.replace(f"$({name})", value).replace(f"${name}", value)
        if "rsource" in word:
            target = f"{path.rpartition('/')[0]}/{target}"
        self.file(target)

    def _open(self, word: str, rest: str) -> None:
        if word in ("comment", "mainmenu"):
            return  # has properties of no interest, and no end
        self._blocks.append(_Block(word, [rest] if word == "if" else [], rest.strip("\"'")))

    def _property(self, word: str, rest: str) -> None:
        entry = self._entry
        if word == "depends" and rest.startswith("on"):
            condition = rest[2:].strip()
            if entry is not None:
                entry.depends.append(condition)
            elif self._blocks:
                self._blocks[-1].depends.append(condition)
        elif word in (*_TYPES, "prompt"):
            self._question(rest)
        elif word == "select" and entry is not None and (match := _SELECT.fullmatch(rest)):
            who = (entry.name, match[2] or "")
            self.result.selected_by.setdefault(match[1], []).append(who)

    def _question(self, rest: str) -> None:
        match = _QUOTED.fullmatch(rest)
        if match is None:
            return
        if self._entry is not None:
            self._entry.asked = True
            self._entry.asked_if = match[2] or ""
        elif self._blocks and self._blocks[-1].kind == "choice":
            self._blocks[-1].title = match[1].strip("\"'")

    def _close(self) -> None:
        entry, self._entry = self._entry, None
        if entry is None:
            return
        outer = [condition for block in self._blocks for condition in block.depends]
        choices = [block.title for block in self._blocks if block.kind == "choice"]
        definition = Definition(
            file=entry.file,
            line=entry.line,
            depends=(*outer, *entry.depends),
            asked=entry.asked,
            asked_if=entry.asked_if,
            choice=(choices[-1] or "a choice") if choices else "",
        )
        self.result.definitions.setdefault(entry.name, []).append(definition)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Give lines without comments and help texts, with continued lines joined."""
    help_indent: int | None = None
    in_help = False
    held, held_number = "", 0
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.expandtabs()
        indent = len(line) - len(line.lstrip())
        if in_help:
            if not line.strip():
                continue
            help_indent = indent if help_indent is None else help_indent
            if indent >= help_indent and indent > 0:
                continue
            in_help = False
        stripped = _uncommented(line).strip()
        if stripped.endswith("\\"):
            held, held_number = held + stripped[:-1] + " ", held_number or number
            continue
        whole, held = held + stripped, ""
        start, held_number = held_number or number, 0
        if whole in ("help", "---help---"):
            in_help, help_indent = True, None
        elif whole:
            yield start, whole


def _uncommented(line: str) -> str:
    quote = ""
    for at, char in enumerate(line):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char == "#":
            return line[:at]
    return line


def read_kconfig(read: Reader, *, root: str = "Kconfig", arch: str = "x86") -> Kconfig:
    """Read the Kconfig files from `root` on; read gives a file's text, None where there is none."""
    reader = _Reader(read, {"SRCARCH": arch, "ARCH": arch, "HEADER_ARCH": arch})
    reader.file(root)
    return reader.result


def known(kconfig: Kconfig, option: str) -> bool:
    """Say whether the tree defines the option anywhere."""
    return option in kconfig.definitions


def reason(kconfig: Kconfig, config: Mapping[str, str], option: str, wanted: str) -> str:
    """Say in one line why `option` did not become `wanted`, as far as the files tell it."""
    definitions = kconfig.definitions.get(option)
    if not definitions:
        return "this kernel has no such option"
    if wanted == "n" and (forced := _selectors(kconfig, config, option)):
        return f"it is selected by {', '.join(forced)}"
    texts = [_unmet(definition, config) for definition in definitions]
    if all(texts):
        where = definitions[0]
        return f"{'; or '.join(dict.fromkeys(texts))} ({where.file}:{where.line})"
    met = definitions[texts.index("")]
    return _otherwise(met, kconfig, config, option, wanted)


def _unmet(definition: Definition, config: Mapping[str, str]) -> str:
    parts = [part for condition in definition.depends for part in conjuncts(condition)]
    false = [part for part in parts if evaluate(part, config) is Value.NO]
    if false:
        return "it depends on " + " and ".join(_with_values(part, config) for part in false)
    return ""


def _otherwise(
    definition: Definition, kconfig: Kconfig, config: Mapping[str, str], option: str, wanted: str
) -> str:
    place = f"({definition.file}:{definition.line})"
    if not definition.asked:
        selectors = [name for name, _ in kconfig.selected_by.get(option, [])][:6]
        by = f" (select it: {', '.join(selectors)})" if selectors else ""
        return f"it cannot be set, it follows from other options{by} {place}"
    if definition.asked_if and evaluate(definition.asked_if, config) is Value.NO:
        shown = _with_values(definition.asked_if, config)
        return f"it can only be set with {shown} {place}"
    if definition.choice:
        return f"another option of the choice '{definition.choice}' was taken {place}"
    unsure = [part for part in definition.depends if evaluate(part, config) is Value.UNKNOWN]
    if unsure:
        return f"it depends on {' and '.join(unsure)}, which the compiler decides {place}"
    return (
        f"kconfig gave no reason; it has the value {config.get(option, 'n')}, not {wanted} {place}"
    )


def _selectors(kconfig: Kconfig, config: Mapping[str, str], option: str) -> list[str]:
    return [
        f"{name} (={config[name]})"
        for name, condition in kconfig.selected_by.get(option, [])
        if config.get(name, "n") != "n"
        and (not condition or evaluate(condition, config) is not Value.NO)
    ]


def _with_values(part: str, config: Mapping[str, str]) -> str:
    values = ", ".join(f"{name}={config.get(name, 'n')}" for name in symbols(part))
    return f"{part} ({values})" if values else part
