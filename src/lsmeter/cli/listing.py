# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter list` and `lsmeter doctor`: what can be named, and what this machine lacks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from lsmeter.base.errors import ExitCode
from lsmeter.base.registry import unknown
from lsmeter.cli.show import FormatOption, OutputOption, listed, show
from lsmeter.tables.model import Document, Kind, columns

Row = tuple[str, str]


def names_document(kind: str, found: Iterable[Row]) -> Document:
    """Make the list of one kind of names; pure."""
    heads = (*columns(Kind.NAME, "name"), *columns(Kind.PROSE, "title"))
    return listed("lsmeter-list", kind.capitalize(), kind, heads, found)


def _setups() -> Iterable[Row]:
    from lsmeter.setups import definitions

    for definition in definitions().values():
        yield definition.setup.name, definition.setup.title
        for item in definition.parameters:
            told = f"{item.title}, {item.accepts}, default {item.default}"
            yield f"  :{item.name}={item.kind}", told
    yield "a+b+c", "a stack of modules, in this order"


def _benchmarks() -> Iterable[Row]:
    from lsmeter.guest.probe import catalogue, find_probe

    return [(item.id, f"{item.title} [{item.origin}]") for item in catalogue(find_probe())]


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

    return [(item.name, item.title) for item in instruments().values()]


def _filesystems() -> Iterable[Row]:
    from lsmeter.machines import machines

    titles = {"tmpfs": "in memory, no disk involved", "ext4": "on a RAM disk, mke2fs defaults"}
    names = dict.fromkeys(name for item in machines().values() for name in item.filesystems)
    return [(name, titles.get(name, "")) for name in names]


def _formats() -> Iterable[Row]:
    from lsmeter.tables.render import formats

    return [(item.name, item.title) for item in formats()]


KINDS = {
    "setups": _setups,
    "suites": _suites,
    "benchmarks": _benchmarks,
    "kernels": _kernels,
    "instruments": _instruments,
    "filesystems": _filesystems,
    "formats": _formats,
}


def list_names(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=f"One of {', '.join(KINDS)}.")],
    form: FormatOption = "table",
    output: OutputOption = None,
) -> None:
    """List the names that options and experiment files take, each with one line on it."""
    if kind not in KINDS:
        raise unknown("list", kind, KINDS)
    show(names_document(kind, KINDS[kind]()), form, output)


def doctor(form: FormatOption = "table", output: OutputOption = None) -> int:
    """Check QEMU, the probe, the compiler, memory, disk, and whether KVM works.

    Each line says how one thing is, and how to get it where it is missing. KVM is tested by
    booting a guest under a deadline. The exit code is 7 when something needed is missing.
    """
    from lsmeter.doctor import State, doctor_document, findings

    found = list(findings())
    show(doctor_document(found), form, output)
    missing = any(finding.state is State.MISSING for finding in found)
    return int(ExitCode.INFRASTRUCTURE if missing else ExitCode.OK)
