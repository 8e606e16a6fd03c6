# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter list`: what can be named on the command line and in experiment files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from lsmeter.cli.show import FormatOption, OutputOption, show

if TYPE_CHECKING:
    from lsmeter.setups import Choice, Parameter
    from lsmeter.tables.model import Document

Row = tuple[str, str]


class Kind(StrEnum):
    """What can be listed."""

    SETUPS = "setups"
    SUITES = "suites"
    BENCHMARKS = "benchmarks"
    KERNELS = "kernels"
    INSTRUMENTS = "instruments"
    FILESYSTEMS = "filesystems"
    FORMATS = "formats"


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("list")(list_names)


def list_names(
    kind: Annotated[Kind, typer.Argument(help="What to list.", show_default=False)],
    form: FormatOption = "table",
    output: OutputOption = None,
) -> None:
    """List the names that options and experiment files take, each with one line on it."""
    show(names_document(kind, _LISTS[kind]()), form, output)


def names_document(kind: str, found: Iterable[Row]) -> Document:
    """Make the list of one kind of names; pure."""
    from lsmeter.tables.model import Column, Document, Kind, Section, Table, rows

    heads = (Column("name", "name", Kind.NAME), Column("title", "title", Kind.PROSE))
    section = Section("", tables=(Table(kind, "", heads, rows(found)),))
    return Document("lsmeter-list", 1, kind.capitalize(), sections=(section,))


def _setups() -> Iterable[Row]:
    from lsmeter.setups import definitions

    for definition in definitions().values():
        yield definition.setup.name, definition.setup.title
        for parameter in definition.parameters:
            yield _parameter(parameter)
    yield "a+b+c", "a stack of modules, in this order"


def _parameter(parameter: Parameter | Choice) -> Row:
    from lsmeter.setups import Choice

    if isinstance(parameter, Choice):
        value, limits = "WORD", ", ".join(parameter.choices)
    else:
        value, limits = "N", "{} to {}".format(*parameter.limits)
    told = f"{parameter.title}, {limits}, default {parameter.default}"
    return f"  :{parameter.name}={value}", told


def _benchmarks() -> Iterable[Row]:
    from lsmeter.guest.probe import catalogue, find_probe

    for benchmark in catalogue(find_probe()):
        yield benchmark.id, f"{benchmark.title} [{benchmark.origin}]"


def _suites() -> Iterable[Row]:
    from lsmeter.guest.probe import catalogue, find_probe

    suites: dict[str, list[str]] = {}
    for benchmark in catalogue(find_probe()):
        suites.setdefault(benchmark.suite, []).append(benchmark.operation)
    for suite, operations in suites.items():
        names = ", ".join(dict.fromkeys(operations))
        yield suite, f"{len(operations)} benchmarks: {names}"


def _kernels() -> Iterable[Row]:
    from lsmeter.kernels.resolve import listings

    for listing in listings():
        state = f" (cached: {listing.version})" if listing.cached else ""
        yield listing.name, listing.title + state


def _instruments() -> Iterable[Row]:
    from lsmeter.instruments import instruments

    for instrument in instruments().values():
        yield instrument.name, instrument.title


def _filesystems() -> Iterable[Row]:
    from lsmeter.machines.machine import machines

    titles = {"tmpfs": "in memory, no disk involved", "ext4": "on a RAM disk, mke2fs defaults"}
    names = dict.fromkeys(name for item in machines().values() for name in item.filesystems)
    for name in names:
        yield name, titles.get(name, "")


def _formats() -> Iterable[Row]:
    from lsmeter.tables.render import formats

    for item in formats():
        yield item.name, item.title


_LISTS: dict[Kind, Callable[[], Iterable[Row]]] = {
    Kind.SETUPS: _setups,
    Kind.SUITES: _suites,
    Kind.BENCHMARKS: _benchmarks,
    Kind.KERNELS: _kernels,
    Kind.INSTRUMENTS: _instruments,
    Kind.FILESYSTEMS: _filesystems,
    Kind.FORMATS: _formats,
}
