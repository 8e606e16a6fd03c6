# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter list` and `lsmeter doctor`: what can be named, and what this machine lacks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from lsmeter.cli import names
from lsmeter.cli.names import KINDS, Row
from lsmeter.cli.options import Options, argument, declared
from lsmeter.cli.show import listed, show
from lsmeter.core.errors import ExitCode, UsageError
from lsmeter.core.registry import unknown
from lsmeter.questions.hooks.command import coverage
from lsmeter.tables.model import Document, Kind, Table, columns

HOOKS = "hooks"


def names_document(kind: str, found: Iterable[Row]) -> Document:
    """Make the list of one kind of names; pure."""
    heads = (*columns(Kind.NAME, "name"), *columns(Kind.PROSE, "title"))
    return listed("lsmeter-list", kind.capitalize(), Table(kind, "", heads, tuple(found)))


def list_names(
    kind: Annotated[str, argument("KIND", f"{', '.join(KINDS)}, hooks.", names.kinds)],
    kernel: Annotated[str | None, declared("list.kernel")] = None,
) -> int:
    """List the names that options and experiment files take.

    `lsmeter list hooks --kernel KERNEL` shows which of its hooks the suites reach: what is not
    known is counted first, as `lsmeter hooks coverage` does.
    """
    if kind == HOOKS:
        return coverage(Options(kernel=[kernel] if kernel else None))
    if kind not in KINDS:
        raise unknown("list", kind, (*KINDS, HOOKS))
    if kernel is not None:
        raise UsageError(f"--kernel: a list of {kind} has none", hint="only: lsmeter list hooks")
    show(names_document(kind, KINDS[kind]()))
    return int(ExitCode.OK)


def doctor(
    *,
    fresh: Annotated[bool, declared("doctor.fresh")] = False,
    machine: Annotated[str | None, declared("doctor.machine")] = None,
    insecure: Annotated[bool, declared("doctor.insecure")] = False,
) -> int:
    """Check this machine: QEMU, compiler, memory, disk, KVM.

    Each line says how one thing is, and how to get it where it is missing. KVM is tested by
    booting guests under a deadline; what came of it is kept for a day where they ended, for an
    hour where they did not. With --machine dask:ADDRESS it says of each worker whether it would
    make the cells of a plan, and what differs. The exit code is 7 when something needed is missing.
    """
    from lsmeter.cli.doctor import State, doctor_document, findings, worker_findings

    if machine is None:
        found, title = list(findings(fresh=fresh)), "This machine"
    else:
        found, title = list(worker_findings(machine, insecure=insecure)), "Workers"
    show(doctor_document(found, title))
    missing = any(finding.state is State.MISSING for finding in found)
    return int(ExitCode.INFRASTRUCTURE if missing else ExitCode.OK)
