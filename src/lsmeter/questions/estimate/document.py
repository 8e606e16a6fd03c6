# SPDX-License-Identifier: GPL-2.0-or-later
"""What a profile would cost, as a document; `lsmeter help estimate` describes its JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from lsmeter.core.groups import grouped
from lsmeter.measure.instruments import find_instrument
from lsmeter.questions.cells.frame import joined_settings
from lsmeter.questions.estimate.figures import CallCost, Estimated, SetupCost
from lsmeter.questions.estimate.known import EXACT, Known
from lsmeter.questions.estimate.profiles.model import Calls, Profile
from lsmeter.questions.estimate.profiles.proxies import proxies
from lsmeter.tables import numbers
from lsmeter.tables.fields import (
    Contract,
    Each,
    Field,
    Maybe,
    Row,
    fields_of,
    given,
    headed,
    named,
    tabled,
)
from lsmeter.tables.intervals import Bounded, intervals
from lsmeter.tables.model import Detail, Document, Item, Kind, Section, Shown, Table, Tone
from lsmeter.tables.values import change, count, first_of, many, percent

_FEW = 12  # calls in a table where there is little room
_RULE = (
    "A call costs what its benchmarks cost more than under the baseline: the median of them, in "
    "the proportion of what it is made on; at least and at most are all calls at their cheapest, "
    "and at their costliest benchmark, each at the end of its interval. Work that a call leaves "
    "for later (deferred) is left out. + is worse. `lsmeter help estimate` lists the proxy "
    "benchmarks of each call."
)
_NO_SECONDS = (
    "The profile does not say how long it was watched: costs are those of all its calls, in "
    "whatever time they were made. --seconds N makes them costs a second, --units N of a unit."
)
_CHECKED = (
    "Estimated from system calls, and counted in the workload: kernel instructions more than under "
    "the baseline. Error: estimated over counted, and their difference as a share of all kernel "
    "instructions."
)
_DOTS = "Dot: what the calls of the profile would cost more; line: at least to at most."
_NS_PER_S = 1e9

Found = Sequence[Estimated]


class _Check(NamedTuple):
    """What was estimated for a benchmark beside what was counted: both, and how far off it is."""

    benchmark: str
    of: SetupCost
    error: float | None
    points: float  # of all kernel instructions


def document(source: str, found: Found, detail: Detail) -> Document:
    """Return what `estimate` shows, for a format with this much room; found is not empty."""
    profile = found[0].profile
    sections = [*_checked(found, detail)]
    if not sections or len(found) == 1 or detail is not Detail.SHORT:
        for number, item in enumerate(found, 1):
            sections += _sections(item, detail, number, len(found))
    facts = [("Profile", _told(source, profile)), *_results(found)]
    notes = (_NO_SECONDS,) if profile.per[1] == "in all" else ()
    if len(sections) == 1 and detail is Detail.SHORT:
        notes = ("there is more: --all, or --benchmark, shows the calls of each",)
    return Document(
        CONTRACT.name,
        CONTRACT.version,
        "What it would cost",
        tuple(facts),
        (_RULE,),
        tuple(sections),
        notes,
        CONTRACT.row.entry({"profile": profile, "estimates": found}, file=source),
        answer=first_of(_answer(found)),
        picture=intervals("What it would cost", _DOTS, "cost", 0.0, _dots(found)),
    )


def _dots(found: Found) -> Iterator[Bounded]:
    for item in found:
        panel = f"{_workload(item)}{_word(item.known)} {item.profile.per[1]}, {item.known.kernel}"
        for setup in item.setups:
            if setup.value is not None:
                yield Bounded(panel, setup.setup, setup.value, setup.low, setup.high)


def _answer(found: Found) -> Iterator[str]:
    """Say what each setup would cost; of several benchmarks, how far that is from what they do."""
    errors = list(_errors(_checks(found))) if len(found) > 1 else []
    yield from errors
    for item in found if not errors else ():
        where = _workload(item) if len(found) > 1 else ""
        yield from (f"{where}{text}" for text in _sentences(item))


def _workload(item: Estimated) -> str:
    """Return how a line begins that is of a workload's benchmark."""
    return f"{item.counted.benchmark}, " if item.counted else ""


def _told(source: str, profile: Profile) -> str:
    said = f"{source}: {profile.source}"
    if profile.unit != "profile":
        return f"{said}, calls a {profile.unit}"
    tables = f", {many(profile.tables, 'table')} added up" if profile.tables > 1 else ""
    over = f" in {profile.seconds:,.3f} s" if profile.seconds else ""
    over += f", {count(profile.units)} units" if profile.units else ""
    kinds = many(len(profile.calls), "kind")
    return f"{said}; {count(round(profile.total))} calls of {kinds}{over}{tables}"


def _results(found: Found) -> Iterator[tuple[str, str]]:
    kinds = {item.known.kind: item.known for item in found}.values()
    several = len({known.conditions for known in kinds}) > 1
    for known in kinds:
        place = f"{known.kernel} ({known.release}), {known.filesystem}, user {known.user}"
        place += f", {joined_settings(known.conditions)}" if several else ""
        yield "Results", f"{', '.join(known.runs)}; {place}; over {known.baseline}"
        yield "Unit", _unit(known)


def _unit(known: Known) -> str:
    instrument = find_instrument(known.instrument)
    if not known.calibration:
        return f"{numbers.unit_word(known.unit)}, {instrument.name} instrument: {instrument.covers}"
    said = f"nanoseconds, predicted by calibration {known.calibration} from events"
    if known.error is None:
        return said
    median, most = (percent(part, sign=False) for part in known.error)
    return f"{said}; a difference is off by {median} of itself (median), {most} (90th percentile)"


def _word(known: Known) -> str:
    return "predicted ns" if known.calibration else known.unit


def _sections(item: Estimated, detail: Detail, number: int, of: int) -> Iterator[Section]:
    known, (_, per) = item.known, item.profile.per
    place = f"{known.kernel}, {known.filesystem}, user {known.user}, {_word(known)}"
    where = f": {_workload(item)}{place}" if of > 1 else ""
    key = "estimate" if number == 1 else f"estimate-{number}"
    yield Section(f"Cost {per}{where}", tables=(_table(item),), key=key)
    yield Section(
        f"Call by call{where}",
        tables=(*_calls(item, detail), *_uncovered(item)),
        items=tuple(Item(text) for text in (*_object_notes(item), *_covering(item))),
        key=f"{key}-calls",
    )


def _table(item: Estimated) -> Table:
    setups, per = item.setups, item.profile.per[1]
    lacking = set() if item.known.unit == "ns" and per == "a second" else {"cpu_share"}
    timed = any(setup.time_share is not None for setup in setups)
    lacking |= set() if timed else {"time_share"}
    fields = (
        named("setup"),
        Field("value", f"{_word(item.known)} {per}", lambda i: _whole(i.value), Kind.CHANGE),
        Field("low", "at least", lambda i: _whole(i.low), Kind.CHANGE),
        Field("high", "at most", lambda i: _whole(i.high), Kind.CHANGE),
        Field("cpu_share", "of a CPU", _of_cpu, Kind.PERCENT),
        Field("calls_share", "calls covered", kind=Kind.SHARE),
        Field("time_share", "time covered", kind=Kind.SHARE),
    )
    more = (f"Time: {item.profile.clock}.",) if timed else ()
    return tabled("setups", "", [f for f in fields if f.key not in lacking], setups, more=more)


def _of_cpu(setup: SetupCost) -> Shown | None:
    share = None if setup.value is None else setup.value / _NS_PER_S
    return None if share is None else Shown(share, f"{100 * share:+.2g} %")


def _whole(value: float | None) -> Shown | None:
    return None if value is None else Shown(value, _text(value))


def _text(value: float) -> str:
    return change(round(value, 0 if abs(value) >= 10 else 1) + 0.0)


def _sentences(item: Estimated) -> Iterator[str]:
    unit, per = numbers.unit_word(item.known.unit), item.profile.per[1]
    kernel = "kernel " if item.known.unit == "insns" else ""
    by = "predicted " if item.known.calibration else ""
    for setup in item.setups:
        if setup.value is None:
            yield f"{setup.setup}: nothing is known of any call of the profile."
            continue
        bounds = ", all proxy benchmarks of each call agree"
        if setup.low is not None and setup.high is not None:
            bounds = f" ({_text(setup.low)} to {_text(setup.high)})"
        said = "" if setup.share is None else f"{percent(setup.share)} of {setup.share_of}, "
        said += f"{_text(setup.value)} {by}{kernel}{unit} {per}{bounds}"
        if item.known.unit == "ns" and per == "a second":
            said += f", {100 * setup.value / _NS_PER_S:.2g} % of one processor's time"
        lacking = [call for call in item.calls if call.call.name in setup.uncovered[:3]]
        covers = f"; it covers {percent(setup.calls_share, sign=False)} of the calls"
        names = ", ".join(setup.uncovered[:3])
        rest = f" and {len(setup.uncovered) - 3} more" if len(setup.uncovered) > 3 else ""
        all_of = "all of " if any(call.part(setup.setup) for call in lacking) else ""
        yield f"{setup.setup}: {said}{covers}{f', not {all_of}{names}{rest}' if lacking else ''}."


def _covering(item: Estimated) -> Iterator[str]:
    """Name the one command that measures all proxy benchmarks of the profile."""
    table, known = proxies(), item.known
    names = (table.name(call.call.name) for call in item.calls)
    found = [table.of[name] for name in names if name in table.of]
    found += [table.of[one.within] for one in found if one.within]
    suites = sorted({suite for one in found for suite in one.suites})
    if suites:
        words = [f"--suite {name}" for name in suites] + [f"-s {name}" for name in known.costs]
        words += [f"-k {known.kernel}"] if not known.kernel.startswith("host") else []
        usual = {"--baseline": "capability", "--filesystem": "tmpfs", "--user": "root"}
        values = (known.baseline, known.filesystem, known.user)
        words += [f"{o} {v}" for (o, d), v in zip(usual.items(), values, strict=True) if v != d]
        words += [] if known.instrument == EXACT else [f"--instrument {known.instrument}"]
        yield f"All proxy benchmarks of this profile: lsmeter run {' '.join(words)}"


def _calls(item: Estimated, detail: Detail) -> Iterator[Table]:
    (factor, per), known = item.profile.per, item.known

    def most(call: CallCost) -> float:
        return max(abs(one.value) for one in call.costs.values()) * call.call.calls

    def cost_of(setup: str, call: CallCost) -> Shown | None:
        return _whole(call.costs[setup].value) if setup in call.costs else None

    fields = (
        named("call", "call.name"),
        Field("calls", f"calls {per}", lambda i: _number(i.call.calls * factor)),
        Field("share", "share", lambda i: i.call.calls / item.profile.total, Kind.SHARE),
        *(
            Field(f"{setup}_{known.unit}", setup, partial(cost_of, setup), Kind.CHANGE)
            for setup in known.costs
        ),
        Field("benchmarks", "proxy benchmarks", _benchmarks, Kind.PROSE),
    )
    covered = sorted((call for call in item.calls if call.costs), key=lambda call: -most(call))
    shown = covered if detail is not Detail.SHORT else covered[:_FEW]
    left = len(covered) - len(shown)
    more = (f"{many(left, 'more call')}, which cost less: --all, or --format csv.",) if left else ()
    title = f"{_word(known)} of one call more than under {known.baseline}"
    if covered:
        every = fields if detail is Detail.FULL else fields[:-1]
        yield tabled("calls", title, every, shown, more=more)


def _object_notes(item: Estimated) -> Iterator[str]:
    """Say on what calls were taken to be made: calls of the same shares together."""

    def shares(call: CallCost) -> str:
        ordered = sorted(call.on.items(), key=lambda pair: -pair[1])
        parts = (f"{kind} {percent(part, sign=False)}" for kind, part in ordered if part >= 0.0005)
        return ", ".join(parts)

    groups = grouped((shares(call), call.call.name) for call in item.calls if call.costs)
    groups.pop("", None)  # of one kind, or as asked
    if groups:
        told = "; ".join(f"{', '.join(names)}: {parts}" for parts, names in groups.items())
        yield f"Made on, as {item.told_by} (--on CALL=KIND says otherwise): {told}."


def _number(value: float) -> Shown:
    if 0 < value < 10 and not float(value).is_integer():
        return Shown(value, f"{value:.2f}")
    return Shown(value, count(round(value, 1 if value < 1000 else 0)))


def _benchmarks(call: CallCost) -> str:
    if call.within:
        return f"in the benchmarks of {call.within}"
    suites = grouped(call.benchmarks)
    return "; ".join(f"{suite}: {', '.join(names)}" for suite, names in suites.items())


def _uncovered(item: Estimated) -> Iterator[Table]:
    """Name every call that no result covers, under one setup at least."""
    (factor, per), time_s = item.profile.per, item.profile.time_s

    def calls(call: CallCost) -> float:
        return call.call.calls * (1 - min(map(call.part, item.known.costs)))

    def of_time(call: CallCost) -> float:
        return (call.call.time_s or 0.0) / (time_s or 1.0)

    fields = (
        named("call", "call.name"),
        Field("calls", f"calls {per}", lambda i: _number(calls(i) * factor)),
        Field("share", "share", lambda i: calls(i) / item.profile.total, Kind.SHARE),
        *([Field("time_share", "of the time", of_time, Kind.SHARE)] if time_s else []),
        Field("why", "why", kind=Kind.PROSE),
    )
    lacking = [call for call in item.calls if call.why]
    if lacking:
        yield tabled("uncovered", "Not covered", fields, lacking)


def _checked(found: Found, detail: Detail) -> Iterator[Section]:
    """Hold what was estimated against what was counted under the same load."""
    checks = _checks(found)
    if not checks:
        return
    bounds = detail in {Detail.FULL, Detail.DATA}
    fields = (
        named("setup", "of.setup"),
        named("benchmark"),
        Field("estimated_insns", "estimated", lambda i: _whole(i.of.value), Kind.CHANGE),
        Field("low_insns", "at least", lambda i: _whole(i.of.low), Kind.CHANGE),
        Field("high_insns", "at most", lambda i: _whole(i.of.high), Kind.CHANGE),
        Field("counted_insns", "counted", _counted, Kind.CHANGE),
        Field("error", "error", kind=Kind.PERCENT),
        Field("points", "of all", kind=Kind.PERCENT),
    )
    if bounds:
        table = tabled("checked", "", fields, checks, fixed=2)
    else:  # each setup is a heading above its benchmarks
        table = tabled("checked", "", (fields[1], fields[2], *fields[5:]), checks)
        table = headed(table, (item.of.setup for item in checks))
    unit = next(item.counted.unit for item in found if item.counted)
    errors = tuple(Item(text) for text in _errors(checks)) if len(found) == 1 else ()
    yield Section(f"Estimated and counted, a {unit}", (_CHECKED,), (table,), errors, "checked")


def _checks(found: Found) -> list[_Check]:
    """Return what was estimated beside what was counted, setup by setup."""
    checks = [
        _Check(
            counted.benchmark,
            of,
            of.value / of.counted - 1 if of.counted else None,
            (of.value - of.counted) / counted.baseline_insns,
        )
        for item in found
        if (counted := item.counted) is not None
        for of in item.setups
        if of.counted is not None and of.value is not None
    ]
    order = list(dict.fromkeys(item.of.setup for item in checks))
    return sorted(checks, key=lambda item: order.index(item.of.setup))


def _counted(item: _Check) -> Shown:
    added, low, high = item.of.counted or 0.0, item.of.low, item.of.high
    within = low is None or high is None or low <= added <= high
    return Shown(added, _text(added), Tone.PLAIN if within else Tone.WARNING)


def _errors(checks: Iterable[_Check]) -> Iterator[str]:
    """Say for each setup how far estimates are off."""
    for name, items in grouped((item.of.setup, item) for item in checks).items():
        known = [item.error for item in items if item.error is not None]
        off, points = (
            " to ".join(dict.fromkeys(percent(end(values)) for end in (min, max)))
            if values
            else "?"
            for values in (known, [item.points for item in items])
        )
        yield f"{name}: estimates are off by {off}; of all kernel instructions {points}."


def _unit_of(item: Estimated) -> str:
    per = item.profile.per[1]
    return "profile" if per == "in all" else per.removeprefix("a ")


_KNOWN = ("instrument", "unit", "kernel", "release", "filesystem", "user", "baseline", "runs")
_CALL = Row(
    (
        *fields_of(Calls, of="call."),
        Field("benchmarks", value=lambda i: [": ".join(x) for x in i.benchmarks], of=Each(str)),
        *fields_of(CallCost, "within", "costs", "failed", "why", "on"),
    )
)
_SETUP = Row(fields_of(SetupCost))
_ESTIMATE = Row(
    (
        *fields_of(Known, *_KNOWN, "calibration", of="known."),
        Field("error", value="known.error", of=Maybe(Each(float))),
        named("per", _unit_of),
        Field("workload", value=lambda i: i.counted and i.counted.workload, of=str | None),
        Field("benchmark", value=lambda i: i.counted and i.counted.benchmark, of=str | None),
        Field("baseline_insns", value=lambda i: i.counted and i.counted.baseline_insns),
        *(Field("setups", of=Each(_SETUP)), named("told_by")),
        Field("calls", of=Each(_CALL)),
    )
)
_PROFILE = Row(
    (
        *fields_of(Profile, "source", "calls", "clock", "seconds", "tables", "unit"),
        Field("errors_unknown", value=lambda item: sorted(item.errors_unknown), of=Each(str)),
        *(*fields_of(Profile, "made_on", "units"), given("file", str), Field("total")),
    )
)
CONTRACT = Contract(
    "lsmeter-estimate",
    1,
    Row((Field("profile", of=_PROFILE), Field("estimates", of=Each(_ESTIMATE)))),
)
