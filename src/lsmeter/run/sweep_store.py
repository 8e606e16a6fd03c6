# SPDX-License-Identifier: GPL-2.0-or-later
"""The store of finished sweeps: what the guest said, by the cell's hash and the seed.

A sweep that is taken from here goes through the same parsing, verification and fitting as a new
one, so that a better fit also serves what was measured before it. As with boots, only what ended
well is kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
from pathlib import Path

import zstandard

from lsmeter.backend import Capture, Ending
from lsmeter.plan import PlannedBoot
from lsmeter.storage import data_dir, write_atomic

_FORMAT = "lsmeter-sweep"
_VERSION = 1
_RESULTS = "results.zst"
_FACTS = "sweep.json"
_MAX_RESULTS_BYTES = 64 << 20


def stored_path(planned: PlannedBoot) -> Path:
    """Return where the sweep is kept, whether or not it is there yet."""
    return data_dir() / "sweeps" / planned.cell.hash / f"seed-{planned.seed}"


def store_sweep(planned: PlannedBoot, capture: Capture) -> None:
    """Keep a sweep that ended well; sweep.json comes last, and says: all is there."""
    home = stored_path(planned)
    document = {
        "format": _FORMAT,
        "version": _VERSION,
        "cell_hash": planned.cell.hash,
        "seed": planned.seed,
        "results_sha256": hashlib.sha256(capture.results).hexdigest(),
        "exit_code": capture.exit_code,
        "wall_s": round(capture.wall_s, 3),
    }
    write_atomic(home / _RESULTS, zstandard.compress(capture.results))
    write_atomic(home / _FACTS, (json.dumps(document, indent=1) + "\n").encode())


def find_sweep(planned: PlannedBoot) -> Capture | None:
    """Return what the guest of this sweep said; None if there is none, or it is damaged."""
    home = stored_path(planned)
    with contextlib.suppress(OSError, ValueError, RecursionError, zstandard.ZstdError):
        document = json.loads((home / _FACTS).read_bytes())
        packed = (home / _RESULTS).read_bytes()
        results = zstandard.decompress(packed, max_output_size=_MAX_RESULTS_BYTES)
        if _is_whole(document, planned, results):
            return Capture(
                results=results,
                console=b"",
                ending=Ending.EXITED,
                exit_code=document["exit_code"],
                wall_s=document["wall_s"],
            )
    return None


def _is_whole(document: object, planned: PlannedBoot, results: bytes) -> bool:
    if not isinstance(document, dict):
        return False
    expected = {
        "format": _FORMAT,
        "version": _VERSION,
        "cell_hash": planned.cell.hash,
        "seed": planned.seed,
        "results_sha256": hashlib.sha256(results).hexdigest(),
    }
    wall_s, exit_code = document.get("wall_s"), document.get("exit_code")
    return (
        {key: document.get(key) for key in expected} == expected
        and isinstance(wall_s, int | float)
        and math.isfinite(wall_s)
        and isinstance(exit_code, int | None)
    )
