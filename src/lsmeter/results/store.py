# SPDX-License-Identifier: GPL-2.0-or-later
"""The store of measured boots that all runs share: by the cell's hash, nothing is measured twice.

Only boots that ended well are kept here, so that what failed is tried again by the next run.
"""

from __future__ import annotations

from pathlib import Path

from lsmeter.errors import InfrastructureError
from lsmeter.plan import PlannedBoot
from lsmeter.results.boots import BOOT_FILE, StoredBoot, read_boot
from lsmeter.storage import data_dir


def stored_path(planned: PlannedBoot) -> Path:
    """Return where the boot is kept, whether or not it is there yet."""
    return data_dir() / "boots" / planned.cell.hash / f"seed-{planned.seed}"


def find_stored(planned: PlannedBoot) -> tuple[Path, StoredBoot] | None:
    """Return the boot if it was measured before; a damaged entry counts as not measured."""
    path = stored_path(planned)
    if not (path / BOOT_FILE).is_file():
        return None
    try:
        found = read_boot(path)
    except InfrastructureError:
        return None
    return (path, found) if found.boot.cell_hash == planned.cell.hash else None
