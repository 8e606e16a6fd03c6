# SPDX-License-Identifier: GPL-2.0-or-later
"""Reduces one function's syntax tree to its skeleton: the calls, and what decides how often.

The walk keeps its own stack: a hostile file may nest deeper than Python recurses, and what is
nested deeper than MAX_DEPTH is flattened into the statement around it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tree_sitter import Node

from lsmeter.hooks.source.facts import (
    ORDINARY,
    RETRY_ELSE,
    RETRY_THEN,
    Call,
    Statement,
    Statements,
)
from lsmeter.hooks.source.grammar import BEGINS, ENDS, FRAMES, PLAIN, SAYS_SOMETHING, steps

MAX_DEPTH = 60  # statements within statements
MAX_ARGUMENTS = 12

# The kernel's ways to say "redo this by the slow path": what follows is no ordinary pass.
_RETRY_IF = re.compile(
    rb"==\s*(?:ERR_PTR\s*\(\s*)?-\s*(?:ECHILD|ESTALE|EOPENSTALE)\b|\bretry_estale\s*\("
)
_RETRY_UNLESS = re.compile(rb"!=\s*(?:ERR_PTR\s*\(\s*)?-\s*(?:ECHILD|ESTALE|EOPENSTALE)\b")
_FOR_EACH = re.compile(r"for_each")
# Called everywhere and lead nowhere: dropped early, since they are half of all calls.
_NOISE = frozenset(
    {
        "ACCESS_ONCE",
        "ARRAY_SIZE",
        "ASSERT",
        "BUG_ON",
        "BUILD_BUG_ON",
        "ERR_CAST",
        "ERR_PTR",
        "EXPORT_SYMBOL",
        "EXPORT_SYMBOL_GPL",
        "INIT_LIST_HEAD",
        "IS_ERR",
        "IS_ERR_OR_NULL",
        "PTR_ERR",
        "READ_ONCE",
        "VM_BUG_ON",
        "WARN_ON",
        "WARN_ON_ONCE",
        "WRITE_ONCE",
        "atomic_dec",
        "atomic_inc",
        "atomic_read",
        "clear_bit",
        "container_of",
        "likely",
        "list_add",
        "list_del",
        "list_empty",
        "max",
        "max_t",
        "memcmp",
        "memcpy",
        "memset",
        "min",
        "min_t",
        "mutex_lock",
        "mutex_unlock",
        "offsetof",
        "pr_debug",
        "pr_err",
        "pr_info",
        "pr_warn",
        "printk",
        "rcu_dereference",
        "rcu_read_lock",
        "rcu_read_unlock",
        "set_bit",
        "sizeof",
        "smp_mb",
        "spin_lock",
        "spin_unlock",
        "strcmp",
        "strcpy",
        "strlen",
        "test_bit",
        "typeof",
        "unlikely",
    }
)


@dataclass
class Body:
    """What a function's body says."""

    calls: list[Call] = field(default_factory=list)
    statements: Statements = ()
    types: dict[str, str] = field(default_factory=dict)
    aliases: list[tuple[str, str, str]] = field(default_factory=list)


@dataclass
class _Frame:
    """An open statement; children go to the slot of the field they stand in."""

    kind: str
    depth: int  # of its node in the tree
    branch: str = ORDINARY
    slots: dict[str, list[Statement]] = field(default_factory=dict)
    slot: str = "body"
    has_default: bool = False

    def add(self, statement: Statement) -> None:
        self.slots.setdefault(self.slot, []).append(statement)

    def take(self, *slots: str) -> Statements:
        return tuple(statement for slot in slots for statement in self.slots.get(slot, ()))


def read_body(body: Node) -> Body:
    """Reduce a function's compound statement to its skeleton."""
    walker = _Walker()
    walker.walk(body)
    return walker.result


def text_of(node: Node | None) -> str:
    """Return the text of a node, or "" for none."""
    return node.text.decode("utf-8", "replace") if node is not None and node.text else ""


def declared_name(node: Node | None) -> str:
    """Return the name that a declarator declares, through pointers, arrays and functions."""
    while node is not None:
        if node.type in ("identifier", "field_identifier", "type_identifier"):
            return text_of(node)
        inner = node.child_by_field_name("declarator")
        if inner is None and node.type == "parenthesized_declarator":
            inner = next(iter(node.named_children), None)
        node = inner
    return ""


def struct_name(declaration: Node) -> str:
    """Return the name of the struct that a declaration's type names, or ""."""
    kind = declaration.child_by_field_name("type")
    if kind is None or kind.type not in ("struct_specifier", "union_specifier"):
        return ""
    return text_of(kind.child_by_field_name("name"))


class _Walker:
    def __init__(self) -> None:
        self.result = Body()
        self._frames: list[_Frame] = []
        self._loop_at: int | None = None  # depth at which the next statement is a loop's body
        self._text = b""  # of the body, and where it begins in its file
        self._start = 0

    def walk(self, top: Node) -> None:
        self._frames = [_Frame("seq", 0)]
        self._text, self._start = top.text or b"", top.start_byte
        todo = steps()
        cursor = top.walk()
        depth = 0  # counted here: the cursor's own count takes as long as it is deep
        while (node := cursor.node) is not None:
            step = todo[node.kind_id]
            if step:
                if depth == self._frames[-1].depth + 1:
                    self._choose_slot(cursor.field_name)
                if step & BEGINS or self._loop_at == depth:
                    self._enter(node, step, depth)
                if not (step & PLAIN and self._is_plain(node)) and cursor.goto_first_child():
                    depth += 1
                    continue
                if step & ENDS or self._frames[-1].depth == depth:
                    self._leave(node, step, depth)
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent() or (node := cursor.node) is None:
                    self.result.statements = self._frames[0].take("body")
                    return
                depth -= 1
                step = todo[node.kind_id]
                if step & ENDS or self._frames[-1].depth == depth:
                    self._leave(node, step, depth)

    def _is_plain(self, node: Node) -> bool:
        start = node.start_byte - self._start + 1  # what opens the node itself does not count
        return SAYS_SOMETHING.search(self._text, start, node.end_byte - self._start) is None

    def _choose_slot(self, field_name: str | None) -> None:
        frame = self._frames[-1]
        if frame.kind not in ("seq", "case_statement"):
            frame.slot = field_name if field_name in _SLOTS else "body"

    def _enter(self, node: Node, step: int, depth: int) -> None:
        if self._loop_at == depth:
            self._loop_at = None
            self._open(_Frame("for_each", depth))
        if step & BEGINS:
            self._begin(node, node.type, depth, self._frames[-1])

    def _begin(self, node: Node, kind: str, depth: int, frame: _Frame) -> None:
        if kind in FRAMES:
            self._open(_Frame(kind, depth, _branch(node)))
            if kind == "case_statement" and node.child_by_field_name("value") is None:
                frame.has_default = True
        elif kind == "labeled_statement":
            frame.add(("label", text_of(node.child_by_field_name("label"))))
        elif kind in ("declaration", "parameter_declaration"):
            self._declare(node)
        elif kind == "assignment_expression":
            self._alias(node.child_by_field_name("left"), node.child_by_field_name("right"))
        elif kind == "init_declarator":
            self._alias(node.child_by_field_name("declarator"), node.child_by_field_name("value"))

    def _open(self, frame: _Frame) -> None:
        if len(self._frames) < MAX_DEPTH:
            self._frames.append(frame)

    def _leave(self, node: Node, step: int, depth: int) -> None:
        # two when the body of a for_each macro is a statement of its own kind
        while self._frames[-1].depth == depth and len(self._frames) > 1:
            statement = _statement(self._frames.pop())
            if statement is not None:
                self._frames[-1].add(statement)
        if step & ENDS:
            self._end(node, node.type, depth)

    def _end(self, node: Node, kind: str, depth: int) -> None:
        here = self._frames[-1]
        if kind == "call_expression":
            self._call(node, depth)
        elif kind == "return_statement":
            here.add(("return",))
        elif kind == "goto_statement":
            here.add(("goto", text_of(node.child_by_field_name("label"))))
        else:
            here.add((kind.removesuffix("_statement"),))

    def _call(self, node: Node, depth: int) -> None:
        target = node.child_by_field_name("function")
        while target is not None and target.type in (
            "parenthesized_expression",
            "pointer_expression",
        ):
            target = next(iter(target.named_children), None)
        if target is None:
            return
        line = node.start_point[0] + 1
        if target.type == "identifier":
            name = text_of(target)
            if name in _NOISE:
                return
            call = Call(line, name, _arguments(node))
            if _FOR_EACH.search(name) and _is_statement(node):
                self._loop_at = depth - 1
        elif target.type == "field_expression":
            base, variable, name = _field(target)
            call = Call(line, name, _arguments(node), is_field=True, base=base, variable=variable)
        elif target.type == "call_expression":
            call = _static_call(target, line)
            if not call.name:
                return
        else:
            return
        self._frames[-1].add(("call", len(self.result.calls)))
        self.result.calls.append(call)

    def _declare(self, node: Node) -> None:
        struct = struct_name(node)
        if struct:
            for declarator in node.children_by_field_name("declarator"):
                name = declared_name(declarator)
                if name:
                    self.result.types[name] = struct

    def _alias(self, left: Node | None, right: Node | None) -> None:
        name = text_of(left) if left is not None and left.type == "identifier" else ""
        if left is not None and not name and "declarator" in left.type:
            name = declared_name(left)
        if not name or right is None:
            return
        if right.type == "field_expression":
            base, variable, field_name = _field(right)
            self.result.aliases.append((name, base or variable, field_name))
        elif right.type == "identifier":
            self.result.aliases.append((name, "", text_of(right)))


_SLOTS = frozenset({"condition", "consequence", "alternative", "value"})


def _branch(node: Node) -> str:
    """Tell which branch of an if is a retry, from the error it asks for."""
    if node.type != "if_statement":
        return ORDINARY
    condition = node.child_by_field_name("condition")
    text = condition.text if condition is not None and condition.text else b""
    if _RETRY_UNLESS.search(text):
        return RETRY_ELSE
    return RETRY_THEN if _RETRY_IF.search(text) else ORDINARY


def _statement(frame: _Frame) -> Statement | None:
    """Close a frame; what holds no call and changes no way through is dropped (None)."""
    if frame.kind in ("if_statement", "conditional_expression"):
        condition = frame.take("condition")
        then, other = frame.take("consequence", "body"), frame.take("alternative")
        if not condition and not then and not other:
            return None
        if frame.branch == ORDINARY and not condition and not other and then == (("return",),):
            return None
        return ("if", frame.branch, condition, then, other)
    if frame.kind == "switch_statement":
        cases = frame.take("body")
        return ("switch", frame.take("condition"), cases, frame.has_default)
    if frame.kind == "case_statement":
        return ("seq", frame.take("value", "body"))
    inside = frame.take("condition", "body", "consequence", "alternative", "value")
    return ("loop", inside) if inside else None


def _is_statement(call: Node) -> bool:
    return call.parent is not None and call.parent.type == "expression_statement"


def _field(node: Node) -> tuple[str, str, str]:
    """Split `a->b->c` into (b, "", c), and `a->c` into ("", a, c)."""
    name = text_of(node.child_by_field_name("field"))
    base = node.child_by_field_name("argument")
    while base is not None and base.type in ("parenthesized_expression", "pointer_expression"):
        base = next(iter(base.named_children), None)
    if base is not None and base.type == "field_expression":
        return text_of(base.child_by_field_name("field")), "", name
    if base is not None and base.type == "identifier":
        return "", text_of(base), name
    return "", "", name


def _static_call(target: Node, line: int) -> Call:
    """Read `static_call(NAME)(…)`; its target is that of DEFINE_STATIC_CALL(NAME, …)."""
    name = text_of(target.child_by_field_name("function"))
    arguments = _arguments(target)
    if name not in ("static_call", "static_call_cond", "static_call_mod") or not arguments:
        return Call(line, "")
    return Call(line, arguments[0][1], is_field=True, base="static_call")


def _arguments(node: Node) -> tuple[tuple[int, str], ...]:
    """Return the plain names among a call's arguments: some may be functions."""
    listed = node.child_by_field_name("arguments")
    if listed is None:
        return ()
    names: list[tuple[int, str]] = []
    for position, argument in enumerate(listed.named_children[:MAX_ARGUMENTS]):
        plain = argument
        if plain.type == "pointer_expression":
            plain = next(iter(plain.named_children), plain)
        if plain.type == "identifier":
            name = text_of(plain)
            if not name.isupper():
                names.append((position, name))
    return tuple(names)
