# SPDX-License-Identifier: GPL-2.0-or-later
"""One boot of a run as this version reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lsmeter import __version__
from lsmeter.core.model import Boot, BootId, Cell
from lsmeter.guest.conclude import PARSER, conclude
from lsmeter.measure.results.boots import StoredBoot, damaged_outputs, read_boot
from lsmeter.measure.results.manifest import Manifest, ManifestCell


@dataclass(frozen=True)
class ReadBoot:
    """A boot, and what a reader has to know of it.

    how says by which other version it was measured, once what its guest did once (None: nobody
    said what it was asked for), damages what is wrong with the outputs of plugins, files the digest
    of each file.
    """

    boot: Boot
    how: str = ""
    once: tuple[str, ...] | None = None
    damages: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)


def read_as_now(folder: Path, planned: BootId, manifest: Manifest, cell: ManifestCell) -> ReadBoot:
    """Read a boot; one that an earlier parser has read is read again from its raw results.

    Raises DamagedResultError.
    """
    stored = read_boot(folder, planned)
    once = None if stored.request is None else stored.request.once
    damages = tuple(error.title for error in damaged_outputs(folder, stored))
    boot = stored.boot
    if stored.capture is not None and stored.parser != PARSER:
        asked = _asked_cell(manifest, cell)
        boot = conclude(planned, asked, cell.command, stored.capture, stored.request)
    return ReadBoot(boot, _measured_by(stored), once, damages, stored.files)


def _measured_by(stored: StoredBoot) -> str:
    """Say by which version a boot was measured, and what became of its raw results."""
    version = f"were measured by lsmeter {stored.version}"
    if stored.capture is None or (stored.parser == PARSER and stored.version == __version__):
        return ""  # of another program, or of this version
    if stored.parser != PARSER:
        return f"{version}; their raw results were read again by {__version__}"
    return f"{version}; this is {__version__}"


def _asked_cell(manifest: Manifest, cell: ManifestCell) -> Cell:
    """Return a cell as far as its manifest knows it: enough to read what its guests said."""
    place = cell.place
    setup = next(item for item in manifest.setups if item.name == place.setup)
    kernel = next(item for item in manifest.kernels if item.name == place.kernel)
    return Cell(
        kernel,
        setup,
        place.suite,
        place.filesystem,
        place.user,
        manifest.instrument,
        manifest.conditions,
        cell.sampling or manifest.sampling,
        cell.benchmarks,
        task=cell.task,
        copies=place.copies,
    )
