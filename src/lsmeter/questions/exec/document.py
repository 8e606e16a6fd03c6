# SPDX-License-Identifier: GPL-2.0-or-later
"""What setups cost a command, as a document: a sentence first, then where it comes from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import Any

from lsmeter.core.groups import grouped
from lsmeter.core.model.conclusion import Comparison, Verdict
from lsmeter.core.printable import printable
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.cells.frame import run_document
from lsmeter.questions.cells.results import measured_results
from lsmeter.questions.cells.rows import COMPARISON, ESTIMATE
from lsmeter.questions.exec import plots
from lsmeter.questions.exec.figures import (
    Added,
    CallCost,
    Commands,
    Compared,
    Measured,
    Output,
    added_by_call,
    find_commands,
    together,
)
from lsmeter.tables import numbers
from lsmeter.tables.fields import SETUP, Field, flat_table, named, tabled
from lsmeter.tables.model import (
    Column,
    Detail,
    Document,
    Item,
    Kind,
    Section,
    Shown,
    Table,
    Tone,
    Value,
)
from lsmeter.tables.values import change, count, first_of, many, some

NAME = "lsmeter-exec"
_MOST = {Detail.SHORT: 8}  # rows of a table, and lines of output; all where there is room
_MOST_MODULES = 2  # columns of a table that is to fit a terminal
_CALLS_COVER = (
    "A call: from its entry to its return, page faults inside it included. Outside of calls: other "
    "page faults, new tasks, interrupts, kernel threads."
)
_COVERS = (
    "One run of the command a boot, from its execve() to its end, with its children and threads, "
    "as root. Kernel: in its tasks, in interrupts and in kernel threads; the clock's own work and "
    "the start of the guest are left out. Instructions, not time."
)


def document(run: RunData, detail: Detail) -> Document:
    """Return what a run of a command shows, for a format with this much room."""
    found = find_commands(run)
    command, baseline = found.command, run.manifest.baseline_setup
    sections: list[Section] = []
    for beside, mine in grouped((item.place.beside, item) for item in found.measured).items():
        compared = [item for item in found.compared if item.kernel.place.beside == beside]
        sections.append(_totals(mine, compared, baseline, ", ".join(beside[:1] + beside[2:])))
        sections.append(_sources(mine, baseline, detail))
    outputs = [(item.place.setup, item.output) for item in found.measured]
    outputs += [(place.setup, output) for place, output in found.failed]
    sections.append(_said(outputs, detail))
    data, results = _data(found, run), None
    if detail is Detail.DATA:
        rows = [COMPARISON.flat(item) for item in data["comparisons"]]
        sections = [Section("", tables=(flat_table("comparisons", rows),))]
        of = (run.manifest.kernels, run.manifest.created, "insns")
        results = measured_results(found.estimates, found.comparisons, found.problems, of)
    title = f"What security modules cost: {command.shown}"
    made = run_document(run, NAME, title, tuple(sections), found.problems, data)
    answer = first_of(_answer(found, baseline))
    return replace(made, lead=(_COVERS,), answer=answer, results=results)


def _answer(found: Commands, baseline: str) -> Iterator[str]:
    """Say for each setup what it adds to what the kernel does, and to all of it."""
    if not found.compared:
        yield f"Nothing was compared: no setup beside {baseline} has a number."
    several = len({item.kernel.place.beside for item in found.compared}) > 1
    for item in found.compared:
        where = f" ({', '.join(item.kernel.place.beside)})" * several
        yield f"{item.kernel.place.setup}{where} {_sentence(item)}"


def _sentence(item: Compared) -> str:
    kernel = item.kernel
    old, new = kernel.decided.baseline_value, kernel.decided.value
    counts = f"{count(round(old))} {numbers.ARROW} {count(round(new))} kernel instructions"
    of_all = f", {_percent(item.all)} to all of it" if item.all else ""
    adds = f"adds {_percent(kernel)} to what the kernel does for this command{of_all}"
    if kernel.mean is not None and not math.isfinite(kernel.mean.low):
        return f"{adds}, in one boot: {counts}; --boots 3 says how far boots differ."
    if kernel.verdict is Verdict.INCONCLUSIVE:
        return f"is not resolved: {counts}; {kernel.cause}; more --boots."
    within = " (equivalent)" if kernel.verdict is Verdict.EQUIVALENT else ""
    return f"{adds}{within}: {counts}."


def _percent(item: Comparison) -> str:
    decided = item.decided
    half = max(decided.overhead_high - item.overhead, item.overhead - decided.overhead_low)
    within = f" ±{100 * half:.1f}" if math.isfinite(half) else ""
    return f"{numbers.overhead(item.overhead, item.verdict)} %{within}"


def _totals(
    measured: Sequence[Measured], compared: Sequence[Compared], baseline: str, where: str
) -> Section:
    by_setup = {item.kernel.place.setup: item for item in compared}
    old = next((item.kernel.decided.baseline_value for item in compared), None)

    def against(part: str, item: Measured) -> Comparison | None:
        found: Comparison | None = getattr(by_setup.get(item.place.setup), part, None)
        return found

    def kernel(item: Measured) -> int:
        found = against("kernel", item)
        decided = old if found is None else found.decided.value
        return round(item.kernel_insns if decided is None else decided)

    fields = (
        SETUP,
        Field("kernel_insns", "kernel", kernel),
        Field(
            "kernel_overhead", "overhead, %", lambda i: _cell(against("kernel", i)), Kind.PERCENT
        ),
        Field("all_overhead", "of all, %", lambda i: _cell(against("all", i)), Kind.PERCENT),
        Field("user_insns", "user", lambda i: round(fmean(i.user)) if i.user else None),
        Field("user_difference", "differs", lambda i: _difference(against("user", i)), Kind.CHANGE),
        Field("boots", "boots", lambda i: len(i.kernel)),
    )
    marks = ", ".join(f"{mark} {word.value}" for word, mark in numbers.VERDICT_MARKS.items())
    more = (f"{marks}; overheads over {baseline}.",)
    table = tabled("totals", "Instructions", fields, measured, more=more)
    return Section(where, tables=(table,), items=tuple(_controls(measured, compared)))


def _difference(item: Comparison | None) -> float | None:
    """Return by how much the shown values differ: where boots do, no difference is decided."""
    return None if item is None else item.decided.value - item.decided.baseline_value


def _cell(item: Comparison | None) -> Value:
    if item is None:
        return None
    mark = numbers.VERDICT_MARKS[item.verdict]
    text = f"{numbers.overhead(item.overhead, item.verdict)} {mark}"
    return Shown(item.overhead, text, numbers.TONES[item.verdict])


def _controls(measured: Sequence[Measured], compared: Sequence[Compared]) -> Iterator[Item]:
    """Say whether the command itself did the same, and made the same calls."""
    users = [(item.user, _difference(item.user)) for item in compared]
    moved = [(item, by) for item, by in users if item and by]
    if compared and not moved:
        yield Item("Control: user instructions are equal in all setups.", tone=Tone.QUIET)
    for item, by in moved:
        old = item.decided.baseline_value
        known = f"{100 * abs(by) / old:.3f} %" if old else "of 0"
        yield Item(
            f"Control: under {item.place.setup} the command itself executes {change(round(by))} "
            f"user instructions ({known}): it does something else there, or meets page faults in "
            "other places.",
            tone=Tone.WARNING,
        )
    base = measured[0]
    for other in measured[1:]:
        names = sorted(base.syscalls.keys() | other.syscalls.keys())
        each = [
            f"{name} {old:g} {numbers.ARROW} {new:g}"
            for name in names
            for old, new in [(of.syscalls.get(name, CallCost()).calls for of in (base, other))]
            if old != new
        ]
        if each:
            text = f"System calls that {other.place.setup} makes otherwise than "
            yield Item(f"{text}{base.place.setup}: {some(each, 8)}.", tone=Tone.WARNING)


def _sources(measured: Sequence[Measured], baseline: str, detail: Detail) -> Section:
    most = _MOST.get(detail)
    tables = [_modules(measured)]
    base = next((item for item in measured if item.place.setup == baseline), measured[0])
    others = [item for item in measured if item is not base]
    tables += [_calls(base, item, most) for item in others or [base]]
    if detail is not Detail.SHORT:
        tables += [_hooks(base, item, most) for item in others]
    figures = (plots.of_calls(base, others),) if others and detail is Detail.FULL else ()
    return Section(
        "Where from", tables=tuple(item for item in tables if item.rows), figures=figures
    )


def _modules(measured: Sequence[Measured]) -> Table:
    names = sorted({name for item in measured for name in item.modules})
    setups = (Column(item.place.setup, item.place.setup) for item in measured)
    columns = (Column("module", "module", Kind.NAME), *setups)
    rows: list[tuple[Value, ...]] = [
        (name, *(round(item.modules.get(name, 0.0)) for item in measured)) for name in names
    ]
    return Table("modules", "Kernel instructions inside each module's code", columns, tuple(rows))


def _calls(base: Measured, item: Measured, most: int | None) -> Table:
    """Show what each system call takes under a setup, and what that adds, by whose code it is."""
    rows = added_by_call(base, item)
    alone = item is base
    of = sorted(
        {name for row in rows for name in row.modules},
        key=lambda name: (-sum(abs(row.modules.get(name, 0.0)) for row in rows), name),
    )
    shown = [name for name in of if any(_inside(name, row) for row in rows)]
    shown = shown[: _MOST_MODULES if most else None]
    fields = (
        named("call", "name", "system call"),
        Field("calls", "calls", lambda row: _rounded(row.cost.calls or None, 1)),
        Field("errors", "errors", lambda row: _rounded(row.cost.errors, 1)),
        Field("each_insns", "a call", lambda row: _rounded(row.cost.each_insns)),
        *(_ALL if alone else _ADDED),
        *(Field(f"in_{name}", f"in {name}", partial(_inside, name), Kind.CHANGE) for name in shown),
    )
    *calls, outside = rows
    others = calls[most:] if most else []
    listed = calls[: len(calls) - len(others)]
    rest = [together(f"{len(others)} others", others)] * bool(others)
    setup, over = item.place.setup, base.place.setup
    what = "" if alone else f", and what that adds over {over}"
    more = (_CALLS_COVER, *_left(len(calls), most))
    title = f"{setup}: kernel instructions of each system call{what}"
    return tabled(f"calls-{setup}", title, fields, (*listed, *rest, outside), more=more)


_ALL = (Field("insns", "all", lambda row: round(row.cost.insns)),)
_ADDED = (
    Field("each_added_insns", "added a call", lambda row: _rounded(row.each_insns), Kind.CHANGE),
    Field("added_insns", "added", lambda row: round(row.insns), Kind.CHANGE),
)


def _inside(module: str, row: Added) -> int:
    return round(row.modules.get(module, 0.0))


def _rounded(value: float | None, digits: int | None = None) -> float | None:
    return None if value is None else round(value, digits)


def _hooks(base: Measured, item: Measured, most: int | None) -> Table:
    nothing = (0.0, 0.0)
    added = {
        name: insns - base.hooks.get(name, nothing)[1] for name, (_, insns) in item.hooks.items()
    }
    names = sorted(added, key=lambda name: (-abs(added[name]), name))
    columns = (
        Column("hook", "hook", Kind.NAME),
        Column("calls", "calls"),
        Column("added_insns", "instructions added", Kind.CHANGE),
    )
    rows: list[tuple[Value, ...]] = [
        (name, round(item.hooks[name][0], 1), round(added[name])) for name in names[:most]
    ]
    rest = math.fsum(added[name] for name in names[len(rows) :])
    total = item.kernel_insns - base.kernel_insns
    rows += [(f"{len(names) - len(rows)} others", None, round(rest))] * (len(rows) < len(names))
    rows.append(("outside of hooks", None, round(total - math.fsum(added.values()))))
    setup = item.place.setup
    title = f"{setup}: what each hook adds over {base.place.setup}"
    return Table(f"hooks-{setup}", title, columns, tuple(rows), more=_left(len(names), most))


def _left(known: int, most: int | None) -> tuple[str, ...]:
    return (f"{known - most} more: --attribute, or report --all.",) if most and known > most else ()


def _said(outputs: Sequence[tuple[str, Output]], detail: Detail) -> Section:
    """Show what the command said; once, where it said the same under several setups."""
    items = []
    for output, setups in grouped((output, setup) for setup, output in outputs).items():
        lines = [printable(line)[:200] for line in output.text.split("\n")]
        lines = lines[:-1] if lines[-1:] == [""] else lines
        most = _MOST.get(detail)
        shown = lines[:most]
        left = f"; {many(len(lines) - len(shown), 'line')} not shown" * (len(lines) > len(shown))
        status = f"exit status {output.status}" if output.status else "it did not exit"
        head = f"{', '.join(setups)}: {status}, {count(output.bytes)} bytes of output{left}"
        items.append(Item(head, tuple(shown)))
    return Section("Output", items=tuple(items))


def _data(found: Commands, run: RunData) -> dict[str, Any]:
    manifest = run.manifest
    return {
        "command": vars(found.command),
        "estimates": [
            ESTIMATE.entry(item, instrument=manifest.instrument) for item in found.estimates
        ],
        "comparisons": [
            COMPARISON.entry(item, instrument=manifest.instrument, margin=manifest.margin)
            for item in found.comparisons
        ],
        "setups": [
            {
                "place": vars(item.place),
                "kernel_insns": list(item.kernel),
                "user_insns": list(item.user),
                "modules_insns": dict(item.modules),
                "syscalls": {name: cost.calls for name, cost in item.syscalls.items()},
                "by_syscall": {
                    name: {
                        "calls": cost.calls,
                        "errors": cost.errors,
                        "kernel_insns": cost.insns,
                        "modules_insns": dict(cost.modules),
                    }
                    for name, cost in item.syscalls.items()
                },
                "hooks": {name: list(pair) for name, pair in item.hooks.items()},
                "output": vars(item.output),
            }
            for item in found.measured
        ],
    }
