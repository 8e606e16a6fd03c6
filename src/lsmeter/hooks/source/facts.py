# SPDX-License-Identifier: GPL-2.0-or-later
"""What one C file says, before files are linked: functions, their calls, tables of functions.

Plain tuples, since hundreds of thousands of them cross between processes.
"""

from __future__ import annotations

from typing import NamedTuple

# A statement of a function's skeleton; only what decides how often a call runs is kept.
#   ("call", index of the call)           ("seq", statements)      ("loop", statements)
#   ("if", branch, condition, then, else) ("switch", on, cases, has a default)
#   ("return",) ("break",) ("continue",)  ("goto", label)          ("label", label)
Statement = tuple[object, ...]
Statements = tuple[Statement, ...]

ORDINARY, RETRY_THEN, RETRY_ELSE = "", "then", "else"  # which branch of an if is a retry


class Call(NamedTuple):
    """One call as written: a name, or a field (`x->i_op->permission`) of `base` or `variable`."""

    line: int
    name: str  # of the function, the field, or the local variable that holds a function
    arguments: tuple[tuple[int, str], ...] = ()  # position and name of plain names passed on
    is_field: bool = False
    base: str = ""  # the field before it (i_op), or ""
    variable: str = ""  # the variable before it, or ""


class Function(NamedTuple):
    """A function's body, or that of a macro that looks like one (macro is True)."""

    name: str
    file: str
    line: int
    static: bool
    macro: bool
    parameters: tuple[str, ...]
    calls: tuple[Call, ...]
    body: Statements
    types: tuple[tuple[str, str], ...]  # variable: struct it points to
    aliases: tuple[tuple[str, str, str], ...]  # variable: field before, field (or "", function)
    hooks: tuple[str, ...]  # framework files only: hooks whose modules it calls
    conditions: tuple[tuple[int, str], ...]  # line of a call: condition, where there is one


class Entry(NamedTuple):
    """One function in a table: `static const struct STRUCT TABLE = { .FIELD = FUNCTION }`."""

    struct: str
    field: str
    function: str
    table: str
    file: str
    line: int


class FileFacts(NamedTuple):
    """All that one file says."""

    path: str
    functions: tuple[Function, ...]
    entries: tuple[Entry, ...]
    fields: tuple[tuple[str, str], ...]  # field: struct it points to
    function_fields: tuple[tuple[str, str], ...]  # struct: field that is a pointer to a function
    references: frozenset[str]  # names whose address is taken
    conditional_regions: int
    dropped_lines: int
    unread_bytes: int  # text that the parser could not make sense of
