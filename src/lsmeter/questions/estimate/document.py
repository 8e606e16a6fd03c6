# SPDX-License-Identifier: GPL-2.0-or-later
"""What a profile would cost, as a document; `lsmeter help estimate` describes its JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lsmeter.measure.instruments import find_instrument
from lsmeter.questions.estimate.figures import CallCost, Estimated, SetupCost
from lsmeter.questions.estimate.known import EXACT, Cost, Counted, Known
from lsmeter.questions.estimate.profiles.model import Profile
from lsmeter.questions.estimate.profiles.proxies import proxies
from lsmeter.tables import numbers
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
from lsmeter.tables.values import change, count, first_of, many, percent

NAME = "lsmeter-estimate"
VERSION = 1
_FEW = 12  # calls in a table where there is little room
_RULE = (
    "A call costs what its benchmarks cost more than under the baseline: the median of them, in "
    "the proportion of what it is made on; at least and at most are all calls at their cheapest, "
    "and at their costliest benchmark, each at the end of its interval. + is worse. `lsmeter help "
    "estimate` lists the proxy benchmarks of each call."
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
_NS_PER_S = 1e9


def document(
    source: str, found: Sequence[tuple[Estimated, Counted | None]], detail: Detail
) -> Document:
    """Return what `estimate` shows, for a format with this much room; found is not empty."""
    profile = found[0][0].profile
    sections = [*_checked(found, detail)]
    if not sections or len(found) == 1 or detail is not Detail.SHORT:
        for number, (item, counted) in enumerate(found, 1):
            sections += _sections(item, counted, detail, number, len(found))
    facts = [("Profile", _told(source, profile)), *_results(found)]
    notes = (_NO_SECONDS,) if _per(profile)[1] == "in all" else ()
    if len(sections) == 1 and detail is Detail.SHORT:
        notes = ("there is more: --all, or --benchmark, shows the calls of each",)
    data = {"profile": _profile_data(source, profile), "estimates": [_data(*a) for a in found]}
    return Document(
        NAME,
        VERSION,
        "What it would cost",
        tuple(facts),
        (_RULE,),
        tuple(sections),
        notes,
        data,
        answer=first_of(_answer(found)),
    )


def _answer(found: Sequence[tuple[Estimated, Counted | None]]) -> Iterator[str]:
    """Say what each setup would cost; of several benchmarks, how far that is from what they do."""
    errors = list(_errors(_checks(found))) if len(found) > 1 else []
    yield from errors
    for item, counted in found if not errors else ():
        named = f"{counted.benchmark}, " if counted and len(found) > 1 else ""
        yield from (f"{named}{text}" for text in _sentences(item, counted, *_per(item.profile)))


def _told(source: str, profile: Profile) -> str:
    said = f"{source}: {profile.source}"
    if profile.unit != "profile":
        return f"{said}, calls a {profile.unit}"
    tables = f", {many(profile.tables, 'table')} added up" if profile.tables > 1 else ""
    over = f" in {profile.seconds:,.3f} s" if profile.seconds else ""
    over += f", {count(profile.units)} units" if profile.units else ""
    kinds = many(len(profile.calls), "kind")
    return f"{said}; {count(round(profile.total))} calls of {kinds}{over}{tables}"


def _results(found: Sequence[tuple[Estimated, Counted | None]]) -> Iterator[tuple[str, str]]:
    for known in {item.known.kind: item.known for item, _ in found}.values():
        place = f"{known.kernel} ({known.release}), {known.filesystem}, user {known.user}"
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


def _per(profile: Profile) -> tuple[float, str]:
    """Return what all numbers are multiplied by, and what they are of then."""
    if profile.unit != "profile":
        return 1.0, f"a {profile.unit}"
    if profile.units:
        return 1 / profile.units, "a unit"
    return (1 / profile.seconds, "a second") if profile.seconds else (1.0, "in all")


def _word(known: Known) -> str:
    return "predicted ns" if known.calibration else known.unit


def _sections(
    item: Estimated, counted: Counted | None, detail: Detail, number: int, of: int
) -> Iterator[Section]:
    known, profile = item.known, item.profile
    factor, per = _per(profile)
    head = f"{_word(known)} {per}"
    named = f"{counted.benchmark}, " if counted else ""
    place = f"{known.kernel}, {known.filesystem}, user {known.user}, {_word(known)}"
    where = f": {named}{place}" if of > 1 else ""
    key = "estimate" if number == 1 else f"estimate-{number}"
    yield Section(
        f"Cost {per}{where}",
        tables=(_setups(item, head, factor),),
        key=key,
    )
    yield Section(
        f"Call by call{where}",
        tables=(*_calls(item, factor, per, detail), *_uncovered(item, factor, per)),
        items=tuple(Item(text) for text in (*_object_notes(item), *_covering(item))),
        key=f"{key}-calls",
    )


def _setups(item: Estimated, head: str, factor: float) -> Table:
    of_cpu = item.known.unit == "ns" and _per(item.profile)[1] == "a second"
    timed = any(setup.time_share is not None for setup in item.setups)
    columns = [
        Column("setup", "setup", Kind.NAME),
        Column("value", head, Kind.CHANGE),
        Column("low", "at least", Kind.CHANGE),
        Column("high", "at most", Kind.CHANGE),
        *([Column("cpu_share", "of a CPU", Kind.PERCENT)] if of_cpu else []),
        Column("calls_share", "calls covered", Kind.SHARE),
        *([Column("time_share", "time covered", Kind.SHARE)] if timed else []),
    ]
    rows: list[tuple[Value, ...]] = []
    for setup in item.setups:
        cost = setup.cost.times(factor) if setup.cost else None
        row: list[Value] = [setup.setup]
        row += [_whole(cost.value) if cost else None, *_bounds(cost)]
        row += [_of_cpu(cost.value) if cost else None] if of_cpu else []
        row += [setup.calls_share, *([setup.time_share] if timed else [])]
        rows.append(tuple(row))
    more = (f"Time: {item.profile.clock}.",) if timed else ()
    return Table("setups", "", tuple(columns), tuple(rows), more=more)


def _of_cpu(ns_per_s: float) -> Shown:
    share = ns_per_s / _NS_PER_S
    return Shown(share, f"{100 * share:+.2g} %")


def _bounds(cost: Cost | None) -> tuple[Value, Value]:
    """Return the least and the most; none where nothing says how far a cost may be off."""
    low, high = (cost.bounds if cost else None) or (None, None)
    return (None if low is None else _whole(low)), (None if high is None else _whole(high))


def _whole(value: float) -> Shown:
    digits = 0 if abs(value) >= 10 else 1
    return Shown(value, change(round(value, digits) + 0.0))


def _share(item: Estimated, setup: SetupCost, counted: Counted | None) -> tuple[float, str] | None:
    """Return a cost as a share of what the kernel does, and of what; None where that is unknown."""
    known, cost = item.known, setup.cost
    if cost is None:
        return None
    if counted and _comparable(known, counted):
        return cost.value / counted.baseline_insns, "all that the kernel does for this service"
    time_s = item.profile.time_s if item.profile.clock.startswith("system") else None
    if known.unit == "ns" and time_s:
        return cost.value / _NS_PER_S / time_s, "what the kernel does for this service"
    if setup.base:
        return cost.value / setup.base, "what the kernel does in these calls"
    return None


def _sentences(item: Estimated, counted: Counted | None, factor: float, per: str) -> Iterator[str]:
    unit = numbers.unit_word(item.known.unit)
    kernel = "kernel " if item.known.unit == "insns" else ""
    by = "predicted " if item.known.calibration else ""
    for setup in item.setups:
        if setup.cost is None:
            yield f"{setup.setup}: nothing is known of any call of the profile."
            continue
        cost = setup.cost.times(factor)
        bounds = ", each call by one benchmark"
        if cost.bounds:
            bounds = f" ({' to '.join(_whole(end).text for end in cost.bounds)})"
        share = _share(item, setup, counted)
        said = f"{percent(share[0])} of {share[1]}, " if share else ""
        said += f"{_whole(cost.value).text} {by}{kernel}{unit} {per}{bounds}"
        if item.known.unit == "ns" and per == "a second":
            said += f", {100 * cost.value / _NS_PER_S:.2g} % of one processor's time"
        lacking = item.uncovered(setup.setup)
        covers = f"; it covers {percent(setup.calls_share, sign=False)} of the calls"
        names = ", ".join(call.call.name for call in lacking[:3])
        rest = f" and {len(lacking) - 3} more" if len(lacking) > 3 else ""
        all_of = "all of " if any(call.part(setup.setup) for call in lacking[:3]) else ""
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


def _calls(item: Estimated, factor: float, per: str, detail: Detail) -> Iterator[Table]:
    unit = _word(item.known)
    setups = [setup.setup for setup in item.setups]
    columns = [
        Column("call", "call", Kind.NAME),
        Column("calls", f"calls {per}"),
        Column("share", "share", Kind.SHARE),
        *(Column(f"{name}_{item.known.unit}", name, Kind.CHANGE) for name in setups),
        *([Column("benchmarks", "proxy benchmarks", Kind.PROSE)] if detail is Detail.FULL else []),
    ]
    covered = [call for call in item.calls if call.costs]
    if not covered:
        return
    covered.sort(key=lambda call: -_most(call))
    shown = covered if detail is not Detail.SHORT else covered[:_FEW]
    rows = []
    for call in shown:
        row: list[Value] = [call.call.name, _number(call.call.calls * factor)]
        row.append(call.call.calls / item.profile.total)
        row += [_whole(cost.value) if (cost := call.costs.get(name)) else None for name in setups]
        row += [_benchmarks(call)] if detail is Detail.FULL else []
        rows.append(tuple(row))
    left = len(covered) - len(shown)
    more = (f"{many(left, 'more call')}, which cost less: --all, or --format csv.",) if left else ()
    title = f"{unit} of one call more than under {item.known.baseline}"
    yield Table("calls", title, tuple(columns), tuple(rows), more=more)


def _object_notes(item: Estimated) -> Iterator[str]:
    """Say on what calls were taken to be made: calls of the same shares together."""
    groups: dict[str, list[str]] = {}
    for call in item.calls:
        shares = sorted(call.on.items(), key=lambda pair: -pair[1])
        parts = [
            f"{kind} {percent(share, sign=False)}" for kind, share in shares if share >= 0.0005
        ]
        if parts and call.costs:
            groups.setdefault(", ".join(parts), []).append(call.call.name)
    if groups:
        told = "; ".join(f"{', '.join(names)}: {parts}" for parts, names in groups.items())
        yield f"Made on, as {item.told_by} (--on CALL=KIND says otherwise): {told}."


def _most(call: CallCost) -> float:
    return max((abs(one.value) for one in call.costs.values()), default=0.0) * call.call.calls


def _number(value: float) -> Shown:
    if 0 < value < 10 and not float(value).is_integer():
        return Shown(value, f"{value:.2f}")
    return Shown(value, count(round(value, 1 if value < 1000 else 0)))


def _benchmarks(call: CallCost) -> str:
    if call.within:
        return f"in the benchmarks of {call.within}"
    suites: dict[str, list[str]] = {}
    for suite, name in call.benchmarks:
        suites.setdefault(suite, []).append(name)
    return "; ".join(f"{suite}: {', '.join(names)}" for suite, names in suites.items())


def _uncovered(item: Estimated, factor: float, per: str) -> Iterator[Table]:
    """Name every call that no result covers, under one setup at least."""
    lacking = [call for call in item.calls if call.why]
    if not lacking:
        return
    time_s = item.profile.time_s
    columns = [
        Column("call", "call", Kind.NAME),
        Column("calls", f"calls {per}"),
        Column("share", "share", Kind.SHARE),
        *([Column("time_share", "of the time", Kind.SHARE)] if time_s else []),
        Column("why", "why", Kind.PROSE),
    ]
    rows = []
    for call in lacking:
        calls = call.call.calls * (1 - min(map(call.part, item.known.costs)))
        row: list[Value] = [call.call.name, _number(calls * factor)]
        row.append(calls / item.profile.total)
        row += [(call.call.time_s or 0.0) / time_s] if time_s else []
        rows.append((*row, call.why))
    yield Table("uncovered", "Not covered", tuple(columns), tuple(rows))


def _checked(
    found: Sequence[tuple[Estimated, Counted | None]], detail: Detail
) -> Iterator[Section]:
    """Hold what was estimated against what was counted under the same load."""
    rows = _checks(found)
    if not rows:
        return
    bounds = detail in {Detail.FULL, Detail.DATA}
    columns = (
        *((Column("setup", "setup", Kind.NAME),) if bounds else ()),
        Column("benchmark", "benchmark", Kind.NAME),
        Column("estimated_insns", "estimated", Kind.CHANGE),
        *((Column("low_insns", "at least", Kind.CHANGE),) if bounds else ()),
        *((Column("high_insns", "at most", Kind.CHANGE),) if bounds else ()),
        Column("counted_insns", "counted", Kind.CHANGE),
        Column("error", "error", Kind.PERCENT),
        Column("points", "of all", Kind.PERCENT),
    )
    shown: list[tuple[Value, ...]] = []
    for name in dict.fromkeys(name for name, _ in rows):
        mine = [row for setup, row in rows if setup == name]
        shown += [] if bounds else [(name,)]
        for benchmark, value, low, high, *rest in mine:
            between = (low, high) if bounds else ()
            shown.append((*((name,) * bounds), benchmark, value, *between, *rest))
    table = Table("checked", "", columns, tuple(shown), fixed=2 if bounds else 1)
    unit = next(item.unit for _, item in found if item)
    errors = tuple(Item(text) for text in _errors(rows)) if len(found) == 1 else ()
    yield Section(f"Estimated and counted, a {unit}", (_CHECKED,), (table,), errors, "checked")


def _checks(
    found: Sequence[tuple[Estimated, Counted | None]],
) -> list[tuple[str, tuple[Value, ...]]]:
    """Return what was estimated beside what was counted, with the setup."""
    return [
        (setup.setup, _check(counted, setup.cost, counted.added_insns[setup.setup]))
        for item, counted in found
        if counted is not None and _comparable(item.known, counted)
        for setup in item.setups
        if setup.setup in counted.added_insns and setup.cost
    ]


def _errors(rows: Sequence[tuple[str, Sequence[Value]]]) -> Iterator[str]:
    """Say for each setup how far estimates are off."""
    for name in dict.fromkeys(name for name, _ in rows):
        parts = [row for setup, row in rows if setup == name]
        said = []
        for at in (-2, -1):
            values = [value for row in parts if isinstance(value := row[at], float)]
            ends = dict.fromkeys(percent(f(values)) for f in (min, max)) if values else ["?"]
            said.append(" to ".join(ends))
        yield f"{name}: estimates are off by {said[0]}; of all kernel instructions {said[1]}."


def _comparable(known: Known, counted: Counted) -> bool:
    same = (known.kernel, known.baseline) == (counted.kernel, counted.baseline)
    return same and known.instrument == EXACT and known.unit == "insns"


def _check(counted: Counted, cost: Cost, added: float) -> tuple[Value, ...]:
    within = cost.bounds is None or cost.low <= added <= cost.high
    return (
        counted.benchmark,
        _whole(cost.value),
        *_bounds(cost),
        Shown(added, _whole(added).text, Tone.PLAIN if within else Tone.WARNING),
        cost.value / added - 1 if added else None,
        (cost.value - added) / counted.baseline_insns,
    )


def _profile_data(source: str, profile: Profile) -> dict[str, Any]:
    return {
        **vars(profile),
        "file": source,
        "calls": [vars(item) for item in profile.calls],
        "total": profile.total,
        "errors_unknown": sorted(profile.errors_unknown),
    }


def _data(item: Estimated, counted: Counted | None) -> dict[str, Any]:
    _, per = _per(item.profile)
    known = {
        name: value for name, value in vars(item.known).items() if name not in {"costs", "base"}
    }
    checked = counted if counted and _comparable(item.known, counted) else None
    return {
        **known,
        "per": per.removeprefix("a ") if per != "in all" else "profile",
        "workload": counted.workload if counted else None,
        "benchmark": counted.benchmark if counted else None,
        "baseline_insns": counted.baseline_insns if counted else None,
        "setups": [_setup_data(item, setup, checked) for setup in item.setups],
        "told_by": item.told_by,
        "calls": [_call_data(call) for call in item.calls],
    }


def _setup_data(item: Estimated, setup: SetupCost, counted: Counted | None) -> dict[str, Any]:
    factor, _ = _per(item.profile)
    cost = setup.cost.times(factor) if setup.cost else None
    low, high = (cost.bounds if cost else None) or (None, None)
    share = _share(item, setup, counted)
    return {
        "setup": setup.setup,
        "value": cost.value if cost else None,
        "low": low,
        "high": high,
        "share": share[0] if share else None,
        "share_of": share[1] if share else None,
        "calls_share": setup.calls_share,
        "time_share": setup.time_share,
        "counted": counted.added_insns.get(setup.setup) if counted else None,
        "uncovered": [call.call.name for call in item.uncovered(setup.setup)],
    }


def _call_data(call: CallCost) -> dict[str, Any]:
    def each(costs: Mapping[str, Cost]) -> dict[str, Any]:
        return {name: vars(cost) for name, cost in costs.items()}

    return {
        **vars(call.call),
        "benchmarks": [f"{suite}: {name}" for suite, name in call.benchmarks],
        "within": call.within,
        "costs": each(call.costs),
        "failed": each(call.failed),
        "why": call.why,
        "on": dict(call.on),
    }
