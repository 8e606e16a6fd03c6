# SPDX-License-Identifier: GPL-2.0-or-later
"""Signals that end a program: each interrupts as Ctrl-C does; imports nothing of lsmeter."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

_INTERRUPTED = 130  # as lsmeter.core.errors.ExitCode has it
_AGAIN_S = 0.01

RECEIVED: list[int] = []  # a library may turn the exception into one of its own


def interrupt(number: int, _frame: FrameType | None) -> NoReturn:
    """Interrupt what runs: it may clean up."""
    RECEIVED.append(number)
    raise KeyboardInterrupt


def leave(_number: int, _frame: FrameType | None) -> NoReturn:
    """End at once, while there is nothing to clean up."""
    os._exit(_INTERRUPTED)


def heed_signals(handler: Callable[[int, FrameType | None], object] = interrupt) -> None:
    """Handle the signals that end a program; a terminal's end stays ignored where it is (nohup).

    A shell has its background jobs ignore SIGINT; who sends it to one by hand means it.
    """
    sys.unraisablehook = _swallowed
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _swallowed(unraisable: sys.UnraisableHookArgs) -> None:
    """Interrupt once more where Python or a library drops what is raised (finalizers, C code)."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)
    else:
        sys.__unraisablehook__(unraisable)
