# SPDX-License-Identifier: GPL-2.0-or-later
"""What the documents of all runs have in common: facts, problems, notes; pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lsmeter.core.groups import grouped
from lsmeter.core.model import Benchmark, Place, Problem
from lsmeter.measure.instruments import find_instrument
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.results.manifest import Manifest
from lsmeter.tables import numbers
from lsmeter.tables.model import Document, Item, Section, Tone
from lsmeter.tables.values import many

_LOG_LINES = 10


def run_facts(run: RunData) -> tuple[tuple[str, str], ...]:
    """Return what every format says of a run: instrument, unit, conditions, kernels, versions."""
    manifest = run.manifest
    instrument = find_instrument(manifest.instrument)
    kernels = ", ".join(f"{kernel.name} ({kernel.release})" for kernel in manifest.kernels)
    conditions = joined_settings(settings_of(conditions_of(manifest)).items())
    return (
        ("instrument", f"{instrument.name}: {instrument.title}; {instrument.covers}"),
        ("kernels", kernels),
        *((("conditions", conditions),) if conditions else ()),
        ("made by", f"lsmeter {manifest.lsmeter_version}, {manifest.created}"),
    )


def conditions_of(manifest: Manifest) -> dict[str, object]:
    """Return the conditions of a run; its processors where architectures have their own."""
    usual = manifest.conditions
    cpus = dict.fromkeys((cell.conditions or usual).cpu for cell in manifest.cells)
    own = {"cpu": " or ".join(cpus)} if cpus and "cpu" in usual.said else {}
    return {**usual.said, **own}


def settings_of(found: Mapping[str, object]) -> dict[str, str]:
    """Return settings as the words that JSON has."""
    return {key: str(value).lower() for key, value in found.items()}


def joined_settings(found: Iterable[tuple[str, str]]) -> str:
    """Write settings on one line, but those that are empty: mitigations=off, memcg=on."""
    switched = {"false": "off", "true": "on"}
    return ", ".join(f"{key}={switched.get(word, word)}" for key, word in found if word)


def run_data(run: RunData) -> dict[str, Any]:
    """Return the same for programs."""
    manifest = run.manifest
    return {
        "title": manifest.title,
        "created": manifest.created,
        "lsmeter_version": manifest.lsmeter_version,
        "command": manifest.command,
        "instrument": manifest.instrument,
        "covers": find_instrument(manifest.instrument).covers,
        "conditions": conditions_of(manifest),
    }


def run_document(
    run: RunData,
    name: str,
    title: str,
    sections: tuple[Section, ...],
    problems: tuple[Problem, ...],
    data: dict[str, Any],
) -> Document:
    """Return the document of a run of one task; the problems stand below its sections."""
    notes = notes_of(run)
    said = {"problems": [vars(problem) for problem in problems], "notes": notes}
    return Document(
        name,
        1,
        title,
        facts=run_facts(run),
        sections=(*sections, *problem_section(problems)),
        notes=notes,
        data={**run_data(run), **data, **said},
    )


def placed(place: Place, benchmark: Benchmark) -> dict[str, Any]:
    """Return what a number is of, for programs."""
    named = {"benchmark": benchmark.operation, "params": dict(benchmark.params)}
    return {**vars(place), **named}


def notes_of(run: RunData) -> tuple[str, ...]:
    """Say how long each cell took, what was not measured, and which version reads the run."""
    word = find_instrument(run.manifest.instrument).words.replicate
    took = grouped((boot.cell_hash, boot.wall_s) for boot in run.boots)
    alike = grouped((len(walls_s), math.fsum(walls_s)) for walls_s in took.values())
    notes = [
        f"{many(len(each_s), 'cell')} of {many(boots, word)}, {math.fsum(each_s):,.1f} s in all"
        for boots, each_s in alike.items()
    ]
    return (*notes, *missing_note(run), *run.notes)


def missing_note(run: RunData) -> tuple[str, ...]:
    """Say how many boots a stopped run lacks."""
    if not run.missing:
        return ()
    lacking = f"{len(run.missing)} of {len(run.manifest.boots)} boots are missing"
    again = "the same command"
    if not find_instrument(run.manifest.instrument).reusable:
        again += " with its --run-dir"
    return (f"the run was stopped: {lacking}; {again} resumes it",)


def problem_section(problems: Sequence[Problem], *, full: bool = False) -> tuple[Section, ...]:
    """List problems, if there are any; those that differ in nothing but the benchmark are joined.

    So are, then, those that differ in nothing but the setup. A page has whole logs.
    """
    found: dict[Problem, list[str]] = {}
    for problem in problems:
        named = f"{problem.benchmark}: " if problem.benchmark else ""
        title = problem.title.replace(named, "", 1)
        names = found.setdefault(replace(problem, title=title, benchmark=""), [])
        names += [problem.benchmark] if problem.benchmark not in names else []
    joined: dict[tuple[Problem, frozenset[str]], list[tuple[Problem, list[str]]]] = {}
    for problem, names in found.items():
        title = problem.title.replace(f"{problem.setup} on ", " on ", 1)
        key = replace(problem, title=title, setup=""), frozenset(names)
        joined.setdefault(key, []).append((problem, names))
    items = tuple(_merge_problems(each, full=full) for each in joined.values())
    head = f"Problems ({len(problems)})"
    return (Section(head, items=items, key="problems"),) if items else ()


def _merge_problems(each: Sequence[tuple[Problem, list[str]]], *, full: bool) -> Item:
    problem, names = each[0]
    setups = ", ".join(item.setup for item, _ in each)
    title = problem.title.replace(f"{problem.setup} on ", f"{setups} on ", 1)
    place = [name for name in (problem.kernel, setups) if name not in title]
    of = ", ".join(filter(None, names))
    where = numbers.DOT.join(filter(None, (*place, problem.suite, of)))
    text = f"{title} ({where})" if where else title
    tail = problem.log_tail if full else problem.log_tail[-_LOG_LINES:]
    left = len(problem.log_tail) - len(tail)
    if left:
        tail = (f"({left} earlier lines: --format json)", *tail)
    return Item(f"{text}: {problem.detail}" if problem.detail else text, tail, Tone.WORSE)
