# SPDX-License-Identifier: GPL-2.0-or-later
"""The pages, the feed, the plain text and the JSON of a site; pure: files by their names."""

from __future__ import annotations

import functools
import json
import math
import re
import textwrap
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2

from lsmeter import __version__
from lsmeter.core.groups import grouped
from lsmeter.core.model.conclusion import Number
from lsmeter.core.printable import printable
from lsmeter.questions.publish.drawing import HEIGHT, WIDTH, Drawing, drawings
from lsmeter.questions.publish.figures import Graph, Line, Point, Release, Site, Step
from lsmeter.tables import numbers
from lsmeter.tables.fields import Row, named
from lsmeter.tables.pages import make_environment
from lsmeter.tables.values import change, count, many, natural, percent

TITLE = "What Linux Security Modules cost, by kernel release"
COLUMNS = 72
_OF_SETUP = 8  # lines of one graph: what colours tell apart
_DIGITS = 6
_NUMBERS = {Number.TYPICAL: "typical call", Number.MEAN: "mean", Number.WHOLE: "whole cycle"}


@dataclass(frozen=True)
class Plot:
    """A graph of several lines in all states of its switches, and what its table says."""

    key: str  # what a link to it names
    title: str
    said: str
    unit: str
    lines: tuple[tuple[int, Line], ...]
    names: tuple[str, ...]  # of the lines, in their order
    drawings: tuple[Drawing, ...]
    newest: tuple[Point, ...]  # of each line, of the releases that are drawn


def slug(text: str) -> str:
    """Return text as a name of a file or an anchor, the same wherever it is made."""
    return re.sub(r"[^A-Za-z0-9.+~_]+", "-", text).strip("-.") or "x"


def key_of(graph: Graph) -> str:
    """Return the stable name of a panel within its operation's page."""
    return slug(" ".join((graph.benchmark, *graph.said)))


def operation_page(graph: Graph) -> str:
    """Return the page of a graph's operation."""
    return f"op/{slug(f'{graph.suite} {graph.operation}')}.html"


def files(site: Site, news: Sequence[Step]) -> dict[str, str]:
    """Return every file of a site; news: the steps that an earlier site had not."""
    pages = (*_top(site), *_operations(site), *_setups(site), *_series(site), *_kernels(site))
    found = {
        name: _render(template, site=site, root="../" * name.count("/"), **values)
        for name, template, values in pages
    }
    found |= {
        "style.css": _environment().get_template("style.css").render(),
        "changes.atom": _render("changes.atom.j2", site=site, releases=_by_release(site.steps)),
        "changes.txt": plain_text(site.steps, "no overhead changed by more than the margin"),
        "news.txt": plain_text(news, ""),
    }
    return {
        # Names are a stranger's: a terminal obeys some characters, and a feed allows few.
        **{
            name: "\n".join(printable(line, "\t") for line in text.split("\n"))
            for name, text in found.items()
        },
        "site.json": json.dumps(data(site), separators=(",", ":"), ensure_ascii=False) + "\n",
    }


_Page = tuple[str, str, dict[str, Any]]  # its name, its template, and what that takes


def _top(site: Site) -> Iterator[_Page]:
    series = grouped((item.series, item) for item in site.releases[::-1])
    releases = _by_release(site.steps)
    values = {"title": TITLE, "latest": releases[:3], "series_of": series}
    yield "index.html", "index.html.j2", values
    values = {"title": "Changes, the newest release first", "releases": releases}
    yield "changes.html", "changes.html.j2", values


def _by_release(steps: Iterable[Step]) -> list[tuple[Release, list[Step]]]:
    return list(grouped((step.after.release, step) for step in steps).items())


def _operations(site: Site) -> Iterator[_Page]:
    by_page = grouped((operation_page(line.graph), line) for line in site.lines)
    for page, lines in by_page.items():
        title = f"{lines[0].graph.operation} ({lines[0].graph.suite})"
        values = {"title": title, "plots": list(_panels(lines, site)), "linked": True}
        yield page, "graphs.html.j2", values


def _panels(lines: Iterable[Line], site: Site, series: str = "") -> Iterator[Plot]:
    """Give a graph for each benchmark in each place: a line for each setup."""
    setups = list(dict.fromkeys(line.graph.setup for line in site.lines))
    panels = grouped((line.graph.panel, line) for line in lines)
    for graph, found in sorted(panels.items(), key=lambda item: natural(item[0].benchmark)):
        mine = {point.release for line in found for point in line.points}
        shown = [item for item in site.releases if item in mine and series in ("", item.series)]
        names = tuple(line.graph.setup for line in found)
        ranked = tuple((setups.index(line.graph.setup), line) for line in found)
        yield _plot(key_of(graph), graph.benchmark, names, ranked, shown)


def _setups(site: Site) -> Iterator[_Page]:
    for setup, lines in grouped((line.graph.setup, line) for line in site.lines).items():
        values = {
            "title": f"{setup}, over {lines[0].graph.baseline}",
            "plots": list(_setup_plots(lines, site)),
            "linked": False,
            "releases": _by_release(s for s in site.steps if s.after.graph.setup == setup),
        }
        yield f"setup/{slug(setup)}.html", "graphs.html.j2", values


def _setup_plots(lines: Iterable[Line], site: Site) -> Iterator[Plot]:
    """Give graphs of a setup with a line for each benchmark, as many in each as colours tell."""
    kinds = grouped(((line.graph.suite, line.graph.unit, line.graph.said), line) for line in lines)
    for (suite, _, said), mine in kinds.items():
        shown = [item for item in site.releases if item.arch == mine[0].graph.arch]
        for first in range(0, len(mine), _OF_SETUP):
            part = tuple(enumerate(mine[first : first + _OF_SETUP]))
            names = tuple(line.graph.benchmark for _, line in part)
            key = slug(f"{suite} {names[0]} {' '.join(said)}")
            yield _plot(key, f"suite {suite}", names, part, shown)


def _plot(
    key: str,
    title: str,
    names: tuple[str, ...],
    lines: tuple[tuple[int, Line], ...],
    shown: Sequence[Release],
) -> Plot:
    """Draw lines of one unit, which are told apart by these names, over some releases."""
    graph = lines[0][1].graph
    newest = tuple(
        next(point for point in line.points[::-1] if point.release in shown) for _, line in lines
    )
    said, drawn = ", ".join(graph.said), drawings(lines, shown)
    return Plot(key, title, said, graph.unit, lines, names, drawn, newest)


def _series(site: Site) -> Iterator[_Page]:
    for series, releases in grouped((item.series, item) for item in site.releases).items():
        lines = [
            line
            for line in site.lines
            if any(point.release.series == series for point in line.points)
        ]
        several = max(Counter(item.arch for item in releases).values()) > 1
        values = {
            "title": f"Linux {series}: {many(len(releases), 'build')}",
            "plots": list(_panels(lines, site, series)) if several else [],
            "linked": False,
            "kernels": releases[::-1],
            "releases": _by_release(s for s in site.steps if s.after.release.series == series),
        }
        yield f"series/{slug(series)}.html", "graphs.html.j2", values


def _kernels(site: Site) -> Iterator[_Page]:
    """Give a page for each version and architecture; two builds of one stand on one page."""
    points = [point for line in site.lines for point in line.points]
    for page, found in grouped((kernel_page(point.release), point) for point in points).items():
        label = found[0].release.label
        values = {
            "title": f"Linux {label}",
            "builds": list(dict.fromkeys(point.release for point in found)),
            "setups": grouped((point.graph.setup, point) for point in found),
            "runs": list({p.origin.run: p.origin for p in found}.values()),
            "problems": [item for item in site.problems if item.kernel == label],
        }
        yield page, "kernel.html.j2", values


def kernel_page(release: Release) -> str:
    """Return the page of a release."""
    return f"k/{slug(release.label)}.html"


def link_of(point: Point) -> str:
    """Return where a point's run, command and digests are."""
    return f"{kernel_page(point.release)}#{slug(point.graph.setup)}"


def graph_link(graph: Graph) -> str:
    """Return where a graph is."""
    return f"{operation_page(graph)}#{key_of(graph)}"


def step_id(step: Step) -> str:
    """Name a step, the same in every site that has it."""
    return slug(f"{step.after.release.name} {step.after.graph.setup} {key_of(step.after.graph)}")


def shown(point: Point) -> str:
    """Write a point's overhead with its verdict, as a report does: of the number that decided."""
    item = point.found
    mark = numbers.VERDICT_MARKS[item.verdict] + numbers.DECIDED_MARKS[item.decided_by]
    return f"{numbers.overhead(item.overhead, item.verdict)} % {mark}"


def caption(point: Point, drawn: Number) -> str:
    """Write a point with the name of its number, and of the one that is drawn if it is another."""
    number = point.found.decided_by
    names = [] if number is Number.TYPICAL else [_NUMBERS[number]]
    names += [] if drawn is number else [f"drawn: {_NUMBERS[drawn]}"]
    return f"{shown(point)} ({'; '.join(names)})" if names else shown(point)


def overheads(step: Step) -> str:
    """Write both overheads of the number that changed."""
    old, new = map(percent, step.change.overheads)
    number = step.change.number
    of = "" if number is Number.TYPICAL else f" ({_NUMBERS[number]})"
    return f"{old} → {new}{of}"


def amount(step: Step) -> str:
    """Write how much the change is."""
    unit = numbers.unit_word(step.after.graph.unit)
    of = step.change
    return f"{of.points.value * 100:+.1f} points, {change(round(of.difference.value, 1))} {unit}"


def cause(step: Step) -> str:
    """Say in which hook and function most of it is, or that it is all the baseline's."""
    moved = step.moved
    if step.is_of_baseline:
        old, new = (count(side.baseline_value) for side in step.change.sides)
        unit = numbers.unit_word(step.after.graph.unit)
        return f"it adds as many as before; the baseline went from {old} to {new} {unit}"
    if moved is None:
        return "not attributed"
    function = f", most in {moved.function} {_insns(moved.function_insns)}" * bool(moved.function)
    return f"{moved.hook or 'outside of hooks'} {_insns(moved.hook_insns)} instructions{function}"


def _insns(value: float) -> str:
    return change(round(value, 1) + 0.0)


def plain_text(steps: Sequence[Step], nothing: str) -> str:
    """Write steps for mail, at most 72 columns wide."""
    if not steps:
        return f"{nothing}\n" if nothing else ""
    found = []
    for release, mine in _by_release(steps):
        found += ["", f"Linux {release.label}"]
        for step in mine:
            graph = step.after.graph
            said = f" ({', '.join(graph.said)})" if graph.said else ""
            found += _wrapped(f"{graph.setup}: {graph.benchmark}{said}: {overheads(step)}", 2)
            found += _wrapped(f"{amount(step)}, since {step.before.release.label}", 4)
            found += _wrapped(cause(step), 4)
            found += _wrapped(f"also: {'; '.join(step.beside)}", 4) if step.beside else []
    return "\n".join(found[1:]) + "\n"


def _wrapped(text: str, indent: int) -> list[str]:
    first, then = " " * indent, " " * (indent + 2)
    plain = text.replace("→", "->")
    return textwrap.wrap(plain, COLUMNS, initial_indent=first, subsequent_indent=then)


def data(site: Site) -> dict[str, Any]:
    """Return all of a site as plain values (`lsmeter help publish`)."""
    places = {release: index for index, release in enumerate(site.releases)}
    graphs = {line.graph: index for index, line in enumerate(site.lines)}
    origins = dict.fromkeys(p.origin for line in site.lines for p in line.points)
    made = {origin: index for index, origin in enumerate(origins)}
    return {
        "format": "lsmeter-site",
        "version": 1,
        "lsmeter_version": __version__,
        "updated": site.updated,
        "kernels": [_KERNEL.entry(item) for item in site.releases],
        "origins": [{**vars(item), "tools": dict(item.tools)} for item in origins],
        "graphs": [_graph(line, places, made) for line in site.lines],
        "changes": [_step(step, places, graphs) for step in site.steps],
        "problems": [_PROBLEM.entry(item) for item in site.problems],
    }


_KERNEL = Row(
    (
        named("version", "name"),
        *map(named, ("release", "series", "origin", "compiler", "arch", "image_sha256")),
    )
)
_PROBLEM = Row(tuple(map(named, ("kernel", "setup", "title", "detail"))))


def _graph(line: Line, places: dict[Release, int], made: dict[Any, int]) -> dict[str, Any]:
    """Return a graph: lists have a value for each of its points."""
    points = [point.found for point in line.points]
    return {
        **vars(line.graph),
        "link": graph_link(line.graph),
        "kernel": [places[point.release] for point in line.points],
        "origin": [made[point.origin] for point in line.points],
        **{
            name: [_rounded(getattr(item.decided, name)) for item in points]
            for name in (
                *("overhead", "overhead_low", "overhead_high"),
                *("difference", "baseline_value"),
            )
        },
        "decided_by": [item.decided_by.value for item in points],
        "verdict": [item.verdict.value for item in points],
    }


def _step(step: Step, places: dict[Release, int], graphs: dict[Graph, int]) -> dict[str, Any]:
    return {
        "id": step_id(step),
        "graph": graphs[step.after.graph],
        "kernel": places[step.after.release],
        "since_kernel": places[step.before.release],
        "number": step.change.number.value,
        "points": _rounded(step.change.points.value),
        "difference": _rounded(step.change.difference.value),
        "moved": vars(step.moved) if step.moved else None,
        "is_of_baseline": step.is_of_baseline,
        "beside": list(step.beside),
    }


def _rounded(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    found = round(value, _DIGITS)
    return int(found) if found == int(found) else found


@functools.cache
def _environment() -> jinja2.Environment:
    """Escape everything, and stop at any name that a template has wrong."""
    environment = make_environment("lsmeter.questions.publish")
    environment.globals.update(
        {item.__name__: item for item in (slug, key_of, link_of, graph_link, step_id, shown)}
        | {
            item.__name__: item
            for item in (caption, overheads, amount, cause, operation_page, kernel_page, natural)
        }
    )
    environment.globals.update(
        count=count,
        width=WIDTH,
        height=HEIGHT,
        version=__version__,
        unit_word=numbers.unit_word,
        name=lambda text: uuid.uuid5(uuid.NAMESPACE_URL, f"lsmeter-changes:{text}").urn,
    )
    return environment


def _render(template: str, **values: object) -> str:
    return _environment().get_template(template).render(**values).strip() + "\n"
