# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands that are interrupted, ended or killed, at every stage of a run."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.faults.case import Case
from tests.faults.field import MAIN, Ended, Field, until


def _stored(field: Field) -> list[Path]:
    return list(field.home.glob("data/boots/*/*/boot.json"))


_ENDINGS = {signal.SIGINT: {130}, signal.SIGTERM: {130}, signal.SIGKILL: {-9}}
_FIRST = "before anything"
# What is there when the signal comes; a run that is over by then has ended well.
_STAGES: dict[str, Callable[[Field], object]] = {
    _FIRST: lambda _: True,
    "once the run directory is there": lambda field: field.run_dir.exists(),
    "once the manifest is there": lambda field: (field.run_dir / "manifest.json").exists(),
    "while the first boot is written": lambda field: list(field.home.glob("data/boots/*/*")),
    "after one boot": _stored,
    "after two boots": lambda field: len(_stored(field)) > 1,
    "while boots are copied": lambda field: list(field.run_dir.glob("boots/*")),
    "while the report is made": lambda field: list(field.run_dir.glob("boots/*/boot.json"))[3:],
}


def _send(number: signal.Signals, ready: Callable[[Field], object], field: Field) -> Ended:
    def meddle(pid: int) -> None:
        until(lambda: ready(field), pid)
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return

    return field(*MAIN, meddle=meddle)


def _stopped(field: Field) -> Ended:
    """Stop the tool for a while in the middle, as Ctrl-Z and `fg` do."""

    def meddle(pid: int) -> None:
        until(lambda: _stored(field), pid)
        try:
            os.kill(pid, signal.SIGSTOP)
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            return

    return field(*MAIN, meddle=meddle)


# Boots that were stored before the signal: the next run takes them from there.
_KEPT = {"after one boot": 1, "after two boots": 2, "while the report is made": 4}
CASES = [
    Case(
        "killed",
        f"{number.name} {stage}",
        partial(_send, number, ready),
        frozenset({0, *codes, -number.value} if stage == _FIRST else {0, *codes}),
        kept=_KEPT.get(stage, 0),
    )
    for number, codes in _ENDINGS.items()
    for stage, ready in _STAGES.items()
    if (number, stage) != (signal.SIGINT, _FIRST)  # Python itself is still starting
]
CASES.append(Case("killed", "stopped and continued", _stopped, frozenset({0}), kept=4))
