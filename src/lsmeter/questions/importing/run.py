# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a run directory of other programs' files: a file is a boot, a setup what the user says."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lsmeter.core.errors import UsageError
from lsmeter.core.inputs import read_file
from lsmeter.core.model import (
    Benchmark,
    BenchmarkStatus,
    Boot,
    BootId,
    BootStatus,
    Conditions,
    Place,
    Samples,
    Sampling,
    Setup,
)
from lsmeter.core.storage import reading
from lsmeter.measure.instruments.imported import DECIMALS, NAME
from lsmeter.measure.results.boots import write_foreign
from lsmeter.measure.results.directory import (
    MANIFEST_FILE,
    boot_folder,
    read_manifest,
    read_run,
    write_manifest,
)
from lsmeter.measure.results.documents import digest_of
from lsmeter.measure.results.manifest import Circumstances, Manifest, ManifestCell
from lsmeter.questions.importing import MOST_READINGS, ForeignError, Format, Parsed, Reading
from lsmeter.sources.kernels.running import described

_MOST_BYTES = 16 << 20
_MOST_VALUE = (1 << 63) - 1  # as results are stored
_MOST_TOLD, _TOLD_CHARS = 8, 200  # of what is left out
UNKNOWN = "unknown"
DIGEST = "imported.sha256"  # a fact: of the file that a boot was read from
_NOTE = "as the user says: lsmeter did not see it"
_SAMPLING = Sampling(samples=1, warmup=0, whole_ppm=0)


@dataclass(frozen=True)
class Source:
    """A file that was read: its path, what it holds, and what that says."""

    path: Path
    data: bytes
    parsed: Parsed

    @property
    def digest(self) -> str:
        """The file's SHA-256."""
        return digest_of(self.data)


def read_source(path: Path, form: Format, system: str) -> Source:
    """Read one file; UsageError in one line that names it, and what is wrong with it."""
    hint = f"{form.title}; lsmeter help import"
    with reading(path, hint):
        data = read_file(path, _MOST_BYTES, f"results of {form.name}", hint=hint)
    try:
        parsed = form.parse(data.decode("utf-8", "replace"), system)
        for item in parsed.readings:
            _check_digits(item)
    except ForeignError as error:
        raise UsageError(f"{path}: {error.title}", hint=hint) from None
    if sum(len(item.values) for item in parsed.readings) > MOST_READINGS:
        raise UsageError(f"{path}: it has more than {MOST_READINGS} numbers", hint=hint)
    count = Counter(item.benchmark.id for item in parsed.readings)
    if twice := [name for name, times in count.items() if times > 1]:
        raise UsageError(f"{path}: it has two results of {twice[0]}", hint=hint)
    left = parsed.left_out
    more = [f"{len(left) - _MOST_TOLD} more"] if len(left) > _MOST_TOLD else []
    told = (*(text[:_TOLD_CHARS] for text in left[:_MOST_TOLD]), *more)
    return Source(path, data, replace(parsed, left_out=told))


def add(
    home: Path, form: Format, setup: str, sources: Sequence[Source], made: Circumstances
) -> None:
    """Write files as boots of a setup, into a new run or one that was imported before."""
    known = _read_imported(home, form) or _new_manifest(form, setup, sources[0].parsed, made)
    boots: list[tuple[Boot, bytes]] = []
    cells = {cell.hash: cell for cell in known.cells}
    kernels = {item.name: item for item in known.kernels}
    count: dict[str, int] = {}
    for boot in known.boots:
        count[boot.cell_hash] = max(count.get(boot.cell_hash, 0), boot.index + 1)
    for source in sources:
        cell = _cell(form, setup, source)
        first = cells.get(cell.hash, cell)
        asked = dict.fromkeys((*first.benchmarks, *cell.benchmarks))
        cells[cell.hash] = replace(first, benchmarks=tuple(asked))
        name = cell.place.kernel
        kernels[name] = replace(described(name, form.name, ""), name=name)
        index = count[cell.hash] = count.get(cell.hash, 0) + 1
        boots.append((_boot(cell, index - 1, form, source), source.data))
    own = Setup(setup, f"{setup}, {_NOTE}", None, over="", layer=None, note=_NOTE)
    read = (item.benchmark for source in sources for item in source.parsed.readings)
    manifest = replace(
        known,
        boots=(*known.boots, *(BootId(boot.cell_hash, boot.index, boot.seed) for boot, _ in boots)),
        kernels=tuple(kernels.values()),
        setups=tuple({setup: own, **{item.name: item for item in known.setups}}.values()),
        cells=tuple(cells.values()),
        benchmarks=_benchmarks((*read, *known.benchmarks)),
    )
    for boot, data in boots:
        write_foreign(boot_folder(home, boot), boot, data)
    write_manifest(home, manifest)


def check(home: Path | None, form: Format, sources: Sequence[Source]) -> None:
    """Refuse files that are in the run already, or are there twice, and other runs."""
    seen: dict[str, str] = {}
    if home is not None and _read_imported(home, form) is not None:
        for boot in read_run(home).boots:
            facts = dict(boot.facts)
            seen[facts.get(DIGEST, "")] = f"{home} has it already"
    for source in sources:
        if why := seen.get(source.digest):
            raise UsageError(
                f"{source.path}: {why}", hint="one file is one measurement: name each once"
            )
        seen[source.digest] = f"it is the same as {source.path}"


def _read_imported(home: Path, form: Format) -> Manifest | None:
    """Return the manifest of a run that files can be added to, None for a new one."""
    if not (home / MANIFEST_FILE).exists():
        return None
    found = read_manifest(home)
    if found.instrument != NAME or dict(found.tools).keys() != {form.name}:
        what = f"results of {', '.join(dict(found.tools))}" if found.instrument == NAME else ""
        raise UsageError(
            f"--run-dir: {home} holds {what or 'a run that was measured'}, not of {form.name}",
            hint="name another directory",
        )
    return found


def _cell(form: Format, setup: str, source: Source) -> ManifestCell:
    release = source.parsed.release or UNKNOWN
    text = "\0".join((form.name, setup, release))
    place = Place(release, setup, form.name, UNKNOWN, UNKNOWN)
    benchmarks = tuple(item.benchmark.id for item in source.parsed.readings)
    key = hashlib.sha256(text.encode()).hexdigest()[:16]
    return ManifestCell(key, place, (form.name,), sampling=_SAMPLING, benchmarks=benchmarks)


def _boot(cell: ManifestCell, index: int, form: Format, source: Source) -> Boot:
    parsed = source.parsed
    facts = {
        "imported.format": form.name,
        "imported.version": parsed.version,
        "imported.file": source.path.name,
        "imported.system": parsed.system,
        DIGEST: source.digest,
        "kernel.release": parsed.release,
    }
    stored = [_stored(item) for item in parsed.readings]
    facts |= {f"{DECIMALS}{name}": str(decimals) for name, decimals, _ in stored if decimals}
    samples = tuple(Samples(name, BenchmarkStatus.OK, values) for name, _, values in stored)
    told = tuple((key, value) for key, value in facts.items() if value)
    return Boot(cell.hash, index, index, BootStatus.OK, told, samples)


def _check_digits(item: Reading) -> None:
    """Refuse values of one benchmark that are too far apart to be stored with the same digits."""
    _, decimals, values = _stored(item)
    if max(values) > _MOST_VALUE:
        raise ForeignError(
            f"{item.benchmark.id}: its values cannot be stored with {decimals} digits after the "
            f"point each"
        )


def _stored(item: Reading) -> tuple[str, int, tuple[int, ...]]:
    """Return values as whole numbers, and how many of their digits stand after the point."""
    decimals = max(max(0, -int(value.as_tuple().exponent)) for value in item.values)
    whole = tuple(int(value.scaleb(decimals)) for value in item.values)
    return item.benchmark.id, decimals, whole


def _new_manifest(form: Format, setup: str, first: Parsed, made: Circumstances) -> Manifest:
    """Return the manifest of a run without boots, whose first files are of a setup."""
    return Manifest(
        **{**vars(made), "tools": ((form.name, first.version),)},
        title=f"Results of {form.name}",
        question="",
        instrument=NAME,
        baseline_setup=setup,
        margin=0.01,
        boots=(),
        sampling=_SAMPLING,
        conditions=Conditions(memory_mib=0),  # of no guest: nobody knows them
        kernels=(),
        setups=(),
        cells=(),
        benchmarks=(),
        problems=(),
    )


def _benchmarks(found: Iterable[Benchmark]) -> tuple[Benchmark, ...]:
    """Return benchmarks, each once; UsageError where one name has two units."""
    known: dict[str, Benchmark] = {}
    for item in found:
        first = known.setdefault(item.id, item)
        if (first.metric.unit, first.metric.better) != (item.metric.unit, item.metric.better):
            raise UsageError(
                f"{item.id}: one file has it in {first.metric.unit}, another in {item.metric.unit}"
            )
    return tuple(known.values())
