# SPDX-License-Identifier: GPL-2.0-or-later
"""Parses one C file with tree-sitter: functions, their calls, tables of functions.

Nothing here recurses: a hostile file may nest deeper than Python does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import tree_sitter_c
from tree_sitter import Language, Node, Parser, Query, QueryCursor

from lsmeter.questions.hooks.source import config as conditional
from lsmeter.questions.hooks.source.config import EVERYTHING, Config
from lsmeter.questions.hooks.source.model import (
    Call,
    Entry,
    FileFacts,
    Function,
    Statement,
    Statements,
)
from lsmeter.questions.hooks.source.rules import CALLED_WORDS, NOISE, PLAIN_WORDS

MAX_DEPTH = 60  # statements within statements; what is deeper is of the one around it
MAX_ARGUMENTS = 12
MAX_MACRO_CALLS = 40

# A pattern that begins with fixed text is found several times as fast as one with a choice.
_NO_C = (
    re.compile(rf"__(?:{'|'.join(PLAIN_WORDS)})\b"),
    re.compile(rf"__(?:{'|'.join(CALLED_WORDS)})\s*\((?:[^()\n]|\([^()\n]*\))*\)"),
    re.compile(r"\b(?:no(?:inline(?:_for_stack)?|trace|instr)|asmlinkage|restrict)\b"),
)
_SYSCALL = re.compile(r"^(COMPAT_)?SYSCALL_DEFINE(\d)\(\s*(\w+)\s*(,?)", re.MULTILINE)
_HOOK_CALLS = re.compile(
    r"\b(?:call_(?:int|void)_hook\w*\s*\(\s*|lsm_for_each_hook\s*\(\s*\w+\s*,\s*"
    r"|security_hook_heads\s*\.\s*|static_calls_table\s*\.\s*)(\w+)"
)
_STATIC_CALL = re.compile(
    r"\b(?:DEFINE_STATIC_CALL|static_call_update)\s*\(\s*(\w+)\s*,\s*&?\s*(\w+)\s*\)"
)
_MACRO = re.compile(r"(\w+)\(([^()]*)\)\s*(.*)", re.DOTALL)
_MACRO_CALL = re.compile(r"\b([a-z_]\w*)\s*\(")
_C_WORDS = frozenset(
    {"if", "while", "for", "switch", "return", "sizeof", "typeof", "do", "__typeof__", "defined"}
)
_REFERENCE = re.compile(r"&\s*([A-Za-z_]\w*)")
_FRAMEWORK = re.compile(r"^security/[^/]+\.c$")  # its functions are interfaces

# The kernel's ways to say "redo this by the slow path": what follows is no ordinary pass.
_ERRORS = rb"=\s*(?:ERR_PTR\s*\(\s*)?-\s*(?:ECHILD|ESTALE|EOPENSTALE)\b"
_RETRY_IF = re.compile(rb"=" + _ERRORS + rb"|\bretry_estale\s*\(")
_RETRY_UNLESS = re.compile(rb"!" + _ERRORS)
_NEVER = re.compile(rb"\(\s*(?:0|!\s*1)\s*(?:\)|&&)")  # if (IS_ENABLED(CONFIG_OFF) && …)

_LOOPS = ("for_statement", "while_statement", "do_statement")
_JUMPS = ("return_statement", "break_statement", "continue_statement", "goto_statement")
_FRAMES = (
    *("if_statement", "conditional_expression", "switch_statement", "case_statement"),
    *("labeled_statement", "call_expression", *_LOOPS, *_JUMPS),
)
_TOP = ("ERROR", "function_definition", "field_declaration", "initializer_pair")
_DECLARES = ("declaration", "parameter_declaration", "init_declarator", "assignment_expression")
_IDENTIFIERS = ("identifier", "field_identifier", "type_identifier")
_WRAPPERS = ("parenthesized_expression", "pointer_expression", "cast_expression")
_NEVER_ENDS = 1 << 62


@cache
def _tools() -> tuple[Parser, Query]:
    """Return the parser and the query for nodes that say something; making them takes long."""
    language = Language(tree_sitter_c.language())
    kinds = " ".join(f"({kind})" for kind in (*_FRAMES, *_TOP, *_DECLARES))
    return Parser(language), Query(language, f"[{kinds}] @node")


def read_file(path: str, text: str, config: Config = EVERYTHING) -> FileFacts:
    """Parse the text of the file at `path` (below the tree)."""
    kept = conditional.chosen(text, config)
    plain = conditional.without_directives(kept.text)
    clean = _SYSCALL.sub(_as_function, conditional.judge_enabled(plain, config))
    for words in _NO_C:
        clean = words.sub(lambda found: " " * len(found[0]), clean)
    parser, query = _tools()
    facts = FileFacts(path, kept.dropped_lines, references=frozenset(_REFERENCE.findall(clean)))
    # A byte for each character: there are no more than in the file, and none says anything in C.
    data = clean.encode("ascii", "replace")
    _Reader(facts).read(QueryCursor(query).captures(parser.parse(data).root_node))
    facts.functions += _macros(path, kept.text)
    if "DEFINE_STATIC_CALL" in plain or "static_call_update" in plain:
        for name, function in _STATIC_CALL.findall(plain):  # as if they were tables
            facts.entries.append(Entry("static_call", name, function, "", path))
    return facts


def _as_function(found: re.Match[str]) -> str:
    prefix = "compat_" if found[1] else ""
    return f"long {prefix}sys_{found[3]}(" + ("void *," if found[4] else "")


def _macros(path: str, text: str) -> Iterator[Function]:
    """Take macros with arguments for functions that call what their text calls."""
    for line, defined in conditional.defines(text):
        if found := _MACRO.fullmatch(defined):
            no_calls = {*_C_WORDS, found[1], *(word.strip() for word in found[2].split(","))}
            names = dict.fromkeys(_MACRO_CALL.findall(found[3]))
            calls = [Call(line, name) for name in names if name not in no_calls][:MAX_MACRO_CALLS]
            if calls:
                body = tuple(("call", index) for index in range(len(calls)))
                yield Function(found[1], path, True, True, tuple(calls), body)  # noqa: FBT003


def _child(node: Node | None, name: str) -> Node | None:
    return node.child_by_field_name(name) if node is not None else None


def _text(node: Node | None, name: str = "") -> str:
    found = _child(node, name) if name else node
    return found.text.decode("utf-8", "replace") if found is not None and found.text else ""


def _declared_name(node: Node | None) -> str:
    while node is not None and node.type not in _IDENTIFIERS:
        inner = _child(node, "declarator")
        if inner is None and node.type == "parenthesized_declarator":
            inner = next(iter(node.named_children), None)
        node = inner
    return _text(node)


def _function_declarator(node: Node | None) -> Node | None:
    """Return the part of a declaration that has a function's name and parameters."""
    while node is not None and node.type != "function_declarator":
        node = _child(node, "declarator")
    return node


def _struct_name(declaration: Node) -> str:
    kind = _child(declaration, "type")
    is_struct = kind is not None and kind.type in ("struct_specifier", "union_specifier")
    return _text(kind, "name") if is_struct else ""


def _unwrapped(node: Node | None) -> Node | None:
    """Return what is in parentheses, behind * and &, or behind a cast."""
    while node is not None and node.type in _WRAPPERS:
        node = node.named_children[-1] if node.named_children else None
    return node


def _field_parts(node: Node | None) -> tuple[str, str, str]:
    """Split `a->b->c` into (b, "", c), and `a->c` into ("", a, c)."""
    name, base = _text(node, "field"), _unwrapped(_child(node, "argument"))
    if base is not None and base.type == "field_expression":
        return _text(base, "field"), "", name
    return "", _text(base) if base is not None and base.type == "identifier" else "", name


def _name_arguments(node: Node | None) -> tuple[tuple[int, str], ...]:
    """Return the plain names among a call's arguments: some may be functions."""
    listed = _child(node, "arguments")
    given = map(_unwrapped, listed.named_children[:MAX_ARGUMENTS] if listed else ())
    names = enumerate(_text(one) if one and one.type == "identifier" else "" for one in given)
    return tuple((at, name) for at, name in names if name and not name.isupper())


class _Frame:
    """An open statement or call, with what is in its condition, in its body, and in its else."""

    def __init__(self, node: Node, *, for_each: bool = False) -> None:
        self.node = node
        self.parts: tuple[list[Statement], ...] = ([], [], [])
        self.kind = "for_each" if for_each else node.type  # of the one before it, whose body it is
        fields = None if for_each else node
        self._condition = _child(fields, "condition") or _child(fields, "value")
        self._otherwise = _child(fields, "alternative")

    def add(self, at: int, statements: Statements) -> None:
        """Add what begins at a byte of the file."""
        condition, otherwise = self._condition, self._otherwise
        part = 2 if otherwise and at >= otherwise.start_byte else 1
        if condition and condition.start_byte <= at < condition.end_byte:
            part = 0
        self.parts[part].extend(statements)

    def close(self) -> Statements:
        """Return its statements; what holds no call and changes no way through is dropped."""
        condition, then, other = map(tuple, self.parts)
        inside, node, kind = condition + then, self.node, self.kind
        if kind in ("if_statement", "conditional_expression"):
            return self._branches(condition, then, other)
        if kind == "switch_statement":
            return (("switch", condition, then),)
        if kind == "case_statement":
            return (("case", inside, self._condition is None),)
        if kind == "labeled_statement":
            return (("label", _text(node, "label")), *inside)
        if kind in _JUMPS:
            label = (_text(node, "label"),) if kind == "goto_statement" else ()
            # a continue ends this run of the loop's body, as a break does
            word = kind.removesuffix("_statement").replace("continue", "break")
            return (*inside, (word, *label))
        return inside if kind == "call_expression" or not inside else (("loop", inside),)

    def _branches(self, condition: Statements, then: Statements, other: Statements) -> Statements:
        asked = self._condition if self.kind == "if_statement" else None
        text = (asked.text if asked else None) or b""
        if _NEVER.match(text):
            then = ()
        retry = "else" if _RETRY_UNLESS.search(text) else "then" if _RETRY_IF.search(text) else ""
        plain = () if retry else (("return",),)
        if not condition and not other and then in ((), plain):
            return ()
        return (("if", retry, condition, then, other),)


class _Reader:
    """Collects what one file says, node by node in the order of its text."""

    def __init__(self, facts: FileFacts) -> None:
        self._facts = facts
        self._open: list[_Frame] = []  # the first is that of a function
        self._calls: list[Call] = []
        self._types: dict[str, str] = {}
        self._aliases: dict[tuple[str, str, str], None] = {}
        self._body = 0  # where that of the open function begins
        self._error = 0  # where the last one ends
        self._table = ("", "", 0)  # the struct and name of the last one, and where it ends

    def read(self, captures: dict[str, list[Node]]) -> None:
        nodes = sorted(captures.get("node", ()), key=lambda one: (one.start_byte, -one.end_byte))
        for node in nodes:
            self._close(node.start_byte)
            if not self._open:
                self._outside(node, node.type)
            elif node.start_byte >= self._body:
                self._inside(node, node.type)
        self._close(_NEVER_ENDS)

    def _outside(self, node: Node, kind: str) -> None:
        if kind == "ERROR" and node.end_byte > self._error:
            self._facts.unread_bytes += node.end_byte - node.start_byte
            self._error = node.end_byte
        elif kind == "function_definition":
            if node.end_byte <= self._error:
                self._facts.unread_bytes -= node.end_byte - node.start_byte  # read all the same
            body = _child(node, "body")
            if body is not None and _declared_name(_function_declarator(node)):
                self._open.append(_Frame(node))
                self._body = body.start_byte
                self._calls, self._types, self._aliases = [], {}, {}
        elif kind == "declaration":
            self._table = (_struct_name(node), "", node.end_byte)
        elif kind == "init_declarator":
            self._table = (self._table[0], _declared_name(node), self._table[2])
        elif kind == "initializer_pair":
            self._entry(node)
        elif kind == "field_declaration":
            self._field(node)

    def _inside(self, node: Node, kind: str) -> None:
        if kind in ("declaration", "parameter_declaration"):
            if struct := _struct_name(node):
                for declarator in node.children_by_field_name("declarator"):
                    self._types[_declared_name(declarator)] = struct
        elif kind in ("init_declarator", "assignment_expression"):
            left, right = _child(node, "declarator"), _child(node, "value")
            self._alias(left or _child(node, "left"), right or _child(node, "right"))
        elif kind in _FRAMES and len(self._open) < MAX_DEPTH:
            self._open.append(_Frame(node))
        elif kind in _FRAMES:
            self._end(_Frame(node))

    def _close(self, start: int) -> None:
        while self._open and self._open[-1].node.end_byte <= start:
            frame = self._open.pop()
            (self._end if self._open else self._function)(frame)

    def _end(self, frame: _Frame) -> None:
        here, node = self._open[-1], frame.node
        here.add(node.start_byte, frame.close())
        if frame.kind != "call_expression":
            return
        if (call := _call(node)) and call.name not in NOISE:
            here.add(node.start_byte, (("call", len(self._calls)),))
            self._calls.append(call)
            body = _loop_body(node) if "for_each" in call.name and not call.is_field else None
            if body is not None and len(self._open) < MAX_DEPTH:
                self._open.append(_Frame(body, for_each=True))

    def _function(self, frame: _Frame) -> None:
        node, path = frame.node, self._facts.path
        listed = _child(_function_declarator(node), "parameters")
        parameters = [
            (_declared_name(_child(one, "declarator")), _struct_name(one))
            for one in (listed.named_children if listed else ())
            if one.type == "parameter_declaration"
        ]
        hooks = set(_HOOK_CALLS.findall(_text(node))) if _FRAMEWORK.match(path) else ()
        types = {name: struct for name, struct in parameters if name and struct} | self._types
        self._facts.functions.append(
            Function(
                _declared_name(node),
                path,
                static=any(_text(one) == "static" for one in node.children),
                macro=False,
                calls=tuple(self._calls),
                body=tuple(frame.parts[1]),
                parameters=tuple(name for name, _ in parameters),
                types=tuple(types.items()),
                aliases=tuple(self._aliases),
                hooks=tuple(sorted(hooks)),
            )
        )

    def _alias(self, left: Node | None, right: Node | None) -> None:
        plain = left is not None and (left.type == "identifier" or "declarator" in left.type)
        if right is None or not plain or not (name := _declared_name(left)):
            return
        if right.type == "field_expression":
            base, variable, called = _field_parts(right)
            self._aliases[name, base or variable, called] = None
        elif right.type == "identifier":
            self._aliases[name, "", _text(right)] = None

    def _field(self, node: Node) -> None:
        """Read a field of a struct: a pointer to a function, or to a struct."""
        owner = _text(node.parent and node.parent.parent, "name")
        for declarator in node.children_by_field_name("declarator"):
            name = _declared_name(declarator)
            if _function_declarator(declarator):
                self._facts.function_fields.add((name, owner))
            elif declarator.type == "pointer_declarator" and (struct := _struct_name(node)):
                self._facts.fields.add((name, struct))

    def _entry(self, node: Node) -> None:
        struct, table, end = self._table
        designators = node.children_by_field_name("designator")
        value = _unwrapped(_child(node, "value"))
        if not struct or node.start_byte >= end or len(designators) != 1 or value is None:
            return
        if designators[0].type == "field_designator" and value.type == "identifier":
            name = _text(designators[0]).lstrip(". \t")
            self._facts.entries.append(Entry(struct, name, _text(value), table, self._facts.path))


def _call(node: Node) -> Call | None:
    target = _unwrapped(_child(node, "function"))
    kind = target.type if target is not None else ""
    line, arguments = node.start_point[0] + 1, _name_arguments(node)
    if kind == "identifier":
        return Call(line, _text(target), arguments)
    if kind == "field_expression":
        base, variable, name = _field_parts(target)
        return Call(line, name, arguments, is_field=True, base=base, variable=variable)
    if kind == "call_expression" and _text(target, "function").startswith("static_call"):
        # static_call(NAME)(…): its target is that of DEFINE_STATIC_CALL(NAME, …)
        for _, name in _name_arguments(target)[:1]:
            return Call(line, name, is_field=True, base="static_call")
    return None


def _loop_body(node: Node) -> Node | None:
    """Return the statement after a macro such as list_for_each_entry(…), which it repeats."""
    statement = node.parent
    if statement is None or statement.type != "expression_statement":
        return None
    after = statement.next_named_sibling
    while after is not None and after.type == "comment":
        after = after.next_named_sibling
    return after
