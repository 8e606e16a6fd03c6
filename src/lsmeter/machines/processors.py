# SPDX-License-Identifier: GPL-2.0-or-later
"""Processors of this machine, each held by one guest at a time."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator


@contextlib.contextmanager
def hold_processor() -> Iterator[int | None]:
    """Hold a processor that no other guest of this machine holds; None: there is none left.

    The hold is a name of an abstract socket, which the kernel frees with its owner.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as held:
        for number in sorted(os.sched_getaffinity(0)):
            with contextlib.suppress(OSError):
                held.bind(f"\0lsmeter-processor-{number}")
                break
        else:
            number = None
        yield number
