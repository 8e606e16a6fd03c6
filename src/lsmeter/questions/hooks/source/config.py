# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel's configuration: which branches of its files, and which files, it compiles.

Without one every option is taken to be on: `#ifdef CONFIG_X` is read and its `#else` is not;
OPTIONS_OFF lists what is off all the same. A condition that cannot be judged counts as true.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import networkx as nx

from lsmeter.core.errors import UsageError
from lsmeter.questions.hooks.source.rules import OPTIONS_OFF
from lsmeter.sources.kernels.tree import parse_config

MAX_CONFIG_BYTES = 4 * 1024 * 1024
MAX_CONDITION_CHARS = 4000
MAX_NESTING = 64

_SERIES = re.compile(r"^# Linux/\S+ (\d+\.\d+)", re.MULTILINE)
_RULE = re.compile(r"^[ \t]*([\w-]+)-(y|m|objs|\$\(CONFIG_\w+\))[ \t]*[:+]?=(.*)$", re.MULTILINE)
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*([a-z]+)\b((?:[^\n]*\\\n)*[^\n]*)$", re.MULTILINE)
_ATOM = re.compile(r"(!\s*)?(?:\b(defined|IS_[A-Z]+)\s*\(\s*(\w+)\s*\)|\b(?:defined\s+)?(\w+))")
_INNERMOST = re.compile(r"\(([^()]*)\)")
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)
_ENABLED = re.compile(r"\b(IS_ENABLED|IS_BUILTIN|IS_REACHABLE|IS_MODULE)\((CONFIG_\w+)\)")


@dataclass(frozen=True)
class Config:
    """The options of one kernel, without CONFIG_; None: every option is taken to be on."""

    options: Mapping[str, str] | None = None
    origin: str = ""  # the file, or the kernel's name
    series: str = ""  # 6.12, where it is known
    arch: str = ""  # whose system calls are analysed; "" for those of all

    @property
    def own_arch(self) -> str:
        """The architecture that it configures, where that lacks calls of others; else ""."""
        return "arm64" if self.options is not None and self.has("CONFIG_ARM64") else ""

    def has(self, option: str, asked: str = "defined") -> bool:
        """Tell what `asked` (defined, IS_ENABLED, …) says of a name in a condition."""
        bare = option.removeprefix("CONFIG_")
        if self.options is None or bare == option:
            return option not in OPTIONS_OFF
        value = self.options.get(bare, "n")
        if asked == "IS_MODULE":
            return value == "m"
        if asked in ("defined", "IS_BUILTIN") and value in ("n", "m"):
            whole = bare.removesuffix("_MODULE")
            return whole != bare and self.options.get(whole) == "m"
        return value != "n"


EVERYTHING = Config()


def read_config(path: Path) -> Config:
    """Read the configuration in a file; UsageError when it is none."""
    try:
        with path.open("rb") as file:
            text = file.read(MAX_CONFIG_BYTES).decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(f"--config {path}: {error.strerror or error}") from error
    if not (options := parse_config(text)):
        raise UsageError(
            f"--config {path}: no line CONFIG_…=… in it",
            hint="give a kernel's .config, /boot/config-RELEASE, or a kernel's name: debian:6.12",
        )
    series = _SERIES.search(text)
    return Config(options, str(path), series[1] if series else "")


def left_out(makefiles: Mapping[str, str], config: Config) -> frozenset[str]:
    """Return the objects (fs/dax.o) and folders (security/smack/) that are not compiled.

    An object is compiled when one rule that is on names it, in an object that is compiled
    (`ext4-y += acl.o` is of ext4.o). What no rule names, such as an included .c file, stays.
    """
    parts: nx.DiGraph[str] = nx.DiGraph()  # by rules that are on, from the whole to its parts
    named: set[str] = set()
    for folder, text in makefiles.items():
        for owner, guard, words in _RULE.findall(text.replace("\\\n", " ")):
            option = guard.removeprefix("$(").removesuffix(")")
            on = not option.startswith("CONFIG_") or config.has(option, "IS_ENABLED")
            for word in words.split("#")[0].split():
                if word.endswith((".o", "/")):
                    named.add(f"{folder}/{word}")
                    if on:
                        parts.add_edge(f"{folder}/{owner}.o", f"{folder}/{word}")
    parts.add_edges_from([("", whole) for whole in parts if whole not in named])
    made = nx.descendants(parts, "") if "" in parts else set()
    return frozenset(named - made)


class Chosen(NamedTuple):
    """A text with the branches that are off blanked, its lines kept."""

    text: str
    dropped_lines: int
    condition: Callable[[int], str]  # CONFIG_ conditions that a place was under, joined by &&


def chosen(text: str, config: Config = EVERYTHING) -> Chosen:
    """Choose the branches of `text`."""
    stack: list[tuple[bool, bool, bool, str]] = []  # of each #if: read around it, on, on before
    kept: list[str] = []
    position, dropped = 0, 0
    places, joined = [0], [""]
    for found in (*_DIRECTIVE.finditer(text), None):
        piece = text[position : found.start() if found else None]
        read = not stack or all(stack[-1][:2])
        kept.append(piece if read else _blank(piece))
        dropped += 0 if read else piece.count("\n")
        if found is None:
            break
        word, asked, position = found[1], _written(found), found.end()
        if word in ("if", "ifdef", "ifndef"):
            taken = _truth(asked, config)
            stack.append((read, taken, taken, asked))
        elif word in ("else", "elif", "endif") and stack:
            read, _, before, above = stack.pop()
            if word != "endif":
                taken = not before and (word == "else" or _truth(asked, config))
                asked = f"!({above})" if word == "else" else asked
                stack.append((read, taken, before or taken, asked))
        kept.append(found[0] if read else _blank(found[0]))
        places.append(position)
        joined.append(" && ".join(one[3] for one in stack[:MAX_NESTING] if "CONFIG_" in one[3]))
    return Chosen(
        "".join(kept), dropped, lambda place: joined[bisect.bisect_right(places, place) - 1]
    )


def compiled(text: str, config: Config) -> str:
    """Return what a configuration compiles of a text; all branches without one."""
    return chosen(text, config).text if config.options is not None else text


def defines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line of every #define of `text`, and what stands after the word."""
    line, position = 1, 0
    for found in _DIRECTIVE.finditer(text):
        line += text.count("\n", position, found.start())
        position = found.start()
        if found[1] == "define":
            yield line, found[2].strip()


def without_directives(text: str) -> str:
    """Blank the lines of `text` that are the preprocessor's."""
    return _DIRECTIVE.sub(lambda found: _blank(found[0]), text)


def without_comments(text: str) -> str:
    """Blank the comments of `text`, keeping its lines."""
    return _COMMENT.sub(lambda found: _blank(found[0]) or " ", text)


def _blank(text: str) -> str:
    return "\n" * text.count("\n")


def judge_enabled(text: str, config: Config) -> str:
    """Replace IS_ENABLED(CONFIG_X) and its like by 1 or 0, where there is a configuration."""
    if config.options is None:
        return text
    return _ENABLED.sub(
        lambda found: str(int(config.has(found[2], found[1]))).ljust(len(found[0])), text
    )


def _written(found: re.Match[str]) -> str:
    """Put the three kinds of #if into one form, as a person writes it."""
    text = " ".join(_COMMENT.sub(" ", found[2]).replace("\\\n", " ").split())
    return f"!{text}" if found[1] == "ifndef" else text


def _truth(condition: str, config: Config) -> bool:
    """Judge a condition: names by the configuration, comparisons as true."""
    if len(condition) > MAX_CONDITION_CHARS:
        return True

    def judged(found: re.Match[str]) -> str:
        negated, asked, word = bool(found[1]), found[2] or "defined", found[3] or found[4]
        if negated and not word.startswith("CONFIG_"):
            return "1"  # a file's own guard, or what it defines only if no one has yet
        return str(int(config.has(word, asked) != negated))

    rest = _ATOM.sub(judged, condition)
    for _ in range(MAX_NESTING):
        rest, found = _INNERMOST.subn(lambda group: str(int(_flat(group[1]))), rest)
        if not found:
            break
    return _flat(rest)


def _flat(text: str) -> bool:
    """Judge `0 && 1 || !0`, without parentheses."""

    def term(text: str) -> bool:
        value = text.strip().lstrip("! ")
        return value not in ("0", "1") or (value == "1") != text.count("!") % 2

    return any(all(map(term, either.split("&&"))) for either in text.split("||"))
