# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of the result channel, as a probe writes them."""

from __future__ import annotations

import zlib

HELLO = "hello version=1 probe=lsmeter-probe"


def line(body: str) -> bytes:
    data = body.encode()
    return data + b" *%08x\n" % zlib.crc32(data)


def lines(*bodies: str) -> bytes:
    """Return the lines, numbered and signed; the first is hello."""
    return b"".join(line(f"{n} {body}") for n, body in enumerate((HELLO, *bodies)))


def ended(index: int, *values: int, status: str = "ok", failures: int = 0, why: str = "") -> str:
    """Return the last line of a benchmark; why is `errno=N detail=TEXT`."""
    why = why or "errno=0 detail="
    return f"end {index} status={status} n={len(values)} failures={failures} {why}"


def ran(index: int, benchmark: str, *values: int, more: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the lines of a benchmark that ended well, with more between samples and end."""
    samples = f"samples {index} {','.join(map(str, values))}"
    return (f"begin {index} {benchmark}", samples, *more, ended(index, *values))
