# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that another machine gave for a boot, which stand in for those of this one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

PROBE = "lsmeter-probe"
DISK = "disk"  # the packed image of the file system that the guest works on
TREE = "tree"  # the archive of a command's files

_GIVEN: ContextVar[Mapping[str, Path] | None] = ContextVar("given", default=None)


@contextmanager
def using(files: Mapping[str, Path]) -> Iterator[None]:
    """Use these files, by name, in the block and in tasks that it starts."""
    token = _GIVEN.set(files)
    try:
        yield
    finally:
        _GIVEN.reset(token)


def given(name: str) -> Path | None:
    """Return the file given under a name: PROBE, DISK or a program's; None for this machine's."""
    return (_GIVEN.get() or {}).get(name)
