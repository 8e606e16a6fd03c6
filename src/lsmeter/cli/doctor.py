# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter doctor`: what this machine has, lacks, and how to get it."""

from __future__ import annotations

import typer
from rich.markup import escape

from lsmeter.cli.console import SCREEN
from lsmeter.doctor.check import State
from lsmeter.errors import ExitCode

_STYLES = {State.OK: "green", State.LIMITED: "yellow", State.MISSING: "bold red"}


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor)


def doctor() -> int:
    """Check QEMU, the probe, the compiler, memory, disk, and whether KVM truly works.

    Each line says how one thing is, and how to get it where it is missing. KVM is proved by
    booting a guest under a deadline. The exit code is 7 when something needed is missing.
    """
    from lsmeter.doctor.checks import CHECKS

    worst = ExitCode.OK
    for check in CHECKS:
        finding = check()
        style = _STYLES[finding.state]
        hint = f" [cyan]→ {escape(finding.hint)}[/]" if finding.hint else ""
        SCREEN.out.print(
            f"[{style}]{finding.state.value:8}[/]{finding.name:10} {escape(finding.text)}{hint}",
            soft_wrap=True,
        )
        if finding.state is State.MISSING:
            worst = ExitCode.INFRASTRUCTURE
    return int(worst)
