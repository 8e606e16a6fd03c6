# SPDX-License-Identifier: GPL-2.0-or-later
"""A run as one file: its files behind an index, compressed, and a digest of all before it is read.

Nothing of what the files hold is read here; sizes and names are checked before anything is written.
"""

from __future__ import annotations

import atexit
import io
import json
import re
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import zstandard

from lsmeter.core.errors import UsageError
from lsmeter.core.inputs import read_file
from lsmeter.core.scratch import scratch
from lsmeter.core.storage import write_atomic
from lsmeter.measure.results.documents import MAX_FILE_BYTES, DamagedResultError, digest_of

SUFFIX = ".lsmeter"
_HEAD = re.compile(rb"lsmeter-pack (\d{1,3}) ([0-9a-f]{64})\n")
_VERSION = 1
_NAME = re.compile(
    r"manifest\.json|boots/[0-9a-z]{1,64}-\d{1,9}/[a-z]{1,20}\.(json|parquet|zst|log)"
)
_MOST_PACKED_BYTES = 1 << 30
_MOST_BYTES = 4 << 30
_MOST_FILES = 100_000
_MOST_INDEX_BYTES = 16 << 20
_INDEX_BYTES = 4  # of the number that says how long the index is


def packed(files: Mapping[str, bytes]) -> bytes:
    """Return the bytes of a pack with these files of a run, by their path in it."""
    index = json.dumps([[name, len(data)] for name, data in files.items()]).encode()
    size = len(index).to_bytes(_INDEX_BYTES, "little")
    body = zstandard.compress(b"".join((size, index, *files.values())))
    return f"lsmeter-pack {_VERSION} {digest_of(body)}\n".encode() + body


@cache
def unpacked(path: Path) -> Path:
    """Return a run directory with what a pack holds, which is removed when lsmeter ends."""
    try:
        data = read_file(path, _MOST_PACKED_BYTES, "a run that was packed")
    except OSError as error:
        raise UsageError(f"{path}: cannot read it: {error.strerror}") from error
    head = _HEAD.match(data)
    if head is None or int(head[1]) != _VERSION:
        raise UsageError(
            f"{path}: neither a run directory nor a run that this lsmeter has packed",
            hint="lsmeter pack RUN makes one",
        )
    body = data[head.end() :]
    if digest_of(body) != head[2].decode():
        raise _damaged(path, "its digest is not the one it carries")
    stack = ExitStack()
    atexit.register(stack.close)
    home = stack.enter_context(scratch("pack"))
    try:
        with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(body)) as stream:
            for name, size in _index(path, stream).items():
                if len(content := stream.read(size)) != size:
                    raise _damaged(path, f"{name} is cut")
                write_atomic(home / name, content, lasting=False)
            if stream.read(1):
                raise _damaged(path, "it holds more than its index says")
    except zstandard.ZstdError as error:
        raise _damaged(path, str(error)) from None
    return home


def _damaged(path: Path, reason: str) -> DamagedResultError:
    return DamagedResultError(path, reason, "copy it again, or make it again: lsmeter pack RUN")


def _index(path: Path, stream: zstandard.ZstdDecompressionReader) -> dict[str, int]:
    """Read the names and sizes of the files."""
    size = int.from_bytes(stream.read(_INDEX_BYTES), "little")
    if size > _MOST_INDEX_BYTES:
        raise _damaged(path, "its index is too long")
    try:
        listed = [(str(name), int(length)) for name, length in json.loads(stream.read(size))]
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise _damaged(path, "its index cannot be read") from None
    files = dict(listed)
    fine = all(_NAME.fullmatch(name) and 0 <= files[name] <= MAX_FILE_BYTES for name in files)
    if not fine or len(listed) != len(files) or len(files) > _MOST_FILES:
        raise _damaged(path, "its index names what is no file of a run")
    if sum(files.values()) > _MOST_BYTES:
        raise _damaged(path, f"unpacks to more than {_MOST_BYTES} bytes")
    return files
