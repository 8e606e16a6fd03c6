# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns: the processes of one block measure in turns of a few readings each.

What they share is a page that has no name in any directory, and goes when nobody has it open; the
probe's side is probe/sampler/scheduling.c.
"""

from __future__ import annotations

import os
import secrets
import struct
from collections.abc import Iterator
from contextlib import contextmanager

_HEAD = struct.Struct("=I28s16x")  # how many they are, and the ring's name; the rest is theirs
_SEAT_BYTES = 32


# Among those that take turns, as the probe is told: the page that they share, the number in it.
Seat = tuple[str, str]


@contextmanager
def seats(count: int) -> Iterator[tuple[Seat, ...]]:
    """Give places to so many processes of this machine and user."""
    page = os.memfd_create("lsmeter-turns")
    try:
        os.write(page, blank(count))
        path = f"/proc/{os.getpid()}/fd/{page}"
        yield tuple((path, str(place)) for place in range(count))
    finally:
        os.close(page)


def blank(count: int) -> bytes:
    """Return the page as it is before anybody has come."""
    return _HEAD.pack(count, secrets.token_hex(8).encode()) + bytes(count * _SEAT_BYTES)
