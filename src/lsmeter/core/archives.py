# SPDX-License-Identifier: GPL-2.0-or-later
"""Archives from outside: what tarfile reads whole is bounded."""

from __future__ import annotations

import tarfile

_MOST_HEADER_BYTES = 1 << 20
_HEADERS = (
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
)


class BoundedMember(tarfile.TarInfo):
    """A member whose long names and attributes are refused where they would fill the memory."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo | None:
        if self.type in _HEADERS and self.size > _MOST_HEADER_BYTES:
            raise tarfile.ReadError("a header is too long")
        found: tarfile.TarInfo | None = super()._proc_member(archive)  # type: ignore[misc]
        return found
