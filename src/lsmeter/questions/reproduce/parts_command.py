# SPDX-License-Identifier: GPL-2.0-or-later
"""The runs of a study: kernels built, parts measured one after the other, claims explained."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsmeter.cli.console import SCREEN
from lsmeter.cli.live import LiveTasks, clock
from lsmeter.cli.measure import foretell, measure
from lsmeter.core.errors import ExitCode, LsmeterError, UsageError
from lsmeter.core.model.arch import arch_of_host
from lsmeter.measure.experiment.options import Experiment, build_experiment, merge
from lsmeter.measure.results.directory import MANIFEST_FILE, OtherRunError, read_run
from lsmeter.questions.reproduce.causes import explain_claims, plan_attribution
from lsmeter.questions.reproduce.checks import check_rules, check_shown
from lsmeter.questions.reproduce.figures import Reproduced, reproduced
from lsmeter.questions.reproduce.judge import Judged, Verdict, judge, known_facts
from lsmeter.questions.reproduce.parts import Part
from lsmeter.questions.reproduce.rules import Rule
from lsmeter.tables.values import many

if TYPE_CHECKING:
    from lsmeter.catalogue.studies.study import Claim, Study
    from lsmeter.questions.reproduce.options_command import ReproduceOptions

_BUILT = re.compile(r"built:(?P<series>\d+\.\d+)-(?P<config>[a-z][a-z-]*)")
_LEFT_OUT = "--quick leaves it out"
_NAMED = re.compile(r"[a-z]+:(?P<series>\d+\.\d+)\b")


class _NotMeasuredError(LsmeterError):
    """A part has no run yet."""

    exit_code = ExitCode.INCOMPLETE


@dataclass(frozen=True)
class Plan:
    """What of a study is measured: its experiments by part, and the claims that need them."""

    study: Study
    experiments: Mapping[str, Experiment]
    claims: Sequence[str]
    home: Path
    rules: Mapping[str, Rule]  # by claim
    shown: Mapping[str, Rule]  # of tables and plots
    left_out: Sequence[str] = ()  # parts, by --quick

    @classmethod
    def of(cls, study: Study, options: ReproduceOptions, claims: Sequence[str]) -> Plan:
        """Check all files of a study before anything is measured, and choose what is."""
        rules, shown = check_rules(study), check_shown(study)
        chosen = [item for item in study.claims if not claims or item.id in claims]
        wanted = set(_needed(study, chosen)) if claims else set(study.parts)
        left_out = sorted(study.left_out & wanted) if options.quick else []
        made = {}
        for name, keys in study.parts.items():
            if name in left_out:
                continue
            more = dict(study.quick[name]) if options.quick else {}
            if options.kernel:  # named ones are measured, also where a smaller size has others
                more.pop("kernels", None)
            where = f"{study.home / name}.toml"
            found = build_experiment(merge(dict(keys), more), where=where)
            series = options.kernel
            # What has no series by its name is measured in any case.
            kernels = [k for k in found.kernels if not series or _series(k) in {k, *series}]
            if name in wanted and kernels:
                made[name] = found.model_copy(update={"kernels": kernels})
        if not made and not left_out and any(item.rule for item in chosen):
            named = ", ".join(options.kernel or ())
            raise UsageError(f"--kernel: no part of {study.name} has a kernel of {named}")
        home = options.run_dir or Path("runs") / "reproduce"
        return cls(study, made, claims, home / study.name, rules, shown, left_out)


def _needed(study: Study, claims: Sequence[Claim]) -> Iterator[str]:
    """Yield the parts that rules read: their own, those named, and those of other suites."""
    for claim in claims:
        yield claim.part
        yield from re.findall(r"part=['\"]([a-z0-9.-]+)", claim.rule)
        lists = (
            item
            for name, items in study.lists.items()
            for item in items
            if re.search(rf"\b{name}\b", claim.rule)
        )
        suites = {word.partition("/")[0] for word in lists if "/" in word}
        suites |= set(re.findall(r"['\"]([a-z0-9-]+)/", claim.rule))
        suites -= set(study.parts.get(claim.part, {}).get("suites", ["file"]))
        yield from (
            name for name, part in study.parts.items() if suites & set(part.get("suites", ["file"]))
        )


def say_left_out(study: Study, claim: Claim, why: str) -> str:
    """Say what of a claim's parts a smaller reproduction leaves out, of what a reason names.

    Of a claim whose places were not measured why is empty: then of what the claim itself names.
    """
    for part in dict.fromkeys(_needed(study, [claim])):
        whole, less = study.parts[part], study.quick[part]
        for key in ("kernels", "filesystems", "users", "setups"):
            kept = less.get(key, whole.get(key, []))
            gone = [_series(item) for item in whole.get(key, ()) if item not in kept]
            named = set(getattr(claim, key, ())) if not why else set(why.split())
            if lost := [word for word in dict.fromkeys(gone) if word in named]:
                return f"--quick leaves {', '.join(lost)} out of part {part}"
        row = why.partition(":")[0]
        kept = [*less.get("benchmarks", ("*",))]
        names = (row, row.partition("/")[2])
        mine = row.partition("/")[0] in whole.get("suites", ["file"])
        if mine and not any(fnmatch.fnmatchcase(name, item) for name in names for item in kept):
            return f"--quick leaves {row} out of part {part}"
    return ""


def say_places_left_out(study: Study, claim: Claim, *, of_kernels: bool = True) -> str:
    """Say at which places of a claim's own part a smaller reproduction does not look.

    of_kernels: kernels too, which --quick leaves alone where they are named.
    """
    whole, less = study.parts[claim.part], study.quick[claim.part]
    lost: list[str] = []
    for key in ("kernels", "filesystems", "users")[not of_kernels :]:
        kept = {_series(item) for item in less.get(key, whole.get(key, ()))}
        gone = dict.fromkeys(_series(item) for item in whole.get(key, ()))
        meant = getattr(claim, key) or gone
        lost += [word for word in gone if word in meant and word not in kept]
    return f"--quick leaves {', '.join(lost)} out of part {claim.part}" if lost else ""


def _series(kernel: str) -> str:
    """Return the series of a kernel by its name; all else stays as it is."""
    found = _NAMED.match(kernel)
    return found["series"] if found else kernel


def with_size(study: Study, item: Judged, *, of_kernels: bool = True) -> Judged:
    """Return a claim with what the smaller size left out of it.

    Of one that holds these are places, of one whose rows are missing what would have had them.
    """
    if item.verdict is Verdict.HOLDS:
        return replace(item, why=say_places_left_out(study, item.claim, of_kernels=of_kernels))
    compared = item.decided is not None and item.decided.text
    if item.verdict is not Verdict.OPEN or compared or not item.claim.rule:
        return item
    said = say_left_out(study, item.claim, item.why if item.found else "")
    return replace(item, why=f"{item.why}; {said}") if said else item


def foretell_studies(plans: Sequence[Plan], options: ReproduceOptions) -> None:
    """Say what the parts of studies are, and how long they would take; what they share once."""
    SCREEN.say("boots that attribute what does not hold are known only then, and not in the sum")
    counted = set[str]()
    lengths_s = [_foretell_parts(plan, options, counted) for plan in plans]
    if len(plans) > 1:
        known_s = sum(length_s for length_s, _ in lengths_s)
        unknown = sum(count for _, count in lengths_s)
        SCREEN.say(f"{len(plans)} studies: {_describe_length(known_s, unknown)}", style="bold")


def _describe_length(known_s: float, unknown: int) -> str:
    lacking = f"; not known: {many(unknown, 'part')}" if unknown else ""
    return f"in all about {clock(known_s)}{lacking}"


def _foretell_parts(plan: Plan, options: ReproduceOptions, counted: set[str]) -> tuple[float, int]:
    """Return the sum in seconds, and of how many parts the length is not known."""
    for name in plan.left_out:
        SCREEN.say(f"{plan.study.name}: {name}: {_LEFT_OUT}")
    known = list[float]()
    for name, experiment in plan.experiments.items():
        SCREEN.say(f"{plan.study.name}: {name}: {experiment.title}", style="bold")
        length_s = _foretold(name, experiment, options, counted)
        known += [] if length_s is None else [length_s]
    unknown = len(plan.experiments) - len(known)
    SCREEN.say(f"{plan.study.name}: {_describe_length(sum(known), unknown)}", style="bold")
    return sum(known), unknown


def _foretold(
    name: str, experiment: Experiment, options: ReproduceOptions, counted: set[str]
) -> float | None:
    from lsmeter.sources.kernels.build.builder import foresee_kernel

    recipes = {kernel: _recipe(kernel) for kernel in experiment.kernels}
    try:
        unbuilt = {
            kernel: foresee_kernel(kernel, [recipe[1]], arch_of_host())
            for kernel, recipe in recipes.items()
            if recipe is not None
        }
        return foretell([experiment], options, unbuilt, counted)
    except LsmeterError as error:
        _say_failed(name, error)
        return None


def reproduce_study(plan: Plan, options: ReproduceOptions) -> tuple[Reproduced, ExitCode]:
    """Measure the parts of a study, and judge its claims."""
    study = plan.study
    parts, failed, worst = _measure_parts(plan, options)
    if worst is ExitCode.INTERRUPTED:
        return Reproduced(study, parts, failed, (), options.quick), worst
    read = cache(lambda series: _read_source(study, series))
    known = known_facts(study, parts, read)
    judged = judge(study, plan.rules, known, failed, plan.claims)
    if options.quick:
        by_quick = not options.kernel
        judged = tuple(with_size(study, item, of_kernels=by_quick) for item in judged)
    judged, code = _explained(plan, judged, parts, options)
    found = Reproduced(study, parts, failed, judged, options.quick)
    found = reproduced(found, known, plan.shown, whole=not plan.claims)
    if worst is ExitCode.OK and found.incomplete:
        worst = ExitCode.INCOMPLETE
    return found, code if code is ExitCode.INTERRUPTED else worst


def _measure_parts(
    plan: Plan, options: ReproduceOptions
) -> tuple[dict[str, Part], dict[str, str], ExitCode]:
    """Measure each part into its run directory; one that fails, and why, leaves the others."""
    parts, failed = dict[str, Part](), dict.fromkeys(plan.left_out, _LEFT_OUT)
    worst = ExitCode.OK
    for number, (name, experiment) in enumerate(plan.experiments.items(), 1):
        place = f"part {number} of {len(plan.experiments)}"
        SCREEN.say(f"{plan.study.name}: {place}: {name}: {experiment.title}", style="bold")
        try:
            path, code = _run(plan, name, experiment, options)
            if code is ExitCode.INTERRUPTED:
                return parts, failed, code
            parts[name] = Part(name, read_run(path))
        except LsmeterError as error:
            failed[name], code = error.title, error.exit_code
            _say_failed(name, error)
        worst = code if worst is ExitCode.OK else worst
    return parts, failed, worst


def _run(
    plan: Plan, name: str, experiment: Experiment, options: ReproduceOptions
) -> tuple[Path, ExitCode]:
    """Measure an experiment into its run directory, or name that of what was measured before.

    Kernels that are not there yet are built first.
    """
    where = plan.home / (f"{name}-quick" if options.quick else name)
    if options.measured:
        if not (where / MANIFEST_FILE).exists():
            raise _NotMeasuredError("not measured yet")
        return where, ExitCode.OK
    for kernel in experiment.kernels:
        _build(kernel)
    where.parent.mkdir(parents=True, exist_ok=True)
    into = replace(options, run_dir=where)
    try:
        return measure([experiment], name, into, announce=False, resume=options.run_dir)
    except OtherRunError:  # of an earlier version, whose boots are not these
        names = (where.with_name(f"{where.name}.{number}") for number in count(1))
        aside = next(name for name in names if not name.exists())
        where.rename(aside)
        SCREEN.say(f"{name}: {where} held another run; it is {aside.name} now", style="yellow")
    return measure([experiment], name, into, announce=False, resume=options.run_dir)


def _say_failed(part: str, error: LsmeterError) -> None:
    SCREEN.say(f"{part}: {error.title}; {error.hint}".rstrip("; "), style="yellow")


def _recipe(kernel: str) -> tuple[str, str] | None:
    """Return source and fragment of a kernel that is named after them, and not built yet."""
    from lsmeter.sources.kernels.sources.built import find_built

    found = _BUILT.fullmatch(kernel)
    if found is None or find_built(kernel.partition(":")[2]):
        return None
    return f"debian-source:{found['series']}", found["config"]


def _build(kernel: str) -> None:
    """Build a kernel that is not there yet."""
    if (recipe := _recipe(kernel)) is None:
        return
    from lsmeter.sources.kernels.build.builder import build_kernel
    from lsmeter.sources.kernels.resolve import Request

    with LiveTasks(SCREEN.err) as tasks:
        source, config = recipe
        build_kernel(source, [config], (), None, Request(progress=tasks))


def _explained(
    plan: Plan, found: tuple[Judged, ...], parts: Mapping[str, Part], options: ReproduceOptions
) -> tuple[tuple[Judged, ...], ExitCode]:
    """Find the hooks and functions of claims that do not hold, by boots that are attributed."""
    from lsmeter.questions.attribution.load import run_cells

    cells: list[Any] = []
    for number, keys in enumerate(plan_attribution(found), 1):
        experiment = build_experiment(keys, where="attribution")
        name = f"attribution-{number}"
        SCREEN.say(f"{plan.study.name}: {name}: {experiment.title}", style="bold")
        try:
            path, code = _run(plan, name, experiment, options)
            if code is ExitCode.INTERRUPTED:
                return found, code
            cells += run_cells(read_run(path))[0]
        except LsmeterError as error:
            SCREEN.say(f"{name}: {error.title}", style="yellow")
    return explain_claims(found, cells, parts), ExitCode.OK


def _read_source(study: Study, series: str) -> Mapping[str, Mapping[str, float | None]]:
    """Return counts of a kernel's source by module; "" is the framework."""
    from lsmeter.questions.hooks.command import analysed
    from lsmeter.questions.reproduce.quantities import MissingError

    if series not in study.sources:
        raise MissingError(f"no source of {series} is named in the study")
    try:
        found = analysed(study.sources[series], None, ())
    except LsmeterError as error:
        raise MissingError(f"source of {series}: {error.title}") from error
    classes = {name for module in found.modules for name in module.hooks_by_class}
    counts: dict[str, Mapping[str, float | None]] = {"": found.framework}
    for module in found.modules:
        counts[module.name] = {
            "hooks": module.hooks,
            "general_hooks": module.general_hooks,
            "lines": module.code_lines,
            "lines_per_hook": module.lines_per_hook,
            **{f"hooks:{name}": module.hooks_by_class.get(name, 0) for name in classes},
        }
    return counts
