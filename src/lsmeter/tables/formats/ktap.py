# SPDX-License-Identifier: GPL-2.0-or-later
"""KTAP, version 1: a test point for each rule of a gate, with one below it for each comparison.

A point without a number is never ok. No line may be read as another one, whatever names hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lsmeter.tables.model import Detail, Document
from lsmeter.tables.render import Format, Options
from lsmeter.tables.results import Result, Results, Rule, Status

_HEAD = "KTAP version 1"
# What a kernel says at its end, and parsers of its console take for the end of all points.
_END = re.compile("List of all partitions:|Kernel panic - not syncing: VFS:|reboot: System halted")


def render(document: Document, options: Options) -> str:
    """Return the points; what is inconclusive or has no number is skipped."""
    found = document.results_for(FORMAT.name)
    lines = [_HEAD, f"1..{len(found.rules)}"]
    for number, rule in enumerate(found.rules, 1):
        lines += _rule(found, rule, number)
    return "\n".join(_END.sub(lambda end: end[0].replace(":", ";"), x) for x in lines) + "\n"


def _rule(found: Results, rule: Rule, number: int) -> Iterator[str]:
    inner: list[str] = []
    for at, item in enumerate(rule.items, 1):
        inner += _result(found, item, at)
    if rule.items:
        yield from (f"  {line}" for line in (_HEAD, f"1..{len(rule.items)}", *inner))
    yield f"# limit: {rule.limit}"
    outcomes = {item.status for item in rule.items}
    status = next((each for each in Status if each in outcomes), Status.MISSING)
    missing = rule.unjudged and status is not Status.FAILED
    yield _point(rule.name, number, Status.MISSING if missing else status, rule.unjudged)


def _result(found: Results, item: Result, number: int) -> Iterator[str]:
    for each in item.quantities:
        yield f"# {each.name}: {each.value:.15g} {each.unit}"
    yield f"# result: {item.said}"
    yield _point(found.name(item), number, item.status, item.said)


def _point(name: str, number: int, status: Status, why: str) -> str:
    ok = status in {Status.PASSED, Status.MEASURED}
    skipped = not ok and status is not Status.FAILED
    # A number sign ends a name.
    words = name.replace("#", r"\x23").strip() or "unnamed"
    directive = f" # SKIP {why or 'not known'}" if skipped else ""
    return f"{'ok' if ok else 'not ok'} {number} - {words}{directive}"


FORMAT = Format(
    "ktap", "KTAP version 1, of a gate's rules", ".ktap", Detail.DATA, render, commands=("gate",)
)
