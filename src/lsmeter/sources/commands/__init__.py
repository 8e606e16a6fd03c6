# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands with all the files that they need, as archives that guests unpack."""

from __future__ import annotations

from pathlib import Path

from lsmeter.core.storage import cache_dir


def tree_path(sha256: str) -> Path:
    """Return where the archive of a tree is kept, by its digest."""
    return cache_dir() / "trees" / f"{sha256}.cpio"
