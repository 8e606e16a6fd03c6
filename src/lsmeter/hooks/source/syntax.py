# SPDX-License-Identifier: GPL-2.0-or-later
"""Parses one C file with tree-sitter and returns what it says, without looking at other files."""

from __future__ import annotations

import re

from tree_sitter import Node

from lsmeter.hooks.source.conditions import Prepared, prepare
from lsmeter.hooks.source.facts import Call, Entry, FileFacts, Function
from lsmeter.hooks.source.grammar import parser
from lsmeter.hooks.source.skeleton import declared_name, read_body, struct_name, text_of

MAX_TABLE_DEPTH = 4  # tables within tables
MAX_MACRO_CALLS = 40

# Words that are no C: they say something to the compiler or to a checker. A pattern that begins
# with fixed text is found several times as fast as one that begins with a choice.
_UNDERSCORED = re.compile(
    r"__(?:user|rcu|iomem|percpu|force|kernel|init|exit|initdata|ro_after_init|always_inline|inline"
    r"|inline__|must_check|maybe_unused|always_unused|cold|hot|read_mostly|used|weak|pure|private"
    r"|randomize_layout|lsm_ro_after_init|sched|visible|bpf_kfunc|latent_entropy|malloc|deprecated"
    r"|no_sanitize_address|cacheline_aligned_in_smp|__cacheline_aligned|ref|net_init|net_exit)\b"
)
_ATTRIBUTES = re.compile(
    r"__(?:acquires|releases|must_hold|cond_acquires|printf|aligned|counted_by|cond_lock"
    r"|attribute__|guarded_by|no_context_analysis|free|alloc_size|nonnull|cleanup|context_unsafe)"
    r"\s*\((?:[^()\n]|\([^()\n]*\))*\)"
)
_PLAIN = re.compile(r"\b(?:no(?:inline(?:_for_stack)?|trace|instr)|asmlinkage|restrict)\b")
_SYSCALL = re.compile(r"^(COMPAT_)?SYSCALL_DEFINE(\d)\(\s*(\w+)\s*(,?)", re.MULTILINE)
_HOOK_CALLS = re.compile(
    r"\bcall_(?:int|void)_hook\w*\s*\(\s*(\w+)"
    r"|\blsm_for_each_hook\s*\(\s*\w+\s*,\s*(\w+)"
    r"|\bsecurity_hook_heads\s*\.\s*(\w+)"
    r"|\bstatic_calls_table\s*\.\s*(\w+)"
)
_STATIC_CALL = re.compile(
    r"\b(?:DEFINE_STATIC_CALL|static_call_update)\s*\(\s*(\w+)\s*,\s*&?\s*(\w+)\s*\)"
)
_MACRO = re.compile(r"(\w+)\(([^()]*)\)\s*(.*)", re.DOTALL)
_MACRO_CALL = re.compile(r"\b([a-z_]\w*)\s*\(")
_C_WORDS = frozenset(
    {"if", "while", "for", "switch", "return", "sizeof", "typeof", "do", "__typeof__", "defined"}
)
# Sections whose functions are the interface of the framework.
_FRAMEWORK = re.compile(r"^security/[^/]+\.c$")


def syscall_function(name: str) -> str:
    """Return the name that the body of a system call goes by here."""
    return f"sys_{name}"


def read_file(path: str, text: str) -> FileFacts:
    """Parse the text of the file at `path` (below the tree)."""
    prepared = prepare(text)
    clean = _SYSCALL.sub(_as_function, prepared.text)
    for words in (_UNDERSCORED, _ATTRIBUTES, _PLAIN):
        clean = words.sub(_blank, clean)
    data = clean.encode()
    reader = _FileReader(path, prepared)
    reader.read(parser().parse(data).root_node)
    reader.read_macros()
    reader.entries += _static_calls(path, prepared.text)
    return FileFacts(
        path,
        tuple(reader.functions),
        tuple(reader.entries),
        tuple(sorted(reader.fields)),
        tuple(sorted(reader.function_fields)),
        frozenset(reader.references),
        len(prepared.regions),
        prepared.dropped_lines,
        reader.unread_bytes,
    )


def _static_calls(path: str, text: str) -> list[Entry]:
    """Return what static calls are bound to, as if they were tables."""
    if "DEFINE_STATIC_CALL" not in text and "static_call_update" not in text:
        return []
    return [
        Entry("static_call", found[1], found[2], "", path, text.count("\n", 0, found.start()) + 1)
        for found in _STATIC_CALL.finditer(text)
    ]


def _blank(found: re.Match[str]) -> str:
    return " " * len(found.group(0))


def _as_function(found: re.Match[str]) -> str:
    prefix = "compat_" if found[1] else ""
    return f"long {prefix}{syscall_function(found[3])}(" + ("void *," if found[4] else "")


class _FileReader:
    """Collects what the top level of one file declares."""

    def __init__(self, path: str, prepared: Prepared) -> None:
        self._path = path
        self._prepared = prepared
        self._framework = bool(_FRAMEWORK.match(path))
        self.functions: list[Function] = []
        self.entries: list[Entry] = []
        self.fields: set[tuple[str, str]] = set()
        self.function_fields: set[tuple[str, str]] = set()
        self.references: set[str] = set()
        self.unread_bytes = 0

    def read(self, root: Node) -> None:
        """Visit every node outside of functions; the stack is our own, so depth is no matter."""
        waiting = [root]
        errors: list[Node] = []
        while waiting:
            node = waiting.pop()
            if node.type == "function_definition":
                self._function(node)
                if errors and node.end_byte <= errors[-1].end_byte:
                    self.unread_bytes -= node.end_byte - node.start_byte  # read all the same
            elif node.type in ("struct_specifier", "union_specifier"):
                self._struct(node, waiting)
            else:
                if node.type == "declaration":
                    self._declaration(node)
                elif node.type == "ERROR" and not (errors and node.end_byte <= errors[-1].end_byte):
                    self.unread_bytes += node.end_byte - node.start_byte
                    errors.append(node)
                elif node.type == "pointer_expression":
                    self._reference(node)
                waiting.extend(reversed(node.named_children))

    def _function(self, node: Node) -> None:
        declarator = node.child_by_field_name("declarator")
        while declarator is not None and declarator.type != "function_declarator":
            declarator = declarator.child_by_field_name("declarator")
        body = node.child_by_field_name("body")
        if declarator is None or body is None:
            return
        name = declared_name(declarator)
        if not name:
            return
        read = read_body(body)
        parameters, types = _parameters(declarator)
        types.update(read.types)
        conditions = {
            call.line: condition
            for call in read.calls
            if (condition := self._prepared.condition_at(call.line))
        }
        hooks: tuple[str, ...] = ()
        if self._framework:
            found = _HOOK_CALLS.findall(text_of(body))
            hooks = tuple(sorted({next(filter(None, names)) for names in found}))
        self._body_references(body)
        self.functions.append(
            Function(
                name=name,
                file=self._path,
                line=node.start_point[0] + 1,
                static=_is_static(node),
                macro=False,
                parameters=parameters,
                calls=tuple(read.calls),
                body=read.statements,
                types=tuple(types.items()),
                aliases=tuple(dict.fromkeys(read.aliases)),
                hooks=hooks,
                conditions=tuple(conditions.items()),
            )
        )

    def _body_references(self, body: Node) -> None:
        if body.text:
            for name in _REFERENCE.findall(body.text):
                self.references.add(name.decode("utf-8", "replace"))

    def _reference(self, node: Node) -> None:
        inner = next(iter(node.named_children), None)
        if inner is not None and inner.type == "identifier":
            self.references.add(text_of(inner))

    def _struct(self, node: Node, waiting: list[Node]) -> None:
        body = node.child_by_field_name("body")
        if body is None:
            return
        owner = text_of(node.child_by_field_name("name"))
        for child in body.named_children:
            waiting.append(child)
            if child.type != "field_declaration":
                continue
            for declarator in child.children_by_field_name("declarator"):
                name = declared_name(declarator)
                if _declares_function(declarator):
                    self.function_fields.add((owner, name))
                elif struct_name(child) and declarator.type == "pointer_declarator":
                    self.fields.add((name, struct_name(child)))

    def _declaration(self, node: Node) -> None:
        struct = struct_name(node)
        if not struct:
            return
        for declarator in node.children_by_field_name("declarator"):
            if declarator.type != "init_declarator":
                continue
            value = declarator.child_by_field_name("value")
            if value is not None and value.type == "initializer_list":
                self._table(struct, declared_name(declarator), value)

    def _table(self, struct: str, table: str, initializer: Node) -> None:
        waiting = [(initializer, 0)]
        while waiting:
            node, depth = waiting.pop()
            for child in node.named_children:
                if child.type == "initializer_list" and depth < MAX_TABLE_DEPTH:
                    waiting.append((child, depth + 1))
                if child.type != "initializer_pair":
                    continue
                value = child.child_by_field_name("value")
                designators = child.children_by_field_name("designator")
                if value is None or len(designators) != 1:
                    continue
                if value.type == "initializer_list" and depth < MAX_TABLE_DEPTH:
                    waiting.append((value, depth + 1))
                    continue
                self._entry(struct, table, designators[0], value)

    def _entry(self, struct: str, table: str, designator: Node, value: Node) -> None:
        while value.type in ("pointer_expression", "cast_expression", "parenthesized_expression"):
            children = value.named_children
            if not children:
                return
            value = children[-1]
        if designator.type == "field_designator" and value.type == "identifier":
            field = text_of(designator).lstrip(". \t")
            line = value.start_point[0] + 1
            self.entries.append(Entry(struct, field, text_of(value), table, self._path, line))

    def read_macros(self) -> None:
        """Take macros with arguments for functions that call what their text calls."""
        for line, text in self._prepared.defines:
            found = _MACRO.fullmatch(text)
            if not found:
                continue
            names = dict.fromkeys(_MACRO_CALL.findall(found[3]))
            parameters = {word.strip() for word in found[2].split(",")}
            called = [
                name
                for name in names
                if name not in _C_WORDS and name != found[1] and name not in parameters
            ][:MAX_MACRO_CALLS]
            if not called:
                continue
            calls = tuple(Call(line, name) for name in called)
            body = tuple(("call", index) for index in range(len(calls)))
            condition = self._prepared.condition_at(line)
            self.functions.append(
                Function(
                    name=found[1],
                    file=self._path,
                    line=line,
                    static=True,
                    macro=True,
                    parameters=(),
                    calls=calls,
                    body=body,
                    types=(),
                    aliases=(),
                    hooks=(),
                    conditions=((line, condition),) if condition else (),
                )
            )


_REFERENCE = re.compile(rb"&\s*([A-Za-z_]\w*(?:_ops|_operations|_handlers?|aops|fops|iops)\b)")


def _is_static(node: Node) -> bool:
    return any(
        child.type == "storage_class_specifier" and text_of(child) == "static"
        for child in node.children
    )


def _declares_function(declarator: Node) -> bool:
    """Tell whether a field is a pointer to a function, whatever that returns."""
    node: Node | None = declarator
    while node is not None and node.type == "pointer_declarator":
        node = node.child_by_field_name("declarator")
    return node is not None and node.type == "function_declarator"


def _parameters(declarator: Node) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the names of a function's parameters, and the structs that they point to."""
    listed = declarator.child_by_field_name("parameters")
    names: list[str] = []
    types: dict[str, str] = {}
    for parameter in listed.named_children if listed is not None else ():
        if parameter.type != "parameter_declaration":
            continue
        name = declared_name(parameter.child_by_field_name("declarator"))
        names.append(name)
        struct = struct_name(parameter)
        if name and struct:
            types[name] = struct
    return tuple(names), types
