# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter doctor`: what this machine has, lacks, and how to get it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from lsmeter.base.errors import ExitCode
from lsmeter.cli.show import FormatOption, OutputOption, show

if TYPE_CHECKING:
    from lsmeter.doctor import Finding
    from lsmeter.tables.model import Document


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor)


def doctor(form: FormatOption = "table", output: OutputOption = None) -> int:
    """Check QEMU, the probe, the compiler, memory, disk, and whether KVM works.

    Each line says how one thing is, and how to get it where it is missing. KVM is tested by
    booting a guest under a deadline. The exit code is 7 when something needed is missing.
    """
    from lsmeter.doctor import State, findings

    found = list(findings())
    show(doctor_document(found), form, output)
    missing = any(finding.state is State.MISSING for finding in found)
    return int(ExitCode.INFRASTRUCTURE if missing else ExitCode.OK)


def doctor_document(findings: Sequence[Finding]) -> Document:
    """Make the table of what was found; pure."""
    from lsmeter.doctor import State
    from lsmeter.tables.model import Document, Kind, Section, Shown, Table, Tone, columns

    tones = {State.OK: Tone.BETTER, State.LIMITED: Tone.WARNING, State.MISSING: Tone.WORSE}
    rows = tuple(
        (
            Shown(finding.state.value, finding.state.value, tones[finding.state]),
            finding.name,
            finding.text,
            finding.hint,
        )
        for finding in findings
    )
    heads = (*columns(Kind.NAME, "state", "what"), *columns(Kind.PROSE, "found", "what to do"))
    section = Section("", tables=(Table("checks", "", heads, rows),))
    return Document("lsmeter-doctor", 1, "This machine", sections=(section,))
