# SPDX-License-Identifier: GPL-2.0-or-later
"""Studies and their claims as a document: results, verdicts, rows, printed tables, boots."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from lsmeter.catalogue.studies.study import Study
from lsmeter.core.errors import LsmeterError
from lsmeter.core.groups import grouped
from lsmeter.core.printable import printable
from lsmeter.measure.tasks import cost_tasks
from lsmeter.questions.cost.document import document_of
from lsmeter.questions.reproduce import evidence, plots, results
from lsmeter.questions.reproduce.data import STUDY
from lsmeter.questions.reproduce.figures import Reproduced, by_study
from lsmeter.questions.reproduce.judge import Judged, Verdict, exclusive
from lsmeter.questions.reproduce.parts import Part
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
_TONES = {Verdict.HOLDS: Tone.BETTER, Verdict.FAILS: Tone.WORSE, Verdict.OPEN: Tone.QUIET}
_RULE = (
    "A claim holds if its rule holds at every place (kernel, file system, user), with the 95 % "
    "interval, and does not hold today if the rule is false at one. The number shown is the one "
    "that decided; by: how far it lies inside of what was claimed, or outside. Instructions are "
    "not seconds: sizes are taken as borne out within a factor of 1.5."
)
_MORE = "all claims and tables: the same command with --all, or --format html"
_READ_OFF = "Read off the numbers: the tables say it, the authors not in words."
_QUICK = "Quick: fewer kernels, variants or boots than the whole reproduction has."


def document(found: Sequence[Reproduced], command: str, detail: Detail) -> Document:
    """Return what `reproduce` shows of one study or of several."""
    alone = len(found) == 1  # the reports of all parts of several studies would fill a book
    shown = () if detail is Detail.DATA else found
    sections = [part for item in shown for part in _sections(item, detail, reports=alone)]
    if not alone or detail is not Detail.SHORT:
        sections.insert(0, results.section(found))
    return Document(
        NAME,
        VERSION,
        found[0].study.title if alone else "Published studies, reproduced",
        facts=tuple(_facts(found, command, detail)),
        sections=tuple(sections),
        notes=(_MORE,) if detail is Detail.SHORT else (),
        data={"studies": [STUDY.entry(item) for item in found]},
        answer=tuple(results.answer(found)),
        picture=None if alone else plots.verdicts(by_study(found)[:-1]),
    )


def _facts(found: Sequence[Reproduced], command: str, detail: Detail) -> Iterator[tuple[str, str]]:
    yield "Command", command
    if any(item.quick for item in found):
        yield "Size", _QUICK
    manifests = [part.run.manifest for item in found for part in item.parts.values()]
    versions = dict.fromkeys(item.lsmeter_version for item in manifests)
    tools = dict.fromkeys(tool for item in manifests for tool in item.tools)
    if manifests:
        yield "Made by", f"lsmeter {', '.join(versions)}"
    if detail is not Detail.SHORT:
        yield from tools
        kernels = {
            (kernel.name, f"{kernel.release}; SHA-256 {kernel.image_sha256}")
            for item in manifests
            for kernel in item.kernels
        }
        yield from sorted(kernels)
    for item in found:
        yield item.study.name, " ".join((item.study.source + ".", item.study.note)).strip()


def _runs(item: Reproduced) -> Iterator[Item]:
    """Name the run of each part, and of the others why they have none."""
    for part in item.parts.values():
        manifest = part.run.manifest
        names = ", ".join(kernel.name for kernel in manifest.kernels)
        said = f"{manifest.title}; {many(len(part.run.boots), 'boot')}; {names}; {part.run.title}"
        few = item.incomplete.get(part.name)
        yield Item(f"{part.name}: {said}" + (f"; {few}" if few else ""))
    for name, why in item.failed.items():
        yield Item(f"{name}: no run: {why}", tone=Tone.QUIET)


def _sections(item: Reproduced, detail: Detail, *, reports: bool) -> Iterator[Section]:
    name = item.study.name
    if detail is Detail.SHORT:
        yield from _brief(item)
    else:
        yield from _full_claims(item)
    if pairs := tuple(_exclusive(item)):
        title = f"{name}: claims that exclude each other"
        yield Section(title, items=pairs, key=f"{name}-exclusive")
    causes = [Item(f"{one.claim.id}: {text}") for one in item.judged for text in one.causes]
    if causes:
        title = f"{name}: where the numbers of claims come from that do not hold"
        yield Section(title, items=tuple(causes), key=f"{name}-causes")
    if detail is not Detail.SHORT:
        yield from _beside(item)
    yield Section(f"{name}: runs", items=tuple(_runs(item)), key=f"{name}-runs")
    if item.study.missing:
        title = f"{name}: what of the study is not measured here"
        shown = tuple(Item(text) for text in item.study.missing)
        yield Section(title, items=shown, key=f"{name}-missing")
    if detail is not Detail.SHORT:
        yield from evidence.sections(item)
        for part in item.parts.values() if reports else ():
            yield from _part_sections(item.study, part, detail)


def _brief(item: Reproduced) -> Iterator[Section]:
    """Yield the claims by verdict, a line or two each."""
    for verdict in (Verdict.OPEN, Verdict.INCOMPARABLE, Verdict.FAILS, Verdict.HOLDS):
        found = [claim for claim in item.judged if claim.verdict is verdict]
        found.sort(key=lambda claim: claim.claim.read_off)
        tone = _TONES.get(verdict, Tone.PLAIN)
        said = tuple(Item(f"{_head(claim)}: {_measured(claim)}", tone=tone) for claim in found)
        if said:
            words = results.WORDS[verdict][len(said) > 1]
            yield Section(f"{item.study.name}: {many(len(said), 'claim')} {words}", items=said)


def _head(item: Judged) -> str:
    words = [f"by {_by(item)}"] if _by(item) else []
    words += ["read off the numbers"] if item.claim.read_off else []
    return f"{item.claim.id} ({', '.join(words)})" if words else item.claim.id


def _by(item: Judged) -> str:
    """Say how far the number that decided lies from what was claimed; "" where none did."""
    told = item.decided
    return told.margin if told is not None and told.holds is not None else ""


def _full_claims(item: Reproduced) -> Iterator[Section]:
    """Yield the claims as tables, those that are read off the numbers apart."""
    name, lead = item.study.name, (_RULE, *((_QUICK,) if item.quick else ()))
    for key, title, off in (("claims", "claims", False), ("read", _READ_OFF, True)):
        found = [claim for claim in item.judged if claim.claim.read_off is off]
        if found:
            table = _claims(item, f"{name}-{key}-table", found)
            yield Section(f"{name}: {title}", lead, (table,), key=f"{name}-{key}")
        lead = ()


def _claims(of: Reproduced, key: str, found: Sequence[Judged]) -> Table:
    heads = ("what the study says", "printed", "measured")
    columns = (
        *(Column(name, name, Kind.NAME) for name in ("claim", "verdict", "by", "rows")),
        *(Column(head.split(" ")[-1], head, Kind.PROSE) for head in heads),
    )
    rows: list[tuple[Value, ...]] = []
    by_verdict = grouped((item.verdict, item) for item in found)
    sizes = {group.claim.claim.id: len(group.rows) + group.left for group in of.rows}
    for verdict in Verdict:
        for item in by_verdict.get(verdict, ()):
            claim, size = item.claim, sizes.get(item.claim.id, 0)
            words = Shown(verdict.value, verdict.value, _TONES.get(verdict, Tone.PLAIN))
            anchor = evidence.anchor(of.study.name, "claim", claim.id)
            name = Shown(claim.id, claim.id, hover=claim.rule, anchor=anchor)
            link = evidence.anchor(of.study.name, "rows", claim.id)
            origin = Shown(size, many(size, "row"), link=link) if size else Shown(0, "")
            printed = f"{claim.printed} ({claim.place})"
            measured = Shown(_measured(item), _measured(item), detail="; ".join(item.causes))
            rows.append((name, words, _by(item), origin, claim.claim, printed, measured))
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


def _exclusive(item: Reproduced) -> Iterator[Item]:
    """Yield pairs of claims of which one has to fail, each with its verdict and what decided."""
    for pair in exclusive(item.judged):
        sides = (
            f"{one.claim.id} {results.WORDS[one.verdict][0]} (printed: {one.claim.printed}, "
            f"{one.claim.place}; {_measured(one)})"
            for one in pair
        )
        yield Item("; but ".join(sides))


def _beside(item: Reproduced) -> Iterator[Section]:
    """Yield the printed tables with ours, then the plots in the form of the study's."""
    name = item.study.name
    for found in item.beside:
        yield evidence.beside_section(name, found)
    shown = tuple(plots.figure(found) for found in item.plotted if found.points)
    empty = tuple(
        Item(f"{found.plot.title}: no point: {found.lacking[0] if found.lacking else 'no place'}")
        for found in item.plotted
        if not found.points
    )
    if shown or empty:
        title = f"{name}: plots in the form of the study's"
        yield Section(title, figures=shown, items=empty, key=f"{name}-plots")


def _part_sections(study: Study, part: Part, detail: Detail) -> Iterator[Section]:
    """Yield what a run's own report has, and beside it the printed tables not shown above."""
    tasks = {cell.task.name for cell in part.run.manifest.cells}
    above = {table.printed for table in study.compared}
    beside = [table for table in study.tables if table.name not in above and tasks & cost_tasks()]
    try:
        found = document_of(part.run, None, beside)(detail)
    except LsmeterError as error:
        yield Section(f"{study.name}: {part.name}", (error.title,))
        return
    for number, section in enumerate(found.sections):
        title = f"{study.name}: {part.name}: {section.title or found.title}"
        key = re.sub(r"[^a-z0-9-]+", "-", f"{study.name}-{part.name}-{number}")
        yield replace(section, title=title, key=key)
