# SPDX-License-Identifier: GPL-2.0-or-later
"""Which hooks and functions the numbers of claims come from that do not hold; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from lsmeter.catalogue.workloads import is_workload
from lsmeter.core.groups import grouped
from lsmeter.core.model import Place
from lsmeter.measure.tasks.count import Count
from lsmeter.questions.attribution.account import account
from lsmeter.questions.attribution.cost import FunctionChange
from lsmeter.questions.attribution.explain import Explanation
from lsmeter.questions.attribution.load import AttributedCell
from lsmeter.questions.reproduce.facts import ALL
from lsmeter.questions.reproduce.judge import Judged, Verdict
from lsmeter.questions.reproduce.parts import Part
from lsmeter.questions.reproduce.quantities import Source
from lsmeter.questions.workload.figures import KERNEL

_MOST_HOOKS = 3
_MOST_SOURCES = 4  # of a claim: the two numbers of an order, each of up to two rows
_LEAST_INSNS = 0.5


def explained_sources(item: Judged) -> list[Source]:
    """Return the comparisons of system calls that a claim which does not hold was decided by."""
    if item.verdict is not Verdict.FAILS:
        return []
    found = (of for of in _of_instructions(item) if of.baseline)
    return [of for of in found if not is_workload(of.tested.suite)][:_MOST_SOURCES]


def _of_instructions(item: Judged) -> list[Source]:
    """Return the rows that decided, each once; hooks do not explain what is no kernel's figure."""
    sources = item.decided.of if item.decided else ()
    found = (of for of in sources if of.of in {"", KERNEL, ALL})
    return [*dict.fromkeys(of.row for of in found)]


def plan_attribution(judged: Iterable[Judged]) -> Iterator[dict[str, Any]]:
    """Yield the experiments whose call trees explain the claims that do not hold."""
    sources = dict.fromkeys(of for item in judged for of in explained_sources(item))
    pairs = ((_beside(of), of) for of in sources)
    for (_, kernels, filesystem, user), found in grouped(pairs).items():
        setups = dict.fromkeys(
            place.setup for of in found for place in (of.baseline, of.tested) if place
        )
        yield {
            "title": "Where the cost of claims that do not hold comes from",
            "kernels": list(kernels),
            "setups": list(setups),
            "baseline": next(iter(setups)),
            "suites": sorted({of.tested.suite for of in found}),
            "benchmarks": sorted({of.benchmark for of in found}),
            "filesystems": [filesystem],
            "users": [user],
            "task": "attribute",
            "boots": 1,
            "sampling": {"whole_ppm": 0},
        }


def _beside(of: Source) -> tuple[str, tuple[str, ...], str, str]:
    kernels = dict.fromkeys(place.kernel for place in (of.baseline, of.tested) if place)
    # Setups of one baseline only: two of them can exclude each other's modules.
    base = of.baseline.setup if of.baseline else ""
    return base, tuple(kernels), of.tested.filesystem, of.tested.user


def explain_claims(
    judged: Sequence[Judged], cells: Iterable[AttributedCell], parts: Mapping[str, Part]
) -> tuple[Judged, ...]:
    """Return the claims with their causes; of one that does not hold without any, why it has none.

    Of system calls both sides of a comparison have to be attributed; a workload's boots say
    themselves what its hooks execute. Of what is no comparison hooks are counted.
    """
    known = grouped((item.cell.place, item) for item in cells)  # a place can be in several runs

    def explained(item: Judged) -> Judged:
        found = (*_causes(item, known), *_of_workloads(item, parts), *_counted(item, parts))
        return replace(item, causes=tuple(dict.fromkeys(found)) or (_unexplained(item),))

    return tuple(explained(item) if item.verdict is Verdict.FAILS else item for item in judged)


def _unexplained(item: Judged) -> str:
    """Say why no hook is named."""
    sources = _of_instructions(item)
    if not sources:
        return "no hook is named: what decided is no cost of a row"
    if not any(of.baseline for of in sources):
        return "no hook is named: what decided is no overhead of a setup, and no hooks were counted"
    return "no hook is named: no call tree of both sides"


def _counted(item: Judged, parts: Mapping[str, Part]) -> Iterator[str]:
    """Yield how often hooks run in the operations that decided, where no two setups did."""
    sources = _of_instructions(item)
    if any(of.baseline for of in sources):
        return
    for of in sources[:_MOST_SOURCES]:
        if runs := _hook_runs(parts, of):
            setup, counts = runs
            said = ", ".join(f"{count.name} {count.runs}" for count in counts[:_MOST_HOOKS])
            yield f"{of.benchmark} {setup}: runs of hooks in a call: {said or 'none'}"


def _hook_runs(parts: Mapping[str, Part], of: Source) -> tuple[str, Sequence[Count]] | None:
    """Return the hooks that a benchmark runs, under another setup or user where there is no more.

    Of a kernel's setups each runs the hooks that its modules have; who calls does not matter.
    """
    found = [
        (place, part.counts.of(place, benchmark))
        for part in parts.values()
        for place, benchmark in part.counts.benchmarks
        if f"{place.suite}/{benchmark.id}" == of.benchmark
        and (place.kernel, place.filesystem) == (of.tested.kernel, of.tested.filesystem)
    ]
    found.sort(key=lambda pair: pair[0].setup != of.tested.setup)
    return (found[0][0].setup, found[0][1]) if found else None


def _of_workloads(item: Judged, parts: Mapping[str, Part]) -> Iterator[str]:
    """Yield the hooks whose instructions in a unit of a workload changed most."""
    found = _of_instructions(item)
    sources = [of for of in found if of.baseline and is_workload(of.tested.suite)]
    for of in sources[:_MOST_SOURCES]:
        before, after = (_in_hooks(parts, of, place) for place in (of.baseline, of.tested))
        changes = {hook: after.get(hook, 0.0) - before.get(hook, 0.0) for hook in before | after}
        most = sorted(changes.items(), key=lambda change: -abs(change[1]))[:_MOST_HOOKS]
        said = [f"{hook} {insns:+,.0f}" for hook, insns in most if abs(insns) > _LEAST_INSNS]
        if said and of.baseline:
            where = f"{of.benchmark} {of.tested.setup} over {of.baseline.setup}"
            yield f"{where}: instructions of a unit in hooks: {', '.join(said)}"


def _in_hooks(parts: Mapping[str, Part], of: Source, place: Place | None) -> dict[str, float]:
    """Return the mean instructions of a unit in each hook; empty where they were not counted."""
    for item in parts[of.part].workloads.measured if of.part in parts else ():
        if item.place == place and f"{item.place.suite}/{item.benchmark.id}" == of.benchmark:
            return item.in_hooks(insns=True)
    return {}


def _causes(item: Judged, known: Mapping[Place, Sequence[AttributedCell]]) -> Iterator[str]:
    sources = explained_sources(item)
    several = len({of.tested.kernel for of in sources}) > 1
    for of in sources:
        sides = (known.get(place, ()) if place else () for place in (of.baseline, of.tested))
        name = of.benchmark.partition("/")[2]
        for base, tested in product(*sides):
            if found := account(base, tested).typical.benchmarks.get(name):
                where = f"{of.benchmark} {of.tested.setup} over {base.cell.place.setup}"
                on = f" on {of.tested.kernel}" if several else ""
                yield f"{where}{on}: {_told(found)}"
                break


def _name(change: FunctionChange) -> str:
    """Name a function; what has no symbol is written in brackets."""
    bare = change.function.startswith("[")
    return "code without a symbol, as BPF programs are" if bare else change.function


def _most(functions: Iterable[FunctionChange]) -> str:
    """Name in brackets the function that changed most, "" where none did."""
    most = max(functions, key=lambda one: abs(one.difference_insns), default=None)
    return f" (most in {_name(most)} {most.difference_insns:+,.0f})" if most else ""


def _told(found: Explanation) -> str:
    """Name the hooks that changed most, each with the function of it that did, and the rest."""
    if not found.difference_insns:
        return "nothing is added: both execute the same instructions"
    hooks = sorted(found.hooks, key=lambda hook: -abs(hook.difference_insns))
    said = [
        f"{hook.hook} {hook.difference_insns:+,.0f}{_most(hook.functions)}"
        for hook in hooks[:_MOST_HOOKS]
        if abs(hook.difference_insns) > _LEAST_INSNS
    ]
    outside = found.difference_insns - sum(hook.difference_insns for hook in found.hooks)
    if abs(outside) > _LEAST_INSNS:
        why = "; ".join(f"{cause.words} {cause.insns:+,.0f}" for cause in found.causes)
        said.append(
            f"outside of hooks {outside:+,.0f}" + (f" ({why})" if why else _most(found.outside))
        )
    return f"{found.difference_insns:+,.0f} insns: " + (", ".join(said) or "no function changed")
