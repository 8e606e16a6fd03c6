# SPDX-License-Identifier: GPL-2.0-or-later
"""Calibrations, and times predicted by them, apart from all that was measured; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from lsmeter.core.groups import grouped
from lsmeter.core.model import Place
from lsmeter.core.model.conclusion import Comparison
from lsmeter.measure.tasks.events import EVENTS
from lsmeter.questions.cells.rows import BASELINE, PLACE
from lsmeter.questions.time.calibration import LEVEL, MOST_OFF, Calibration, spread
from lsmeter.questions.time.figures import Predicted, PredictedChange, Told
from lsmeter.tables.fields import Each, Field, Row, named, tabled
from lsmeter.tables.model import Detail, Document, Item, Kind, Raw, Section, Shown, Table, Value
from lsmeter.tables.values import change, count, many, percent

NAME = "lsmeter-calibration-report"
VERSION = 1
_HOW = (
    "Each operation was predicted, with all its variants, from weights that were fitted without "
    "it: error = predicted \N{DIVISION SIGN} measured \N{MINUS SIGN} 1."
)
HEADING = "Predicted times"
NO_EVENTS = "not predicted: events were not counted; lsmeter run --events counts them"
NO_CALIBRATION = "not predicted: this machine is not calibrated; lsmeter calibrate does it"
OUTSIDE = "!"
_NAMED = 4  # benchmarks in a sentence
_INTERVAL = f"low and high hold {LEVEL:.0%} of the benchmarks that were left out of the calibration"
_WEIGHTS = (
    "Events that are not here cost nothing that the others do not tell; a weight is what fits "
    "best, and stands for all that comes along with its event."
)
_TITLES = {**EVENTS, "plain_insns": EVENTS["insns"]}


def error_words(item: Calibration) -> str:
    """Say how wrong predictions of a calibration are: median 4.1 %, 90th percentile 12.3 %."""
    median, most = (percent(part, sign=False) for part in item.error)
    return f"median {median}, 90th percentile {most}"


def overhead_words(item: Calibration) -> str:
    """Say how far off predicted overheads are, or that nobody knows."""
    if item.overheads is None:
        return "not measured"
    return points_words(item.overheads.median, item.overheads.most)


def points_words(median: float, most: float) -> str:
    """Write two errors of overheads: median 1.8 points, 90th percentile 5.1 points."""
    return f"median {100 * median:.1f} points, 90th percentile {100 * most:.1f} points"


def why_no_overheads(item: Calibration) -> str:
    """Say why no predicted overhead is shown; "" where it is."""
    if item.tells_overheads:
        return ""
    if item.overheads is None:
        return "No overhead in time: this calibration tried none; lsmeter calibrate does now."
    return (
        f"No overhead in time: predicted ones were off by {overhead_words(item)} here, and more "
        f"than {100 * MOST_OFF:.0f} points (median) is too much."
    )


def fact(instrument: str, told: Told | None, *, counted: bool) -> str:
    """Say by what times are predicted, or why they are not; "" where they were measured."""
    if instrument != "exact":
        return ""
    if told is None:
        return NO_CALIBRATION if counted else NO_EVENTS
    return f"predicted by calibration {told.calibration.name}"


def sections(
    told: Told | None, comparisons: Sequence[Comparison], baseline: str, detail: Detail
) -> Iterator[Section]:
    """Yield the predicted times of each setup; where there is little room, one row an operation."""
    if told is None:
        return
    changes = {(item.place, item.benchmark.id): item for item in told.changes}
    places = dict.fromkeys(item.place for item in told.costs)
    tested = [place for place in places if place.setup != baseline]
    shown = list(places) if detail is not Detail.SHORT or not tested else tested
    for number, place in enumerate(shown, 1):
        found = [item for item in told.costs if item.place == place]
        by_operation = grouped((item.benchmark.operation, item) for item in found).values()
        rows = [items[0] for items in by_operation] if detail is Detail.SHORT else found
        left = len(found) - len(rows)
        more = (f"{left:,} more benchmarks: --all, or --format csv.",) if left else ()
        outside = ((item.prediction.outside, item.benchmark.id) for item in found)
        tested_changes = changes if place.setup != baseline else {}
        fields = _fields(comparisons, place, tested_changes)
        yield Section(
            f"{HEADING}: {place.label}",
            tuple(_lead(told)) if number == 1 else (),
            (tabled("predicted", "", fields, rows, more=more),),
            key="predicted" if number == 1 else f"predicted-{number}",
            items=tuple(Item(text) for text in outside_of(outside)),
        )


def _lead(told: Told) -> Iterator[str]:
    item = told.calibration
    host = f"{item.host.cpu}, Linux {item.host.kernel}"
    yield (
        f"Not measured: predicted from the events of each call by calibration {item.name} ({host}; "
        f"events of {item.counted.kernel}). Leave-one-out error: {error_words(item)}; "
        f"{_INTERVAL}."
    )
    yield why_no_overheads(item) or f"Overheads: off by {overhead_words(item)}, as measured here."
    yield from other_counts(told)


def other_counts(told: Told) -> Iterator[str]:
    """Say what was counted otherwise than the events of the calibration."""
    if not told.same_plugin:
        yield (
            "The calibration's events were counted by another version of the plugin, perhaps in "
            "another way: calibrate again, or measure again."
        )
    if told.unlike:
        yield (
            "The calibration's events were counted under other conditions: lsmeter run "
            + " ".join(f"--condition {item}" for item in told.unlike)
        )


def _fields(
    comparisons: Sequence[Comparison],
    place: Place,
    changes: Mapping[tuple[Place, str], PredictedChange],
) -> tuple[Field, ...]:
    mine = (item for item in comparisons if item.place == place)
    insns = {item.benchmark.id: item.in_line.overhead for item in mine}

    def found(item: Predicted) -> PredictedChange | None:
        return changes.get((place, item.benchmark.id))

    def ns(item: Predicted) -> Value:
        if (more := found(item)) is None:
            return None
        return Shown(round(more.difference_ns, 2), change(round(more.difference_ns)))

    tested = (
        Field("predicted_difference_ns", "more", ns, Kind.CHANGE),
        Field(
            "predicted_overhead",
            "overhead",
            lambda item: (more := found(item)) and more.overhead,
            Kind.PERCENT,
        ),
        Field("overhead", "in instructions", lambda i: insns.get(i.benchmark.id), Kind.PERCENT),
    )
    return _PREDICTED + (tested if changes else ())


def as_ns(value: float) -> Shown:
    """Show nanoseconds, whole ones to people."""
    return Shown(round(value, 2), count(round(value)))


def _name(item: Predicted) -> Shown:
    return Shown(item.benchmark.id, item.benchmark.id + OUTSIDE * bool(item.prediction.outside))


_PREDICTED = (
    named("benchmark", _name),
    Field("predicted_ns", "predicted ns", lambda item: as_ns(item.prediction.ns)),
    Field("predicted_low_ns", "low", lambda item: as_ns(item.prediction.low_ns)),
    Field("predicted_high_ns", "high", lambda item: as_ns(item.prediction.high_ns)),
)


def outside_of(pairs: Iterable[tuple[tuple[str, ...], str]]) -> Iterator[str]:
    """Say of which benchmarks a prediction goes further than was seen, each with its events."""
    # A benchmark under several setups is named once.
    for events, names in grouped(dict.fromkeys(pair for pair in pairs if pair[0])).items():
        words = ", ".join(_TITLES.get(name, name) for name in events)
        rest = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        few = ", ".join(names[:_NAMED])
        yield f"{OUTSIDE} outside of what calibration covered ({words}): {few}{rest}"


AT = (*PLACE, named("id", "benchmark.id"))
COST = Row(
    (
        *AT,
        Field("predicted_ns", value="prediction.ns"),
        Field("low_ns", value="prediction.low_ns", flat="predicted_low_ns"),
        Field("high_ns", value="prediction.high_ns", flat="predicted_high_ns"),
        Field(
            "outside",
            value="prediction.outside",
            of=Each(str),
            flat="predicted_outside",
            text=" ".join,
        ),
    )
)
CHANGE = Row(
    (
        *AT,
        *BASELINE,
        Field("predicted_difference_ns", value="difference_ns"),
        Field("predicted_overhead", value="overhead"),
    )
)
CALIBRATION = Row(
    (
        *(named(key) for key in ("name", "created")),
        *(named(key, f"host.{key}") for key in ("cpu", "microcode")),
        named("host_kernel", "host.kernel"),
        named("counted_kernel", "counted.kernel"),
        Field("median_error", value=lambda item: item.error[0]),
        Field("error_90", value=lambda item: item.error[1]),
        Field("overhead_error", value=lambda i: i.overheads.median if i.overheads else None),
        Field("overhead_error_90", value=lambda i: i.overheads.most if i.overheads else None),
        Field("level", value=lambda _: LEVEL),
    )
)
TOLD = Row(
    (
        Field("calibration", of=CALIBRATION),
        Field("costs", of=Each(COST)),
        Field("changes", of=Each(CHANGE)),
    )
)


def by_row(told: Told | None) -> dict[tuple[Place, str], dict[str, Raw]]:
    """Return what tables for programs have of each cost, by place and benchmark."""
    if told is None:
        return {}
    by = {"calibration": told.calibration.name}
    found = {
        (item.place, item.benchmark.id): {**COST.flat(COST.entry(item)), **by}
        for item in told.costs
    }
    for part in told.changes:
        found[part.place, part.benchmark.id] |= CHANGE.flat(CHANGE.entry(part))
    return found


def document(item: Calibration, where: str = "") -> Document:
    """Show one calibration."""
    host, counted = item.host, item.counted
    conditions = ", ".join(f"{name}={text}" for name, text in counted.conditions.items())
    of = f"{many(len(item.left_out), 'benchmark')} of {', '.join(item.suites)}"
    of += f", {many(item.blocks, 'block')}"
    facts = [
        ("Host", f"{host.cpu}, microcode {host.microcode or 'unknown'}, Linux {host.kernel}"),
        ("Guest", f"{counted.kernel} (Linux {counted.release}), {conditions}"),
        ("Made", f"{item.created} by lsmeter {item.lsmeter_version}"),
        ("Of", of),
        ("Leave-one-out error", error_words(item)),
    ]
    of = f" ({', '.join(item.overheads.setups)})" if item.overheads else ""
    facts.append(("Overheads", overhead_words(item) + of))
    if item.difference_error is not None:
        median, most = (percent(part, sign=False) for part in item.difference_error)
        what = "of the difference between variants of an operation"
        facts.append(("Differences", f"median {median}, 90th percentile {most} {what}"))
    low, high = (percent(bound - 1) for bound in item.ratios)
    facts.append(("Interval", f"{low} to {high} of a prediction holds {LEVEL:.0%} of them"))
    sections = (
        Section("Left out", (_HOW,), (_operations(item), _benchmarks(item)), key="left-out"),
        Section("Weights", (_WEIGHTS,), (_weights(item),), key="weights"),
    )
    notes = (f"stored {where}",) if where else ()
    title = f"Calibration {item.name}"
    answer = f"{title}: predicted times are off by {error_words(item)} (leave-one-out)."
    answers = (answer, *filter(None, [why_no_overheads(item)]))
    return Document(
        NAME, VERSION, title, tuple(facts), (), sections, notes, data=item, answer=answers
    )


def _operations(item: Calibration) -> Table:
    found = {key: [part.error for part in parts] for key, parts in item.operations.items()}
    fields = (
        *(named("operation", lambda of: of[0][1]), named("suite", lambda of: of[0][0])),
        Field("variants", "variants", lambda of: len(of[1])),
        Field("median_error", "median error", lambda of: spread(of[1])[0], Kind.SHARE),
        Field("least_error", "from", lambda of: min(of[1]), Kind.PERCENT),
        Field("most_error", "to", lambda of: max(of[1]), Kind.PERCENT),
    )
    ordered = sorted(found.items(), key=lambda of: -spread(of[1])[0])
    return tabled("operations", "By operation, the worst first", fields, ordered)


def _benchmarks(item: Calibration) -> Table:
    fields = (
        *map(named, ("benchmark", "suite")),
        Field("measured_ns", "measured ns", lambda part: round(part.measured_ns, 1)),
        Field("predicted_ns", "predicted ns", lambda part: round(part.predicted_ns, 1)),
        Field("error", "error", kind=Kind.PERCENT),
    )
    return tabled("benchmarks", "By benchmark", fields, item.left_out)


def _weights(item: Calibration) -> Table:
    def seen(name: str, bound: str) -> float | None:
        return round(getattr(item.seen[name], bound), 2) if name in item.seen else None

    fields = (
        named("event", str),
        Field("weight_ns", "ns each", lambda n: float(f"{item.weights_ns.get(n, 0.0):.3g}")),
        Field("least", "least", lambda name: seen(name, "least")),
        Field("most", "most in 1,000 instructions", lambda name: seen(name, "most")),
    )
    return tabled("weights", "", fields, dict.fromkeys((*item.weights_ns, *item.seen)))


def listing(found: Sequence[Calibration], mine: Iterable[str]) -> Document:
    """List calibrations; mine are the names of those of this machine as it runs now."""
    own = set(mine)
    fields = (
        *(named("name"), named("host", "host.cpu"), named("kernel", "host.kernel")),
        Field("median_error", "median error", lambda item: item.error[0], Kind.SHARE),
        Field("error_90", "90th percentile", lambda item: item.error[1], Kind.SHARE),
        Field("here", "this machine", lambda item: item.name in own, Kind.YES),
    )
    table = tabled("calibrations", "", fields, found)
    empty = "there is no calibration; make one: lsmeter calibrate"
    sections = (Section("", tables=(table,)),) if found else ()
    notes = () if found else (empty,)
    return Document(
        "lsmeter-calibrations", 1, "Calibrations", sections=sections, notes=notes, data=[*found]
    )
