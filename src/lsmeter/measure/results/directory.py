# SPDX-License-Identifier: GPL-2.0-or-later
"""A run directory: manifest.json, and one folder under boots/ for each boot that was made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import TypeVar
from weakref import WeakKeyDictionary

from pydantic import TypeAdapter

from lsmeter.core.errors import UsageError
from lsmeter.core.groups import grouped
from lsmeter.core.model import Boot, BootId, Conditions, Problem
from lsmeter.core.storage import is_partial, make_dir, write_atomic, writing
from lsmeter.measure.experiment.options import MAX_MARGIN, MAX_SHIFT
from lsmeter.measure.results.boots import BOOT_FILE, LOCK_FILE, write_files
from lsmeter.measure.results.documents import (
    DamagedResultError,
    read_document,
    read_plain,
    sealed,
    validated,
)
from lsmeter.measure.results.manifest import FORMAT, VERSION, Manifest, ManifestCell
from lsmeter.measure.results.pack import unpacked
from lsmeter.measure.results.summaries import MANY, read_each, read_many

MANIFEST_FILE = "manifest.json"
DAMAGED_FILE = "manifest.damaged.json"
BOOTS = "boots"
_MAX_READINGS = (32_000_000, 128_000_000)  # of a run of few boots, and of many
_MANIFEST = TypeAdapter(Manifest)
_Made = TypeVar("_Made")


@dataclass(frozen=True, eq=False)
class RunData:
    """A run read back: its manifest, and the boots that were made. It is equal to itself alone.

    missing were planned, and never made: the run was stopped. damaged says which files are not
    what was written; the manifest's problems have it, too. notes say which boots were read by
    another version than measured them. once has what the guests of a cell did once, by its hash.
    """

    path: Path
    manifest: Manifest
    boots: tuple[Boot, ...]
    missing: tuple[BootId, ...] = ()
    notes: tuple[str, ...] = ()
    damaged: tuple[Problem, ...] = ()
    once: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    shown: str = ""  # its name for people, where that is another than its path

    @property
    def title(self) -> str:
        """What people call it."""
        return self.shown or str(self.path)

    @property
    def name(self) -> str:
        """The same without the directory that it is in."""
        return Path(self.title).name

    def boots_of(self, cell: ManifestCell) -> tuple[Boot, ...]:
        """Return the boots of one cell."""
        return self._by_cell.get(cell.hash, ())

    @cached_property
    def _by_cell(self) -> Mapping[str, tuple[Boot, ...]]:
        found = grouped((boot.cell_hash, boot) for boot in self.boots)
        return {cell: tuple(boots) for cell, boots in found.items()}

    def folder(self, boot: BootId) -> Path:
        """Return where a boot is kept."""
        return boot_folder(self.path, boot)


def keep_by_run(work: Callable[[RunData], _Made]) -> Callable[[RunData], _Made]:
    """Have a function of a run alone do its work once for each run, as long as that lives."""
    known: WeakKeyDictionary[RunData, _Made] = WeakKeyDictionary()

    @wraps(work)
    def kept(run: RunData) -> _Made:
        if run not in known:
            known[run] = work(run)
        return known[run]

    return kept


class OtherRunError(UsageError):
    """A run directory holds a run that was planned otherwise."""


def boot_folder(run: Path, boot: BootId) -> Path:
    """Return where a run directory keeps a boot."""
    return run / BOOTS / boot.folder


def check_directory(path: Path) -> None:
    """Raise UsageError for a directory that a run may not be written to: it holds other things.

    What a run leaves that got no manifest, or lost it, is none of them.
    """
    if path.exists() and not path.is_dir():
        raise UsageError(f"--run-dir: {path} exists and is not a directory")
    if not path.is_dir() or (path / MANIFEST_FILE).exists():
        return
    try:
        others = [item.name for item in path.iterdir() if not _ours(item)]
    except OSError as error:
        raise UsageError(f"--run-dir: cannot read {path}: {error.strerror}") from error
    if others:
        raise UsageError(
            f"--run-dir: {path} exists and is not a run directory: it holds {others[0][:80]}",
            hint="name a new or an empty directory",
        )


def create_run(path: Path, manifest: Manifest) -> str:
    """Write the manifest of a new run; an existing run of the same plan is continued.

    A manifest that is damaged or gone is written anew: each boot says of itself what it is of, and
    those that fit are found again. Returns what the user has to know of that, else nothing.
    """
    check_directory(path)
    existing, said = path / MANIFEST_FILE, ""
    asked = {cell.hash for cell in manifest.cells}
    try:
        there = {cell.hash for cell in read_manifest(path).cells} if existing.exists() else asked
    except DamagedResultError as error:
        said, there = f"{error.title}; it is written anew, and kept as {DAMAGED_FILE}", asked
        with writing(path):
            existing.replace(path / DAMAGED_FILE)
    if asked != there:
        raise OtherRunError(
            f"--run-dir: {path} holds another run",
            hint="name another directory; a run is continued only with the same options",
        )
    for partial in filter(is_partial, path.glob("*")):  # of a run that was killed
        partial.unlink(missing_ok=True)
    write_manifest(path, manifest)
    make_dir(path / BOOTS)
    return said


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write the manifest of a run, whatever was there."""
    content = _MANIFEST.dump_python(manifest, mode="json")
    write_atomic(path / MANIFEST_FILE, sealed(FORMAT, VERSION, {"run": content}))


def _ours(path: Path) -> bool:
    """Tell whether a file may stand in a run directory whose manifest is gone."""
    known = (BOOTS, LOCK_FILE, DAMAGED_FILE, "report.html")
    return path.name in known or is_partial(path)


def copy_boot(stored: Path, files: Iterable[str], run: Path, planned: BootId) -> None:
    """Copy a boot that is stored, and whose files are known, into a run that may have it."""
    home = boot_folder(run, planned)
    kept = {name: read_plain(stored / name) for name in (*files, BOOT_FILE)}
    if not all(_holds(home / name, data) for name, data in kept.items()):
        # The store has it: a loss of power costs nothing that was measured.
        write_files(home, kept, lasting=False)


def _holds(path: Path, data: bytes) -> bool:
    """Tell whether a file of the run's own, and no link, has this content."""
    try:
        return not path.is_symlink() and read_plain(path) == data
    except DamagedResultError:
        return False


def read_manifest(path: Path) -> Manifest:
    """Read a run's manifest; raise the error that names what is wrong with it."""
    if not path.exists():
        raise UsageError(f"{path}: no such run directory", hint="the run printed it")
    if not (path / MANIFEST_FILE).exists():
        again = "the command that made it writes it anew: type it once more, with --run-dir"
        hint = again if (path / BOOTS).is_dir() else ""
        raise UsageError(f"{path}: not a run directory (it has no {MANIFEST_FILE})", hint=hint)
    document = read_document(path / MANIFEST_FILE, FORMAT, (VERSION,)).get("run")
    found = validated(_MANIFEST, document, path / MANIFEST_FILE)
    if why := next(_impossible(found), ""):
        raise DamagedResultError(path / MANIFEST_FILE, why)
    return found


def _impossible(manifest: Manifest) -> Iterator[str]:
    """Say what no manifest of ours has, and no type tells."""
    if any(min(boot.index, boot.seed) < 0 for boot in manifest.boots):
        yield "boots: an index or a seed below 0"
    for kind, described in (("setup", manifest.setups), ("kernel", manifest.kernels)):
        used = {getattr(cell.place, kind) for cell in manifest.cells}
        names = [item.name for item in described]
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield f"two {kind}s are named '{name[:80]}'"
        for name in sorted(used - set(names)):
            yield f"a cell has a {kind} '{name[:80]}', which it does not describe"
    for cell in manifest.cells:
        yield from _impossible_cell(cell)
    if {boot.cell_hash for boot in manifest.boots} - {cell.hash for cell in manifest.cells}:
        yield "it lists a boot of no cell"
    yield from _impossible_clock(manifest.conditions)
    if not 0 <= manifest.margin <= MAX_MARGIN:
        yield f"margin: {manifest.margin} is no share"


def _impossible_cell(cell: ManifestCell) -> Iterator[str]:
    batches = cell.task.workload.batches if cell.task.workload else ()
    units = {item.benchmark: item.units for item in batches}
    for name in cell.benchmarks if cell.task.workload else ():
        if units.get(name, 0) < 1:
            yield f"no units in a batch of '{name[:80]}'"
    if cell.conditions is not None:
        yield from _impossible_clock(cell.conditions)


def _impossible_clock(said: Conditions) -> Iterator[str]:
    if not 0 <= said.icount_shift <= MAX_SHIFT:
        yield f"icount_shift: {said.icount_shift} is none that a guest has"


def _planned(
    manifest: Manifest, choose: Callable[[Manifest], Collection[str]] | None
) -> tuple[dict[BootId, None], str]:
    """Return the boots to look at, and what part of the run they are ("": all of it)."""
    # Each once: two setups of one definition are one cell, and no boot may count twice.
    every = dict.fromkeys(manifest.boots)
    if choose is None:
        return every, ""
    chosen = choose(manifest)
    planned = {boot: None for boot in every if boot.cell_hash in chosen}
    return planned, "" if len(planned) == len(every) else " ".join(sorted(chosen))


def read_run(path: Path, choose: Callable[[Manifest], Collection[str]] | None = None) -> RunData:
    """Read a run; boots that were never made or are damaged are no results, and are named.

    choose names the cells, by hash, whose boots are looked at; None: of all. Boots that an earlier
    parser has read are read again from their raw results.
    """
    shown = ""
    if path.is_file():  # that was packed
        path, shown = unpacked(path), str(path)
    manifest = read_manifest(path)
    planned, part = _planned(manifest, choose)
    there = [boot for boot in planned if (boot_folder(path, boot) / BOOT_FILE).exists()]
    present = frozenset(there)
    jobs = [(boot_folder(path, boot), boot) for boot in there]
    many = len(there) >= MANY
    if many:
        said = read_plain(path / MANIFEST_FILE)
        found = read_many(jobs, manifest, Path(shown or path), said, part)
    else:
        found = read_each(jobs, manifest)
    limit, readings = _MAX_READINGS[many], 0
    places = {cell.hash: cell.place for cell in manifest.cells}
    boots: list[Boot] = []
    damaged: list[Problem] = []
    again: Counter[str] = Counter()
    once: dict[str, tuple[str, ...]] = {}
    for (folder, boot), item in zip(jobs, found, strict=True):
        place = places[boot.cell_hash]
        what = f"{place.setup} on {place.kernel}: boot {boot.index}:"
        if isinstance(item, DamagedResultError):
            title = f"{what} damaged, and no result; the same command measures it again"
            damaged.append(Problem(title, place.kernel, place.setup, detail=item.title))
            continue
        readings += sum(len(one.values) for one in item.boot.samples)
        if readings > limit:
            raise DamagedResultError(folder, f"with it the run has over {limit} readings")
        for wrong in item.damages:
            title = f"{what} an output is damaged; the same command measures it again"
            damaged.append(Problem(title, place.kernel, place.setup, detail=wrong))
        if item.how:
            again[item.how] += 1
        boots.append(item.boot)
        if item.once is not None:
            once[boot.cell_hash] = item.once
    notes = tuple(f"{count} of {len(boots)} boots {how}" for how, count in again.items())
    manifest = replace(manifest, problems=(*manifest.problems, *damaged))
    missing = tuple(boot for boot in planned if boot not in present)
    return RunData(path, manifest, tuple(boots), missing, notes, tuple(damaged), once, shown)
