# SPDX-License-Identifier: GPL-2.0-or-later
"""What setups cost a command, as a document: a sentence first, then where it comes from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from lsmeter.core.groups import grouped
from lsmeter.core.model.conclusion import Comparison, Verdict
from lsmeter.core.printable import printable
from lsmeter.measure.results.directory import RunData
from lsmeter.questions.cells.frame import run_document
from lsmeter.questions.cells.results import measured_results
from lsmeter.questions.cells.rows import COMPARISON, ESTIMATE
from lsmeter.questions.exec.figures import Commands, Compared, Measured, Output, find_commands
from lsmeter.tables import numbers
from lsmeter.tables.fields import flat_table
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
    data = _data(found, run)
    if detail is Detail.DATA:
        rows = [COMPARISON.flat(item) for item in data["comparisons"]]
        sections = [Section("", tables=(flat_table("comparisons", rows),))]
    title = f"What security modules cost: {command.shown}"
    made = run_document(run, NAME, title, tuple(sections), found.problems, data)
    said: dict[str, Any] = {"lead": (_COVERS,), "answer": first_of(_answer(found, baseline))}
    if detail is Detail.DATA:
        of = (run.manifest.kernels, run.manifest.created, "insns")
        shown = (found.estimates, found.comparisons, found.problems)
        said["results"] = measured_results(*shown, of)
    return Document(**{**vars(made), **said})


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
    if kernel.verdict is Verdict.INCONCLUSIVE:
        one = kernel.mean is not None and not math.isfinite(kernel.mean.low)
        why = "one boot does not show how far boots differ" if one else kernel.cause
        return f"is not resolved: {counts}; {why}; more --boots."
    of_all = f", {_percent(item.all)} to all of it" if item.all else ""
    within = " (equivalent)" if kernel.verdict is Verdict.EQUIVALENT else ""
    adds = f"adds {_percent(kernel)} to what the kernel does for this command"
    return f"{adds}{of_all}{within}: {counts}."


def _percent(item: Comparison) -> str:
    return f"{numbers.overhead(item.overhead, item.verdict)} %"


def _totals(
    measured: Sequence[Measured], compared: Sequence[Compared], baseline: str, where: str
) -> Section:
    by_setup = {item.kernel.place.setup: item for item in compared}
    columns = (
        Column("setup", "setup", Kind.NAME),
        Column("kernel_insns", "kernel"),
        Column("kernel_overhead", "overhead, %", Kind.PERCENT),
        Column("all_overhead", "of all, %", Kind.PERCENT),
        Column("user_insns", "user"),
        Column("user_difference", "differs", Kind.CHANGE),
        Column("boots", "boots"),
    )
    rows: list[tuple[Value, ...]] = []
    old = next((item.kernel.decided.baseline_value for item in compared), None)
    for item in measured:
        against = by_setup.get(item.place.setup)
        decided = against.kernel.decided.value if against else old
        user = against.user.decided.difference if against and against.user else None
        rows.append(
            (
                item.place.setup,
                round(item.mean(item.kernel) if decided is None else decided),
                _cell(against.kernel if against else None),
                _cell(against.all if against else None),
                round(item.mean(item.user)),
                user,
                len(item.kernel),
            )
        )
    marks = ", ".join(f"{mark} {word.value}" for word, mark in numbers.VERDICT_MARKS.items())
    more = (f"{marks}; overheads over {baseline}.",)
    table = Table("totals", "Instructions", columns, tuple(rows), more=more)
    return Section(where, tables=(table,), items=tuple(_controls(measured, compared)))


def _cell(item: Comparison | None) -> Value:
    if item is None:
        return None
    mark = numbers.VERDICT_MARKS[item.verdict]
    text = f"{numbers.overhead(item.overhead, item.verdict)} {mark}"
    return Shown(item.overhead, text, numbers.TONES[item.verdict])


def _controls(measured: Sequence[Measured], compared: Sequence[Compared]) -> Iterator[Item]:
    """Say whether the command itself did the same, and made the same calls."""
    moved = [item.user for item in compared if item.user and item.user.decided.difference]
    if compared and not moved:
        yield Item("Control: user instructions are equal in all setups.", tone=Tone.QUIET)
    for item in moved:
        share = abs(item.decided.overhead)
        known = f"{100 * share:.3f} %" if math.isfinite(share) else "of 0"
        yield Item(
            f"Control: under {item.place.setup} the command itself executes "
            f"{change(round(item.decided.difference))} user instructions ({known}): it does "
            "something else there, or meets page faults in other places.",
            tone=Tone.WARNING,
        )
    base = measured[0]
    for other in measured[1:]:
        names = sorted(base.syscalls.keys() | other.syscalls.keys())
        each = [
            f"{name} {base.syscalls.get(name, 0):g} {numbers.ARROW} {other.syscalls.get(name, 0):g}"
            for name in names
            if base.syscalls.get(name, 0) != other.syscalls.get(name, 0)
        ]
        if each:
            text = f"System calls that {other.place.setup} makes otherwise than "
            yield Item(f"{text}{base.place.setup}: {some(each, 8)}.", tone=Tone.WARNING)


def _sources(measured: Sequence[Measured], baseline: str, detail: Detail) -> Section:
    most = _MOST.get(detail)
    tables = [_modules(measured), _calls(measured, most)]
    base = next((item for item in measured if item.place.setup == baseline), None)
    if base is not None:
        tables += [_hooks(base, item, most) for item in measured if item is not base]
    return Section("Where from", tables=tuple(table for table in tables if table.rows))


def _modules(measured: Sequence[Measured]) -> Table:
    names = sorted({name for item in measured for name in item.modules})
    columns = (Column("module", "module", Kind.NAME), *_setups(measured))
    rows: list[tuple[Value, ...]] = [
        (name, *(round(item.modules.get(name, 0.0)) for item in measured)) for name in names
    ]
    return Table("modules", "Kernel instructions inside each module's code", columns, tuple(rows))


def _calls(measured: Sequence[Measured], most: int | None) -> Table:
    made = {
        name: max(item.syscalls.get(name, 0) for item in measured)
        for item in measured
        for name in item.syscalls
    }
    names = sorted(made, key=lambda name: (-made[name], name))
    columns = (Column("call", "system call", Kind.NAME), *_setups(measured))
    rows: list[tuple[Value, ...]] = [
        (name, *(round(item.syscalls.get(name, 0.0), 1) for item in measured))
        for name in names[:most]
    ]
    return Table("calls", "Calls", columns, tuple(rows), more=_left(len(names), most))


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
    total = item.mean(item.kernel) - base.mean(base.kernel)
    rows += [(f"{len(names) - len(rows)} others", None, round(rest))] * (len(rows) < len(names))
    rows.append(("outside of hooks", None, round(total - math.fsum(added.values()))))
    setup = item.place.setup
    title = f"{setup}: what each hook adds over {base.place.setup}"
    return Table(f"hooks-{setup}", title, columns, tuple(rows), more=_left(len(names), most))


def _setups(measured: Sequence[Measured]) -> Iterator[Column]:
    return (Column(item.place.setup, item.place.setup) for item in measured)


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
                "syscalls": dict(item.syscalls),
                "hooks": {name: list(pair) for name, pair in item.hooks.items()},
                "output": vars(item.output),
            }
            for item in found.measured
        ],
    }
