# SPDX-License-Identifier: GPL-2.0-or-later
"""The C grammar, and what each kind of node asks of the walk through a function's body.

The walk steps over a million nodes of a kernel and most say nothing: telling by a number is
several times as fast as by a name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import tree_sitter_c
from tree_sitter import Language, Parser

VISIT = 1  # the node may hold something, or its children may
BEGINS = 2  # something is to do when it is entered
ENDS = 4  # something is to do when it is left
PLAIN = 8  # when it has neither a call nor an assignment in it, it says nothing
ERROR_ID = 65535  # the number of nodes that the parser made no sense of

LOOPS = frozenset({"for_statement", "while_statement", "do_statement"})
# Statements that decide how often what is in them runs.
FRAMES = LOOPS | {
    "if_statement",
    "conditional_expression",
    "switch_statement",
    "case_statement",
}
SAYS_SOMETHING = re.compile(rb"[(=]")

_BEGIN = FRAMES | {
    "labeled_statement",
    "declaration",
    "parameter_declaration",
    "assignment_expression",
    "init_declarator",
}
_END = frozenset(
    {
        "call_expression",
        "return_statement",
        "break_statement",
        "continue_statement",
        "goto_statement",
    }
)
_PLAIN = frozenset(
    {
        "argument_list",
        "binary_expression",
        "cast_expression",
        "comment",
        "concatenated_string",
        "conditional_expression",
        "expression_statement",
        "field_expression",
        "goto_statement",
        "initializer_list",
        "parenthesized_expression",
        "pointer_expression",
        "return_statement",
        "sizeof_expression",
        "string_literal",
        "struct_specifier",
        "subscript_expression",
        "type_descriptor",
        "unary_expression",
        "update_expression",
    }
)
_WORDS = frozenset(
    {
        "comment",
        "field_identifier",
        "identifier",
        "number_literal",
        "primitive_type",
        "statement_identifier",
        "type_identifier",
    }
)


@cache
def language() -> Language:
    """Return the grammar."""
    return Language(tree_sitter_c.language())


@cache
def parser() -> Parser:
    """Return the parser, which is kept: making one takes long."""
    return Parser(language())


@cache
def steps() -> Mapping[int, int]:
    """Return what the walk does at nodes of each kind: 0 for words and signs, which say nothing."""
    grammar = language()
    found = {ERROR_ID: VISIT}
    for number in range(grammar.node_kind_count):
        name = grammar.node_kind_for_id(number) or ""
        if not grammar.node_kind_is_named(number) or name in _WORDS:
            found[number] = 0
            continue
        found[number] = (
            VISIT
            | (BEGINS if name in _BEGIN else 0)
            | (ENDS if name in _END else 0)
            | (PLAIN if name in _PLAIN else 0)
        )
    return found
