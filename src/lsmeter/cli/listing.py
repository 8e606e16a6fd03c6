# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter list` and `lsmeter doctor`: what can be named, and what this machine lacks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from lsmeter.base.errors import ExitCode
from lsmeter.base.registry import unknown
from lsmeter.cli import names
from lsmeter.cli.names import KINDS, Row
from lsmeter.cli.show import listed, show
from lsmeter.tables.model import Document, Kind, columns


def names_document(kind: str, found: Iterable[Row]) -> Document:
    """Make the list of one kind of names; pure."""
    heads = (*columns(Kind.NAME, "name"), *columns(Kind.PROSE, "title"))
    return listed("lsmeter-list", kind.capitalize(), kind, heads, found)


def list_names(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND", help=f"One of {', '.join(KINDS)}.", autocompletion=names.kinds
        ),
    ],
) -> None:
    """List the names that options and experiment files take, each with one line on it."""
    if kind not in KINDS:
        raise unknown("list", kind, KINDS)
    show(names_document(kind, KINDS[kind]()))


def doctor(
    *,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Boot guests on KVM again, whatever is known of it.")
    ] = False,
) -> int:
    """Check QEMU, the probe, the compiler, memory, disk, and whether KVM works.

    Each line says how one thing is, and how to get it where it is missing. KVM is tested by
    booting guests under a deadline; what came of it is kept for a day where they ended, for an
    hour where they did not. The exit code is 7 when something needed is missing.
    """
    from lsmeter.doctor import State, doctor_document, findings

    found = list(findings(fresh=fresh))
    show(doctor_document(found))
    missing = any(finding.state is State.MISSING for finding in found)
    return int(ExitCode.INFRASTRUCTURE if missing else ExitCode.OK)
