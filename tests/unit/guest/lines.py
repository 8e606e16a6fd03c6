# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of the result channel, as a probe writes them."""

from __future__ import annotations

import zlib
from typing import Any

from lsmeter.guest.request import Request

# What tests are allowed to say besides readings.
ALL = {"count": True, "whole_ppm": 1000}
HELLO = "hello version=2 probe=lsmeter-probe"


def asked(*benchmarks: str, samples: int = 1, **more: Any) -> Request:
    """Return a request for these benchmarks."""
    return Request("file", benchmarks, samples, 0, 4, **more)


def line(body: str) -> bytes:
    data = body.encode()
    return data + b" *%08x\n" % zlib.crc32(data)


def lines(*bodies: str) -> bytes:
    """Return the lines, numbered and signed; the first is hello."""
    return b"".join(line(f"{n} {body}") for n, body in enumerate((HELLO, *bodies)))


def bodies(data: bytes) -> list[str]:
    """Return the lines without their numbers and checksums, but for hello."""
    return [text.split(" ", 1)[1].rsplit(" ", 1)[0] for text in data.decode().splitlines()][1:]


def restated(data: bytes, *changes: tuple[str, str]) -> bytes:
    """Replace text of lines; each change must be one."""
    text = "\n".join(bodies(data))
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return lines(*text.split("\n"))


def whole(index: int) -> tuple[str, ...]:
    """Return the lines of a whole cost: a pair of windows that are seen through, and its end."""
    return (
        f"window {index} 24 816 94072 0 0,2900",
        f"window {index} 12 408 47040 0 0,2900",
        f"whole {index} status=ok errno=0 detail=",
    )


def ended(index: int, *values: int, status: str = "ok", failures: int = 0, why: str = "") -> str:
    """Return the last line of a benchmark; why is `errno=N detail=TEXT`."""
    why = why or "errno=0 detail="
    return f"end {index} status={status} n={len(values)} failures={failures} {why}"


def ran(index: int, benchmark: str, *values: int, more: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the lines of a benchmark that ended well, with more between samples and end."""
    samples = f"samples {index} {','.join(map(str, values))}"
    return (f"begin {index} {benchmark}", samples, *more, ended(index, *values))
