# SPDX-License-Identifier: GPL-2.0-or-later
"""Studies and their claims as a document: verdicts first, then rows beside the printed ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lsmeter.catalogue.studies.study import Study
from lsmeter.core.errors import LsmeterError
from lsmeter.core.groups import grouped
from lsmeter.core.printable import printable
from lsmeter.measure.tasks import cost_tasks
from lsmeter.questions.cost.document import document_of
from lsmeter.questions.reproduce.judge import Judged, Verdict, count_verdicts, exclusive
from lsmeter.questions.reproduce.parts import Part
from lsmeter.tables.fields import Each, Field, Row, named, tabled
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
from lsmeter.tables.values import many

NAME, VERSION = "lsmeter-reproduce", 1
# What is said of one claim, and of several.
_WORDS = {
    Verdict.HOLDS: ("holds", "hold"),
    Verdict.FAILS: ("does not hold today", "do not hold today"),
    Verdict.OPEN: ("cannot be told", "cannot be told"),
    Verdict.INCOMPARABLE: ("is not comparable", "are not comparable"),
}
_TONES = {Verdict.HOLDS: Tone.BETTER, Verdict.FAILS: Tone.WORSE, Verdict.OPEN: Tone.QUIET}
_RULE = (
    "A claim holds if its rule holds at every place (kernel, file system, user), with the 95 % "
    "interval, and does not hold today if the rule is false at one. The number shown is the one "
    "that decided; by: how far it lies inside of what was claimed, or outside. Instructions are "
    "not seconds: sizes are taken as borne out within a factor of 1.5."
)
_MORE = "all claims and tables: the same command with --all, or --format html"
_READ_OFF = "Read off the numbers: the tables say it, the authors not in words."


@dataclass(frozen=True)
class Reproduced:
    """A study with its runs and its claims judged; failed says of a part why it has no run."""

    study: Study
    parts: Mapping[str, Part]
    failed: Mapping[str, str]
    judged: tuple[Judged, ...]
    quick: bool


def document(found: Sequence[Reproduced], detail: Detail) -> Document:
    """Return what `reproduce` shows of one study or of several."""
    whole = found[0].study.title if len(found) == 1 else "Published studies, reproduced"
    sections = [section for item in found for section in _sections(item, detail)]
    if len(found) > 1:
        sections.insert(0, Section("Claims by study", (_RULE,), (_overview(found),), key="studies"))
    return Document(
        NAME,
        VERSION,
        whole,
        facts=tuple(_facts(found)),
        sections=tuple(sections),
        notes=(_MORE,) if detail is Detail.SHORT else (),
        data={"studies": [STUDY.entry(item) for item in found]},
        answer=tuple(_answer(item) for item in found),
    )


def _answer(item: Reproduced) -> str:
    counts = count_verdicts(item.judged)
    told = [f"{count} {_WORDS[verdict][count > 1]}" for verdict, count in counts.items() if count]
    size = f"{'quick: ' if item.quick else ''}{many(len(item.judged), 'claim')}"
    lost = f" {many(len(item.failed), 'part')} failed." if item.failed else ""
    return f"{item.study.name}: {size}: {', '.join(told)}.{lost}"


def _facts(found: Sequence[Reproduced]) -> Iterator[tuple[str, str]]:
    for item in found:
        yield item.study.name, " ".join((item.study.source + ".", item.study.note)).strip()
        for part in item.parts.values():
            manifest = part.run.manifest
            kernels = ", ".join(
                f"{kernel.name} ({kernel.release}, {kernel.image_sha256[:12]})"
                for kernel in manifest.kernels
            )
            boots = many(len(part.run.boots), "boot")
            yield (
                f"{item.study.name}: {part.name}",
                (
                    f"{manifest.title}; {boots}; {kernels}; lsmeter {manifest.lsmeter_version}; "
                    f"{part.run.path}"
                ),
            )


def _overview(found: Sequence[Reproduced]) -> Table:
    fields = (
        named("study", "study.name"),
        *(
            Field(
                verdict.name.lower(),
                verdict.value,
                lambda item, of=verdict: count_verdicts(item.judged)[of],  # type: ignore[misc]
            )
            for verdict in Verdict
        ),
        Field("claims", "claims", lambda item: len(item.judged)),
    )
    return tabled("studies", "", fields, found)


def _sections(item: Reproduced, detail: Detail) -> Iterator[Section]:
    name = item.study.name
    lead: tuple[str, ...] = (_RULE,)
    if item.quick:
        lead += ("Quick: fewer kernels, variants or boots than the whole reproduction has.",)
    if detail is Detail.SHORT:
        yield from _brief(item)
    else:
        for key, title, off in (("claims", "claims", False), ("read", _READ_OFF, True)):
            found = [claim for claim in item.judged if claim.claim.read_off is off]
            if found:
                table = _claims(f"{name}-{key}", found)
                yield Section(f"{name}: {title}", lead, (table,), key=f"{name}-{key}")
            lead = ()
    if pairs := tuple(_exclusive(item.judged)):
        yield Section(f"{name}: claims that exclude each other", items=pairs)
    if causes := tuple(_causes(item.judged)):
        yield Section(
            f"{name}: where the numbers of claims come from that do not hold", items=causes
        )
    lacking = [f"part {part}: {why}" for part, why in item.failed.items()] + [*item.study.missing]
    if lacking:
        title = f"{name}: what of the study is not measured here"
        yield Section(title, items=tuple(Item(text) for text in lacking))
    if detail is not Detail.SHORT:
        for part in item.parts.values():
            yield from _part_sections(item.study, part, detail)


def _brief(item: Reproduced) -> Iterator[Section]:
    """Yield the claims by verdict, a line or two each."""
    for verdict in (Verdict.OPEN, Verdict.INCOMPARABLE, Verdict.FAILS, Verdict.HOLDS):
        found = [claim for claim in item.judged if claim.verdict is verdict]
        tone = _TONES.get(verdict, Tone.PLAIN)
        said = tuple(Item(f"{_head(claim)}: {_measured(claim)}", tone=tone) for claim in found)
        if said:
            words = _WORDS[verdict][len(said) > 1]
            yield Section(f"{item.study.name}: {many(len(said), 'claim')} {words}", items=said)


def _head(item: Judged) -> str:
    by = _by(item)
    return f"{item.claim.id} (by {by})" if by else item.claim.id


def _by(item: Judged) -> str:
    """Say how far the number that decided lies from what was claimed; "" where none did."""
    told = item.decided
    return told.margin if told is not None and told.holds is not None else ""


def _claims(key: str, found: Sequence[Judged]) -> Table:
    heads = ("what the study says", "printed", "measured")
    columns = (
        *(Column(name, name, Kind.NAME) for name in ("claim", "verdict", "by")),
        *(Column(head.split(" ")[-1], head, Kind.PROSE) for head in heads),
    )
    rows: list[tuple[Value, ...]] = []
    by_verdict = grouped((item.verdict, item) for item in found)
    for verdict in Verdict:
        for item in by_verdict.get(verdict, ()):
            claim = item.claim
            words = Shown(verdict.value, verdict.value, _TONES.get(verdict, Tone.PLAIN))
            name = Shown(claim.id, claim.id, hover=claim.rule)
            printed = f"{claim.printed} ({claim.place})"
            rows.append((name, words, _by(item), claim.claim, printed, _measured(item)))
    return Table(key, "", columns, tuple(rows))


def _measured(item: Judged) -> str:
    """Say what decided; then where a claim holds, and where it does not."""
    if item.decided is None or not item.decided.text:
        return printable(item.why)
    at = f"{item.where}: " if len(item.found) > 1 else ""
    text = f"{at}{item.decided.text}"
    if item.why:
        text += f"; {item.why}"
    if len(item.found) > 1:
        groups = grouped((one.holds, str(where)) for where, one in item.found.items())
        words = {True: "holds", False: "not", None: "open"}
        if len(groups) > 1:
            said = (f"{words[state]} on {', '.join(places)}" for state, places in groups.items())
            text += f" [{'; '.join(said)}]"
    return printable(text)


def _exclusive(judged: Sequence[Judged]) -> Iterator[Item]:
    for one, other in exclusive(judged):
        said = (f"{item.claim.id} ({item.claim.printed}): {item.verdict}" for item in (one, other))
        yield Item("; ".join(said))


def _causes(judged: Iterable[Judged]) -> Iterator[Item]:
    for item in judged:
        for text in item.causes:
            yield Item(f"{item.claim.id}: {text}")


def _part_sections(study: Study, part: Part, detail: Detail) -> Iterator[Section]:
    """Yield what a run's own report has, with the study's printed tables beside it."""
    tasks = {cell.task.name for cell in part.run.manifest.cells}
    beside = study.tables if tasks & cost_tasks() else ()
    try:
        found = document_of(part.run, None, beside)(detail)
    except LsmeterError as error:
        yield Section(f"{study.name}: {part.name}", (error.title,))
        return
    for number, section in enumerate(found.sections):
        title = f"{study.name}: {part.name}: {section.title or found.title}"
        yield replace(section, title=title, key=f"{study.name}-{part.name}-{number}")


def _holds(item: Judged) -> list[dict[str, object]]:
    return [
        {
            "kernel": where.kernel,
            "filesystem": where.fs,
            "user": where.user,
            "holds": one.holds,
            "measured": one.text or one.why,
            "distance": one.distance,
            "unit": one.unit,
            "rows": [
                {
                    "part": of.part,
                    "benchmark": of.benchmark,
                    "setup": of.tested.setup,
                    "baseline": of.baseline.setup if of.baseline else "",
                }
                for of in dict.fromkeys(one.of)
            ],
        }
        for where, one in item.found.items()
    ]


_ROWS = Row(tuple(map(named, ("part", "benchmark", "setup", "baseline"))))
_PLACE = Row(
    (
        *map(named, ("kernel", "filesystem", "user")),
        Field("holds", of=bool | None),
        named("measured"),
        Field("distance"),
        named("unit"),
        Field("rows", of=Each(_ROWS)),
    )
)
CLAIM = Row(
    (
        *(named(key, f"claim.{key}") for key in ("id", "claim", "place", "kind", "printed")),
        *(named(key, f"claim.{key}") for key in ("rule", "part", "refuted_by", "note")),
        Field("read_off", value="claim.read_off", of=bool),
        Field("verdict", of=Verdict),
        named("why"),
        Field("places", value=_holds, of=Each(_PLACE)),
        Field("causes", of=Each(str)),
    )
)
_PART = Row(
    (
        *(named("name"), named("run", lambda part: str(part.run.path))),
        named("command", "run.manifest.command"),
        Field("boots", value=lambda part: len(part.run.boots), of=int),
    )
)
STUDY = Row(
    (
        *(named("name", "study.name"), named("title", "study.title")),
        named("source", "study.source"),
        Field("quick", of=bool),
        Field("parts", value=lambda item: [*item.parts.values()], of=Each(_PART)),
        Field("failed", value=lambda item: dict(item.failed), of=dict),
        Field("missing", value="study.missing", of=Each(str)),
        Field("claims", value="judged", of=Each(CLAIM)),
    )
)
