# SPDX-License-Identifier: GPL-2.0-or-later
"""Archives from outside: what tarfile reads whole is bounded, and what is damaged is found."""

from __future__ import annotations

import lzma
import tarfile
import zlib

_MOST_HEADER_BYTES = 1 << 20
_PIECE_BYTES = 1 << 20
_HEADERS = (
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
)
# What reading an archive raises where it is damaged.
BROKEN = (tarfile.TarError, EOFError, ValueError, lzma.LZMAError, zlib.error, OSError)


class BoundedMember(tarfile.TarInfo):
    """A member whose long names and attributes are refused where they would fill the memory."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo | None:
        if self.type in _HEADERS and self.size > _MOST_HEADER_BYTES:
            raise tarfile.ReadError("a header is too long")
        found: tarfile.TarInfo | None = super()._proc_member(archive)  # type: ignore[misc]
        return found


def is_of_disk(error: Exception) -> bool:
    """Say whether it is a disk that failed: what bz2 and gzip raise of damage has no number."""
    return isinstance(error, OSError) and error.errno is not None


def check_end(archive: tarfile.TarFile) -> None:
    """Read on where the last member ended, as tarfile saw it: that may be damage.

    What packs the archive checks its sum only there.
    """
    while archive.fileobj and (data := archive.fileobj.read(_PIECE_BYTES)):
        if data.strip(b"\0"):
            raise ValueError("it is damaged")
