# SPDX-License-Identifier: GPL-2.0-or-later
"""The language of rules: one expression over measured rows, which always ends; pure.

It has numbers, texts, lists, + - * /, comparisons, `and`, `or`, `not`, comprehensions over lists,
and the functions listed below (`lsmeter help studies`). A comparison is a finding, not a truth
value: it may be open.
"""

from __future__ import annotations

import ast
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from lsmeter.questions.reproduce import quantities
from lsmeter.questions.reproduce.parts import KEYWORDS
from lsmeter.questions.reproduce.quantities import Finding, MissingError, Quantity, UnitError

_MOST_STEPS = 200_000
_MOST_CHARACTERS = 4000
_Offered = Mapping[str, tuple[Callable[..., Any], set[str]]]  # with keywords beside its own
_OPERATORS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_COMPARISONS: Mapping[type, Callable[[Any, Any], Finding]] = {
    ast.Gt: partial(quantities.above, strictly=True),
    ast.GtE: partial(quantities.above, strictly=False),
    ast.Lt: partial(quantities.below, strictly=True),
    ast.LtE: partial(quantities.below, strictly=False),
}
# Of lists of numbers; of numbers; of findings. A finding's function takes what cannot be read as
# open, the others pass it on.
_OF_NUMBERS: Mapping[str, Callable[..., Any]] = {
    "mean": quantities.mean,
    "median": quantities.median,
    "largest": quantities.largest,
    "smallest": quantities.smallest,
    "total": quantities.total,
    "correlation": quantities.correlation,
    "value": lambda number: quantities.as_quantity(number).value,
    "percent": quantities.percent,
    "half_width": quantities.half_width,
    "abs": abs,
    "len": len,
}
_OF_FINDINGS: Mapping[str, Callable[..., Finding]] = {
    "within": quantities.within,
    "near": lambda number, printed: quantities.within(
        number, *sorted((printed / 1.5, printed * 1.5))
    ),
    "equal": quantities.equal,
    "all": quantities.every,
    "any": quantities.some,
    "at_least": quantities.at_least,
}


class RuleError(Exception):
    """What is wrong with a rule: one line."""


Rule = ast.expr  # that was read: only what the language has stands in it


def read_rule(text: str, facts: Mapping[str, Callable[..., Any]], names: Sequence[str]) -> Rule:
    """Read a rule; RuleError says what the language does not have.

    facts are the functions that read rows, by name; names are those of the study's own lists.
    """
    if len(text) > _MOST_CHARACTERS:
        raise RuleError(f"longer than {_MOST_CHARACTERS} characters")
    try:
        tree = ast.parse(text.strip().replace("\n", " "), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise RuleError(f"no expression: {getattr(error, 'msg', error)}") from None
    offered = {name: (do, {*KEYWORDS}) for name, do in facts.items()}
    offered |= {name: (do, set()) for name, do in {**_OF_NUMBERS, **_OF_FINDINGS}.items()}
    _check(tree, offered, {*names})
    return tree


def _check(node: ast.AST, offered: _Offered, names: set[str]) -> None:
    """Raise RuleError for what the language does not have."""
    if isinstance(node, ast.GeneratorExp | ast.ListComp):
        _check_loops(node, offered, names)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        _check_call(node, node.func.id, offered, names)
    elif isinstance(node, ast.Name):
        if node.id not in names:
            raise RuleError(f"unknown name '{node.id}'")
    else:
        for part in _parts(node):
            _check(part, offered, names)


def _parts(node: ast.AST) -> Sequence[ast.AST]:
    """Return the parts of what the language has; RuleError for all else."""
    match node:
        case ast.Constant(value=value) if type(value) in {int, float, str}:
            return ()
        case ast.BinOp(op=op) if type(op) in _OPERATORS:
            return (node.left, node.right)
        case ast.Compare(ops=ops) if all(type(op) in _COMPARISONS for op in ops):
            return (node.left, *node.comparators)
        case ast.BoolOp(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
            return parts
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=part):
            return (part,)
    raise RuleError(f"{ast.unparse(node)[:60]}: not in the language of rules")


def _check_loops(node: ast.GeneratorExp | ast.ListComp, offered: _Offered, names: set[str]) -> None:
    inner = set(names)
    for part in node.generators:
        if part.ifs or part.is_async or not isinstance(part.target, ast.Name):
            raise RuleError(f"{ast.unparse(part)}: only `for NAME in LIST`")
        _check(part.iter, offered, inner)
        inner.add(part.target.id)
    _check(node.elt, offered, inner)


def _check_call(node: ast.Call, name: str, offered: _Offered, names: set[str]) -> None:
    if name not in offered:
        raise RuleError(f"unknown function '{name}'; there are {', '.join(sorted(offered))}")
    do, keywords = offered[name]
    signature = inspect.signature(do)
    further = [str(item.arg) for item in node.keywords if item.arg not in keywords]
    wrong = [word for word in further if word not in signature.parameters]
    if wrong or any(isinstance(part, ast.Starred) for part in node.args):
        raise RuleError(f"{name}(): not in the language of rules: {', '.join(wrong) or '*'}")
    try:
        signature.bind(*node.args, **dict.fromkeys(further))
    except TypeError as error:
        raise RuleError(f"{name}(): {error}") from None
    for part in (*node.args, *(item.value for item in node.keywords)):
        _check(part, offered, names)


class Evaluation:
    """Works a rule out over the rows of one place."""

    def __init__(self, facts: Mapping[str, Callable[..., Any]], names: Mapping[str, Any]) -> None:
        self._facts = facts
        self._names = dict(names)
        self._steps = 0

    def find(self, rule: Rule) -> Finding:
        """Return what a rule says; RuleError where it mixes units, or lists and numbers."""
        try:
            found = self._work_out(rule)
        except MissingError as error:
            return quantities.unknown(str(error))
        if not isinstance(found, Finding):
            raise RuleError("it compares nothing")
        return found

    def number(self, rule: Rule) -> Quantity:
        """Return the number that an expression gives; MissingError where a row is not there."""
        found = self._work_out(rule)
        if not isinstance(found, Quantity | float):
            raise RuleError("it gives no number")
        return quantities.as_quantity(found)

    def _work_out(self, rule: Rule) -> object:
        try:
            return self._of(rule)
        except UnitError as error:
            raise RuleError(f"two units: {error}") from None
        except (TypeError, AttributeError, ValueError, ZeroDivisionError, OverflowError) as error:
            raise RuleError(f"{error}") from None

    def _of(self, node: ast.AST) -> Any:  # noqa: ANN401, PLR0911  (a value of each kind of node)
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise RuleError(f"more than {_MOST_STEPS:,} steps")
        match node:
            case ast.Constant(value=value):
                return float(value) if isinstance(value, int) else value
            case ast.Name(id=name):
                return self._names[name]
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return [self._of(part) for part in parts]
            case ast.GeneratorExp() | ast.ListComp():
                return self._each(node.elt, node.generators)
            case ast.BinOp():
                return _OPERATORS[type(node.op)](self._of(node.left), self._of(node.right))
            case ast.UnaryOp(op=ast.USub(), operand=part):
                return -self._of(part)
            case ast.Call():
                return self._call(node)
        return self._logic(node)

    def _logic(self, node: ast.AST) -> Finding:
        if isinstance(node, ast.BoolOp):
            join = quantities.every if isinstance(node.op, ast.And) else quantities.some
            return join(self._finding(part) for part in node.values)
        if isinstance(node, ast.UnaryOp):
            return ~self._finding(node.operand)
        return self._compare(node) if isinstance(node, ast.Compare) else quantities.unknown("")

    def _finding(self, node: ast.AST) -> Finding:
        """Return a finding; what cannot be read leaves it open."""
        try:
            found = self._of(node)
        except MissingError as error:
            return quantities.unknown(str(error))
        if not isinstance(found, Finding):
            raise TypeError(f"{ast.unparse(node)[:60]} compares nothing")
        return found

    def _compare(self, node: ast.Compare) -> Finding:
        try:
            values = [self._of(part) for part in (node.left, *node.comparators)]
        except MissingError as error:
            return quantities.unknown(str(error))
        for value in values:
            if not isinstance(value, float | Quantity):
                raise TypeError(f"{ast.unparse(node)[:60]} compares what is no number")
        pairs = zip(node.ops, values, values[1:], strict=False)
        return quantities.every(_COMPARISONS[type(op)](a, b) for op, a, b in pairs)

    def _each(self, element: ast.expr, loops: Sequence[ast.comprehension]) -> list[Any]:
        """Work an element out for each item; a finding that cannot be read is open."""
        if not loops:
            is_finding = isinstance(element, ast.Compare | ast.BoolOp) or (
                isinstance(element, ast.Call)
                and isinstance(element.func, ast.Name)
                and element.func.id in _OF_FINDINGS
            )
            return [self._finding(element) if is_finding else self._of(element)]
        first, *rest = loops
        name = first.target.id  # type: ignore[attr-defined]
        before, found = self._names.get(name), []
        for item in self._of(first.iter):
            self._names[name] = item
            found += self._each(element, rest)
        self._names[name] = before
        return found

    def _call(self, node: ast.Call) -> object:
        name = node.func.id  # type: ignore[attr-defined]
        do = self._facts.get(name) or _OF_NUMBERS.get(name) or _OF_FINDINGS[name]
        try:
            values = [self._of(part) for part in node.args]
            further = {str(item.arg): self._of(item.value) for item in node.keywords}
            found = do(*values, **further)
        except MissingError as error:
            if name in _OF_FINDINGS:
                return quantities.unknown(str(error))
            raise
        return float(found) if isinstance(found, int) else found
