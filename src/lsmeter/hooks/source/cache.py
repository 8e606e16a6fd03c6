# SPDX-License-Identifier: GPL-2.0-or-later
"""Keeps an analysis for as long as no file that it read has changed.

A file has changed when its size, its time of modification or its inode's time of change has; the
last one no program can set back.
"""

from __future__ import annotations

import hashlib
import zlib
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from lsmeter import storage
from lsmeter.hooks.source.files import Listing
from lsmeter.hooks.source.model import SourceAnalysis

FORMAT = 1  # of the stored form
MAX_STORED_BYTES = 256 * 1024 * 1024


@cache
def _own_code() -> str:
    """Hash this package's code: another version of it may find other things."""
    folder = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def key_of(listing: Listing) -> str:
    """Name the analysis of these files by this code."""
    digest = hashlib.sha256(f"{FORMAT} {_own_code()} {listing.root.resolve()}\n".encode())
    digest.update(f"{[name for name, _ in listing.owners]} {listing.problems}\n".encode())
    for file in listing.files:
        line = f"{file.path} {file.size_bytes} {file.mtime_ns} {file.ctime_ns}\n"
        digest.update(line.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:32]


def load(key: str) -> SourceAnalysis | None:
    """Return the stored analysis, None when there is none or it is damaged."""
    try:
        packed = _path(key).read_bytes()
        reader = zlib.decompressobj()
        data = reader.decompress(packed, MAX_STORED_BYTES)
        if reader.unconsumed_tail:
            return None
        return TypeAdapter(SourceAnalysis).validate_json(data)
    except (OSError, zlib.error, ValidationError):
        return None


def store(key: str, analysis: SourceAnalysis) -> None:
    """Store an analysis."""
    data = TypeAdapter(SourceAnalysis).dump_json(analysis)
    storage.write_atomic(_path(key), zlib.compress(data, 3))


def _path(key: str) -> Path:
    return storage.cache_dir() / "hooks-source" / f"{key}.json.z"
