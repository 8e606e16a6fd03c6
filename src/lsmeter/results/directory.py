# SPDX-License-Identifier: GPL-2.0-or-later
"""A run directory: manifest.json, and one folder under boots/ for each boot that was made."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from lsmeter.errors import UsageError
from lsmeter.results.boots import (
    BOOT_FILE,
    CONSOLE_FILE,
    StoredBoot,
    damaged,
    read_boot,
    read_document,
)
from lsmeter.results.manifest import FORMAT, VERSION, Manifest, ManifestBoot, upgraded
from lsmeter.storage import cannot_write, make_dir, write_atomic

MANIFEST_FILE = "manifest.json"
_MANIFEST = TypeAdapter(Manifest)


@dataclass(frozen=True)
class RunData:
    """A run read back: its manifest, and the boots that were made."""

    path: Path
    manifest: Manifest
    boots: tuple[StoredBoot, ...]
    missing: tuple[ManifestBoot, ...]  # planned, but never made (the run was stopped)


def create_run(path: Path, manifest: Manifest) -> None:
    """Write the manifest of a new run; an existing run of the same plan is continued."""
    if path.exists() and not path.is_dir():
        raise UsageError(f"--out: {path} exists and is not a directory")
    existing = path / MANIFEST_FILE
    if path.is_dir() and not existing.exists() and any(path.iterdir()):
        raise UsageError(
            f"--out: {path} exists and is not a run directory",
            hint="name a new or an empty directory",
        )
    if existing.exists():
        _refuse_other_plan(path, manifest)
    make_dir(path / "boots")
    document = {
        "format": FORMAT,
        "version": VERSION,
        "run": _MANIFEST.dump_python(manifest, mode="json"),
    }
    write_atomic(existing, json.dumps(document, indent=1).encode())


def _refuse_other_plan(path: Path, manifest: Manifest) -> None:
    before = read_manifest(path)
    if {cell.hash for cell in before.cells} != {cell.hash for cell in manifest.cells}:
        raise UsageError(
            f"--out: {path} holds another run",
            hint="name another directory; a run is continued only with the same words",
        )


def copy_boot(stored: Path, run: Path, planned: ManifestBoot) -> None:
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
        raise UsageError(f"{path}: no such run directory", hint="see what --out or the run printed")
    if not (path / MANIFEST_FILE).is_file():
        raise UsageError(f"{path}: not a run directory (it has no {MANIFEST_FILE})")
    document = read_document(path / MANIFEST_FILE, FORMAT, VERSION)
    try:
        found = _MANIFEST.validate_json(json.dumps(upgraded(document.get("run"))), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise damaged(path / MANIFEST_FILE, f"{key}: {first['msg']}") from None
    for kind, names, used in (
        ("setup", {item.name for item in found.setups}, {cell.setup for cell in found.cells}),
        ("kernel", {item.name for item in found.kernels}, {cell.kernel for cell in found.cells}),
    ):
        if unknown := sorted(used - names):
            raise damaged(
                path / MANIFEST_FILE,
                f"a cell has a {kind} '{unknown[0][:80]}', which it does not describe",
            )
    return found


def read_run(path: Path) -> RunData:
    """Read a whole run; boots that were never made are named, damaged ones are an error."""
    manifest = read_manifest(path)
    boots: list[StoredBoot] = []
    missing: list[ManifestBoot] = []
    for planned in manifest.boots:
        folder = path / "boots" / planned.folder
        if not (folder / BOOT_FILE).is_file():
            missing.append(planned)
            continue
        stored = read_boot(folder)
        if stored.boot.cell_hash != planned.cell_hash:
            raise damaged(folder / BOOT_FILE, "it belongs to another cell")
        boots.append(stored)
    return RunData(path, manifest, tuple(boots), tuple(missing))


def console_path(run: Path, planned: ManifestBoot) -> Path:
    """Return where a boot's console log is."""
    return run / "boots" / planned.folder / CONSOLE_FILE
