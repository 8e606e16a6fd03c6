# SPDX-License-Identifier: GPL-2.0-or-later
"""A run directory: manifest.json, and one folder under boots/ for each boot that was made."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from lsmeter import __version__
from lsmeter.base.errors import UsageError
from lsmeter.base.storage import cannot_write, make_dir, write_atomic
from lsmeter.guest.conclude import PARSER, conclude
from lsmeter.model import Boot, BootId
from lsmeter.results.boots import (
    BOOT_FILE,
    StoredBoot,
    damaged,
    read_boot,
    read_document,
    validated,
)
from lsmeter.results.manifest import FORMAT, VERSION, VERSIONS, Manifest, ManifestCell, upgrade

MANIFEST_FILE = "manifest.json"
_MANIFEST = TypeAdapter(Manifest)


@dataclass(frozen=True)
class RunData:
    """A run read back: its manifest, and the boots that were made.

    missing were planned, and never made: the run was stopped. notes say which boots were read by
    another version than measured them.
    """

    path: Path
    manifest: Manifest
    boots: tuple[Boot, ...]
    missing: tuple[BootId, ...] = ()
    notes: tuple[str, ...] = ()

    def boots_of(self, cell: ManifestCell) -> tuple[Boot, ...]:
        """Return the boots of one cell."""
        return tuple(boot for boot in self.boots if boot.cell_hash == cell.hash)

    def folder(self, boot: BootId) -> Path:
        """Return where a boot is kept."""
        return self.path / "boots" / boot.folder


def create_run(path: Path, manifest: Manifest) -> None:
    """Write the manifest of a new run; an existing run of the same plan is continued."""
    if path.exists() and not path.is_dir():
        raise UsageError(f"--run-dir: {path} exists and is not a directory")
    existing = path / MANIFEST_FILE
    if path.is_dir() and not existing.exists() and any(path.iterdir()):
        raise UsageError(
            f"--run-dir: {path} exists and is not a run directory",
            hint="name a new or an empty directory",
        )
    asked = {cell.hash for cell in manifest.cells}
    if existing.exists() and asked != {cell.hash for cell in read_manifest(path).cells}:
        raise UsageError(
            f"--run-dir: {path} holds another run",
            hint="name another directory; a run is continued only with the same words",
        )
    make_dir(path / "boots")
    content = _MANIFEST.dump_python(manifest, mode="json")
    document = {"format": FORMAT, "version": VERSION, "run": content}
    write_atomic(existing, json.dumps(document, indent=1).encode())


def copy_boot(stored: Path, run: Path, planned: BootId) -> None:
    """Copy a boot measured by an earlier run into this one."""
    target = run / "boots" / planned.folder
    try:
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(stored, target)
    except OSError as error:
        raise cannot_write(target, error) from error


def read_manifest(path: Path) -> Manifest:
    """Read a run's manifest; raise the error that names what is wrong with it."""
    if not path.exists():
        raise UsageError(f"{path}: no such run directory", hint="the run printed it")
    if not (path / MANIFEST_FILE).is_file():
        raise UsageError(f"{path}: not a run directory (it has no {MANIFEST_FILE})")
    document = read_document(path / MANIFEST_FILE, FORMAT, VERSIONS).get("run")
    # What cannot be brought into today's form is no manifest either: the check names what it lacks.
    with suppress(AttributeError, KeyError, TypeError):
        upgrade(document)
    found = validated(_MANIFEST, document, path / MANIFEST_FILE)
    for kind, described in (("setup", found.setups), ("kernel", found.kernels)):
        used = {getattr(cell.place, kind) for cell in found.cells}
        for name in sorted(used - {item.name for item in described}):
            said = f"a cell has a {kind} '{name[:80]}', which it does not describe"
            raise damaged(path / MANIFEST_FILE, said)
    return found


def read_run(path: Path) -> RunData:
    """Read a whole run; boots that were never made are named, damaged ones are an error.

    Boots that an earlier parser has read are read again from their raw results.
    """
    manifest = read_manifest(path)
    cells = {cell.hash: cell for cell in manifest.cells}
    boots: list[Boot] = []
    missing: list[BootId] = []
    again: Counter[str] = Counter()
    for planned in manifest.boots:
        folder = path / "boots" / planned.folder
        if not (folder / BOOT_FILE).is_file():
            missing.append(planned)
            continue
        stored = read_boot(folder)
        if stored.boot.cell_hash != planned.cell_hash:
            raise damaged(folder / BOOT_FILE, "it belongs to another cell")
        if stored.parser != PARSER or stored.version != __version__:
            again[_read_as(stored)] += 1
        boots.append(current(stored, manifest, cells[planned.cell_hash]))
    notes = tuple(f"{count} of {len(boots)} boots {how}" for how, count in again.items())
    return RunData(path, manifest, tuple(boots), tuple(missing), notes)


def _read_as(stored: StoredBoot) -> str:
    """Say by which version a boot was measured, and what became of its raw results."""
    version = f"lsmeter {stored.version}" if stored.version else "an earlier lsmeter"
    if stored.parser == PARSER:
        return f"were measured by {version}; this is {__version__}"
    if stored.capture is None:
        return f"were measured by {version} without raw results: read as they were then"
    return f"were measured by {version}; their raw results were read again by {__version__}"


def current(stored: StoredBoot, manifest: Manifest, cell: ManifestCell) -> Boot:
    """Return a boot as this version reads it."""
    if stored.parser == PARSER or stored.capture is None:
        return stored.boot
    place = cell.place
    setup = next(item for item in manifest.setups if item.name == place.setup)
    kernel = next(item for item in manifest.kernels if item.name == place.kernel)
    benchmarks = tuple(item.id for item in manifest.benchmarks_of(cell))
    boot = BootId(stored.boot.cell_hash, stored.boot.index, stored.boot.seed)
    return conclude(boot, setup, kernel, benchmarks, stored.capture)
