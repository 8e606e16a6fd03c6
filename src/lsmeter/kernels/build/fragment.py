# SPDX-License-Identifier: GPL-2.0-or-later
"""Configuration fragments: what they say, how they merge, and what kconfig made of them.

A fragment is a file of `CONFIG_NAME=value` lines. Its header is comments: `# title:` (one line),
and where needed `# foundation:` (the fragment that it stands on: `base` unless it says another,
`none` when it is itself a foundation), `# objects:` (about how many files a first build
compiles) and `# with-lsm:` (a module directory that comes with lsmeter). A line
`# optional: why` above an option says that a kernel that does not know the option is no error.
Nothing here reads or writes a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lsmeter.errors import UsageError

DEFAULT_FOUNDATION = "base"
_NO_FOUNDATION = "none"
_MAX_FRAGMENT_CHARS = 1_000_000

_ASSIGNMENT = re.compile(r"CONFIG_([A-Za-z0-9_]+)=(y|n|m|-?[0-9]+|0x[0-9a-fA-F]+|\"[^\"\\]*\")")
_NOT_SET = re.compile(r"# CONFIG_([A-Za-z0-9_]+) is not set")
_HEADER = re.compile(r"# (title|foundation|objects|with-lsm): (.+)")


@dataclass(frozen=True)
class Assignment:
    """One option that a fragment asks for; the name has no CONFIG_ prefix."""

    option: str
    value: str
    fragment: str
    line: int
    optional: bool = False

    @property
    def text(self) -> str:
        """Say it as a configuration file does."""
        return f"CONFIG_{self.option}={self.value}"


@dataclass(frozen=True)
class Fragment:
    """A named set of options. objects is 0 when the header does not tell it."""

    name: str
    title: str
    assignments: tuple[Assignment, ...]
    foundation: str | None = DEFAULT_FOUNDATION
    objects: int = 0
    with_lsm: tuple[str, ...] = ()


def parse_fragment(name: str, text: str) -> Fragment:
    """Read the fragment `name`; raise UsageError with the line for anything unknown in it."""
    if len(text) > _MAX_FRAGMENT_CHARS:
        raise UsageError(f"fragment {name}: too long ({len(text)} characters)")
    header: dict[str, str] = {}
    found: dict[str, Assignment] = {}
    optional = False
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if assignment := _assignment(line, name, number, optional=optional):
            _refuse_second(found.get(assignment.option), assignment)
            found[assignment.option] = assignment
        elif match := _HEADER.fullmatch(line):
            header[match[1]] = match[2].strip()
        elif line and not line.startswith("#"):
            raise UsageError(
                f"fragment {name}, line {number}: not an option: {line[:80]}",
                hint="lines are CONFIG_NAME=value, with y, n, m, a number or a quoted text",
            )
        optional = line.startswith("# optional:")
    return Fragment(
        name=name,
        title=header.get("title", ""),
        assignments=tuple(found.values()),
        foundation=_foundation(header.get("foundation", DEFAULT_FOUNDATION)),
        objects=_objects(name, header.get("objects", "0")),
        with_lsm=tuple(header.get("with-lsm", "").split()),
    )


def _assignment(line: str, name: str, number: int, *, optional: bool) -> Assignment | None:
    if match := _ASSIGNMENT.fullmatch(line):
        return Assignment(match[1], match[2], name, number, optional)
    if match := _NOT_SET.fullmatch(line):
        return Assignment(match[1], "n", name, number, optional)
    return None


def _refuse_second(earlier: Assignment | None, later: Assignment) -> None:
    if earlier is not None:
        raise UsageError(
            f"fragment {later.fragment}, line {later.line}: CONFIG_{later.option} "
            f"is already set in line {earlier.line}"
        )


def _foundation(word: str) -> str | None:
    return None if word == _NO_FOUNDATION else word


def _objects(name: str, word: str) -> int:
    if not word.isdecimal():
        raise UsageError(f"fragment {name}: '# objects: {word[:40]}' is not a number")
    return int(word)


def foundation_of(fragments: Sequence[Fragment]) -> str | None:
    """Return the foundation to add, None when one of the fragments is a foundation itself.

    Raises UsageError when there are two, or when fragments stand on different ones.
    """
    own = [fragment.name for fragment in fragments if fragment.foundation is None]
    if len(own) > 1:
        raise UsageError(
            f"the fragments {' and '.join(own)} cannot be combined: each is a whole foundation",
            hint="name one of them",
        )
    if own:
        return None
    wanted = sorted({fragment.foundation or "" for fragment in fragments})
    if len(wanted) > 1:
        raise UsageError(f"the fragments stand on different foundations: {', '.join(wanted)}")
    return wanted[0] if wanted else DEFAULT_FOUNDATION


def merge(fragments: Sequence[Fragment]) -> tuple[Assignment, ...]:
    """Merge into one assignment for each option, sorted by name.

    A foundation gives way to the others; two others that disagree are a UsageError.
    """
    merged: dict[str, Assignment] = {}
    yielding: set[str] = set()
    for fragment in sorted(fragments, key=lambda item: item.foundation is not None):
        for assignment in fragment.assignments:
            earlier = merged.get(assignment.option)
            if earlier is not None and earlier.value != assignment.value:
                _refuse_conflict(earlier, assignment, yielding)
            if earlier is None or earlier.value != assignment.value or earlier.optional:
                merged[assignment.option] = assignment
        if fragment.foundation is None:
            yielding.update(option.option for option in fragment.assignments)
        else:
            yielding.difference_update(option.option for option in fragment.assignments)
    return tuple(merged[option] for option in sorted(merged))


def _refuse_conflict(earlier: Assignment, later: Assignment, yielding: set[str]) -> None:
    if earlier.option in yielding:
        return
    raise UsageError(
        f"the fragments {earlier.fragment} and {later.fragment} cannot be combined: "
        f"{earlier.text} (line {earlier.line}) against {later.text} (line {later.line})",
        hint="build two kernels, or write a fragment of your own (--config FILE.config)",
    )


def config_text(assignments: Iterable[Assignment]) -> str:
    """Write the merged options as a file for KCONFIG_ALLCONFIG."""
    return "".join(f"{assignment.text}\n" for assignment in assignments)


def parse_config(text: str) -> dict[str, str]:
    """Read a .config: values by option, both without prefix; what is not set is absent."""
    options: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("CONFIG_"):
            option, _, value = line.removeprefix("CONFIG_").partition("=")
            options[option] = value
    return options


def dropped(assignments: Iterable[Assignment], config: Mapping[str, str]) -> tuple[Assignment, ...]:
    """Return what was asked for but is not so in the final `config`."""
    return tuple(
        assignment
        for assignment in assignments
        if not _same(assignment.value, config.get(assignment.option, "n"))
    )


def _same(wanted: str, got: str) -> bool:
    return wanted == got or (_is_hex(wanted) and _is_hex(got) and int(wanted, 16) == int(got, 16))


def _is_hex(value: str) -> bool:
    return value.startswith("0x")
