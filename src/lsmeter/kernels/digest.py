# SPDX-License-Identifier: GPL-2.0-or-later
"""Names files by their content."""

from __future__ import annotations

import hashlib
from pathlib import Path

from lsmeter.errors import InfrastructureError


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hex digits; InfrastructureError when it is unreadable."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InfrastructureError(
            f"cannot read {path}: {error.strerror}", hint="make it readable and try again"
        ) from error
