# SPDX-License-Identifier: GPL-2.0-or-later
"""Readings of each benchmark, and the whole cost of its cycle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lsmeter.core.model import Cell
from lsmeter.measure.tasks import TaskKind


def costs(cell: Cell) -> Mapping[str, Any]:
    """Ask for the whole cost as well, unless cycles cannot follow each other plainly."""
    alone = cell.sampling.cold or cell.setup.before
    return {"whole_ppm": 0 if alone else cell.sampling.whole_ppm}


TASK = TaskKind("readings", "readings and whole costs", costs, costs=True)
