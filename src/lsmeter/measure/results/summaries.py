# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots of a run of many, in short: all but their windows, of which it has what a cycle costs.

They are made by several processes, and kept in the cache, each by the digest of its boot.json and
of the code that made it, so that a run is read whole once only. Nothing of a stranger's gets there:
a summary that is not this machine's own is made anew. Readings are kept as arrays; windows are read
again from the boot where somebody asks for them. Exact boots of a cell mostly agree: what is equal
is kept once.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import accumulate
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import zstandard
from pydantic import TypeAdapter, ValidationError

from lsmeter import __version__
from lsmeter.core.errors import InfrastructureError, LsmeterError
from lsmeter.core.model import BenchmarkStatus, BootId, Round, Samples
from lsmeter.core.storage import cache_dir, write_atomic
from lsmeter.guest.conclude import PARSER
from lsmeter.measure.results import boots as boot_files
from lsmeter.measure.results.boots import BOOT_FILE, rounds_of, with_readings
from lsmeter.measure.results.column import Column
from lsmeter.measure.results.documents import DamagedResultError, digest_of, read_plain
from lsmeter.measure.results.manifest import Manifest, ManifestCell
from lsmeter.measure.results.reading import ReadBoot, read_as_now
from lsmeter.statistics import whole as formulas
from lsmeter.statistics.whole import CycleCost, Windows, cycle_costs

MANY = 32  # boots from which on it pays to keep summaries
PARALLEL_FROM_BYTES = 40 << 20  # of boot.json: below it other processes start longer than they save
_AT_ONCE = 4  # boots that a process is given
_KEY_BYTES, _SIZE_BYTES = 64, 4
_MOST_BYTES = 64 << 20  # of a summary
_NARROW = 1 << 31  # readings below it take half the room
_MOST_COSTS = 100_000  # that a process which makes summaries remembers
_FLOATS = ("value", "error", "freedom", "in_line", "deferred", "deferred_error")
_COST = attrgetter(*_FLOATS)
_FLOAT_BYTES = 8
# Of readings, by whether they are narrow.
_KINDS: dict[bool, np.dtype[np.signedinteger[Any]]] = {
    False: np.dtype("<i8"),
    True: np.dtype("<i4"),
}
Job = tuple[Path, BootId]
_Windows = Callable[[int], Callable[[], Sequence[Round]]]  # what reads those of a benchmark


@dataclass(frozen=True)
class _Shape:
    """How the arrays of one benchmark are cut out of those of all, and what is not in them.

    operations is the place of those of its windows in the list of all; None where the cost of a
    cycle is not known.
    """

    readings: int
    narrow: bool
    windows: int = 0
    operations: int | None = None
    plain: bool = False


@dataclass(frozen=True)
class _Head:
    """What a summary has beside its arrays; the boot is without readings and windows."""

    read: ReadBoot
    shapes: tuple[_Shape, ...]
    operations: tuple[tuple[int, ...], ...]
    sizes: tuple[int, int, int]  # floats, wide and narrow readings


@cache
def _head() -> TypeAdapter[_Head]:
    return TypeAdapter(_Head)


class _Held(NamedTuple):
    """What boots that were restored have in common."""

    columns: dict[tuple[bool, bytes], Column]
    windows: dict[tuple[bytes, bool], Windows]


@dataclass(frozen=True)
class Reader:
    """What reads the boots of a run."""

    manifest: Manifest
    cells: dict[str, ManifestCell]
    latest: dict[Job, ReadBoot] = field(default_factory=dict)  # the boot whose windows are read

    def whole(self, job: Job) -> ReadBoot:
        """Read a boot whole; DamagedResultError."""
        folder, planned = job
        return read_as_now(folder, planned, self.manifest, self.cells[planned.cell_hash])

    def whole_or_error(self, job: Job) -> ReadBoot | DamagedResultError:
        """Read a boot whole; return what is wrong with one that cannot be."""
        try:
            return self.whole(job)
        except DamagedResultError as error:
            return error

    def summary(self, job: Job) -> bytes:
        """Return the summary of a boot; nothing for one that cannot be read, and why is not said.

        Another process is not to raise what this one could not show.
        """
        try:
            return _encode(self.whole(job))
        except LsmeterError:
            return b""

    def windows(self, job: Job, place: int) -> Sequence[Round]:
        """Read the windows of a benchmark again, by its place in the boot."""
        if job not in self.latest:
            self.latest.clear()
            self.latest[job] = self.whole(job)
        whole = self.latest[job].boot.samples[place].whole
        return whole.rounds if whole else ()


def read_each(jobs: Sequence[Job], manifest: Manifest) -> Iterator[ReadBoot | DamagedResultError]:
    """Read the boots of a run of few, whole, in their order."""
    reader = Reader(manifest, {cell.hash: cell for cell in manifest.cells})
    return map(reader.whole_or_error, jobs)


def read_many(
    jobs: Sequence[Job], manifest: Manifest, run: Path, said: bytes, of: str = ""
) -> Iterator[ReadBoot | DamagedResultError]:
    """Read boots of a run in their order; `said` is what its manifest.json holds.

    of says which part of the run they are ("": all of it): each part has a file of its own, and
    looks into that of the whole.
    """
    reader = Reader(manifest, {cell.hash: cell for cell in manifest.cells})
    whole, home = (_home(run, part) for part in ("", of))
    made_by = f"{__version__} {PARSER} {_code()} {digest_of(said)}"
    head = digest_of(made_by.encode()).encode()
    keys = [_key(job) for job in jobs]
    known = _load(home, head)
    known |= _load(whole, head, {*keys} - known.keys()) if of else {}
    before = frozenset(known)
    lacking = [job for job, key in zip(jobs, keys, strict=True) if key not in before]
    made, held = _summaries(reader, lacking), _Held({}, {})
    kept: dict[bytes, bytes] | None = {} if lacking or before - set(keys) else None
    spoilt = False
    gc.disable()  # it would look through all boots again and again, and find nothing
    try:
        for job, key in zip(jobs, keys, strict=True):
            data = known.pop(key) if key in before else next(made)
            try:
                yield _restored(data, job, reader, held)
                if kept is not None:
                    kept[key] = data
            except (ValueError, DamagedResultError) as error:
                spoilt |= isinstance(error, ValueError) and key in before
                yield reader.whole_or_error(job)
    finally:
        gc.enable()
    with suppress(InfrastructureError, OSError):
        if kept is not None and kept.keys() != before:
            _save(home, head, kept)
        elif spoilt:
            for path in {home, whole}:
                path.unlink(missing_ok=True)  # they are made anew


def _home(run: Path, of: str) -> Path:
    name = bytes(run.resolve()) + f" {of}".encode() * bool(of)
    return cache_dir() / "summaries" / digest_of(name)[:32]


def _code() -> str:
    """Return the digest of what decides what a summary has."""
    files = (Path(str(of)) for of in (__file__, formulas.__file__, boot_files.__file__))
    return digest_of(b"".join(path.read_bytes() for path in files))


def _key(job: Job) -> bytes:
    """Name a boot by what it is, and where it stands in its run."""
    folder, planned = job
    with suppress(DamagedResultError):
        data = read_plain(folder / BOOT_FILE)
        return digest_of(f"{digest_of(data)} {planned.folder}".encode()).encode()
    return b""


def _summaries(reader: Reader, jobs: Sequence[Job]) -> Iterator[bytes]:
    """Make summaries, many in several processes; what those cannot is left to this one."""
    sizes = (path.stat().st_size for folder, _ in jobs if (path := folder / BOOT_FILE).is_file())
    if not jobs or sum(sizes) < PARALLEL_FROM_BYTES:
        yield from map(reader.summary, jobs)
        return
    # "spawn": a thread of the caller may hold a lock while we fork
    context = multiprocessing.get_context("spawn")
    processes = len(os.sched_getaffinity(0))
    pool = ProcessPoolExecutor(processes, context, _start_process)
    done = 0
    try:
        for data in pool.map(reader.summary, jobs, chunksize=_AT_ONCE):
            done += 1
            yield data
    except BrokenProcessPool:
        yield from (b"" for _ in jobs[done:])
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _start_process() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asked ends this one
    gc.disable()  # as there: it would look through the costs that are known


def _load(home: Path, head: bytes, only: Collection[bytes] | None = None) -> dict[bytes, bytes]:
    """Return the summaries that are kept, by the names of their boots: all, or only these."""
    found: dict[bytes, bytes] = {}
    with suppress(OSError), home.open("rb") as file:
        ours = file.read(len(head)) == head
        while ours and (entry := file.read(_KEY_BYTES + _SIZE_BYTES)):
            key, size = entry[:_KEY_BYTES], int.from_bytes(entry[_KEY_BYTES:], "little")
            if size > _MOST_BYTES:
                break
            if only is None or key in only:
                found[key] = file.read(size)
            else:
                file.seek(size, os.SEEK_CUR)
    return found


def _save(home: Path, head: bytes, kept: dict[bytes, bytes]) -> None:
    parts = (
        part
        for key, data in kept.items()
        if key
        for part in (key, len(data).to_bytes(_SIZE_BYTES, "little"), data)
    )
    write_atomic(home, b"".join((head, *parts)))


@cache
def _costs_seen() -> dict[bytes, CycleCost]:
    """Return what this process knows of costs, by the digests of their windows."""
    return {}


def _costs(samples: Sequence[Samples], digests: Sequence[bytes]) -> Iterator[CycleCost | None]:
    """Yield what a cycle of each costs; of windows that were seen before it is known."""
    known = _costs_seen()
    if len(known) > _MOST_COSTS:
        known.clear()
    ok = (item.whole is not None and item.whole.status is BenchmarkStatus.OK for item in samples)
    new = [None if own in known else item.whole for item, own in zip(samples, digests, strict=True)]
    known |= {own: cost for own, cost in zip(digests, cycle_costs(new), strict=True) if cost}
    return (known.get(own) if good else None for own, good in zip(digests, ok, strict=True))


def _encode(read: ReadBoot) -> bytes:
    samples = read.boot.samples
    digests = [rounds_of(item).digest for item in samples]
    operations: dict[tuple[int, ...], int] = {}
    floats = array("d")
    readings: dict[bool, list[bytes]] = {False: [], True: []}
    shapes = []
    for item, cost in zip(samples, _costs(samples, digests), strict=True):
        rounds = item.whole.rounds if item.whole else ()
        values = np.asarray(item.values, _KINDS[False])
        fits = bool(values.max(initial=0) < _NARROW)
        readings[fits].append(values.astype(_KINDS[fits]).tobytes())
        place = None
        if cost is not None:
            floats.extend((*_COST(cost), *cost.windows))
            place = operations.setdefault(tuple(cost.operations), len(operations))
        plain = cost is not None and cost.plain
        shapes.append(_Shape(len(item.values), fits, len(rounds), place, plain))
    boot = replace(read.boot, samples=tuple(with_readings(item, (), ()) for item in samples))
    wide, narrow = (b"".join(readings[fits]) for fits in (False, True))
    sizes = len(floats), len(wide) // 8, len(narrow) // 4
    head = _head().dump_json(
        _Head(replace(read, boot=boot), tuple(shapes), tuple(operations), sizes)
    )
    size = len(head).to_bytes(_SIZE_BYTES, "little")
    body = b"".join((size, head, floats.tobytes(), wide, narrow, *digests))
    return zstandard.ZstdCompressor(write_checksum=True).compress(body)


def _restored(data: bytes, job: Job, reader: Reader, held: _Held) -> ReadBoot:
    """Return a boot by its summary, once the digests of its other files are found right.

    Raises ValueError for what is no summary, DamagedResultError for a file that was changed.
    """
    try:
        body = zstandard.decompress(data, max_output_size=_MOST_BYTES)
        at = _SIZE_BYTES + int.from_bytes(body[:_SIZE_BYTES], "little")
        head = _head().validate_json(body[_SIZE_BYTES:at])
    except (zstandard.ZstdError, ValidationError) as error:
        raise ValueError from error
    for name, digest in head.read.files.items():
        read_plain(job[0] / name, digest)
    cut = _Cut(head, body, at, held, partial(partial, reader.windows, job))
    boot = head.read.boot
    samples = tuple(map(cut.sample, boot.samples, head.shapes))
    return replace(head.read, boot=replace(boot, samples=samples))


class _Cut:
    """Cuts the arrays of a summary into those of its benchmarks, one after the other."""

    def __init__(self, head: _Head, body: bytes, at: int, held: _Held, windows: _Windows) -> None:
        floats, wide, narrow = head.sizes
        ends = list(accumulate((at, _FLOAT_BYTES * floats, 8 * wide, 4 * narrow)))
        self._floats = body[ends[0] : ends[1]]
        self._readings = {False: body[ends[1] : ends[2]], True: body[ends[2] : ends[3]]}
        self._digests = body[ends[3] :]
        self._operations = [(each, sum(each)) for each in head.operations]
        self._held, self._windows = held, windows
        self._at = {False: 0, True: 0}
        self._float = self._digest = self._place = 0

    def sample(self, item: Samples, shape: _Shape) -> Samples:
        values = self._column(shape) if shape.readings else ()
        rounds = self._rounds(shape) if item.whole and shape.windows else ()
        self._place += 1
        return with_readings(item, values, rounds)

    def _column(self, shape: _Shape) -> Column:
        kind = _KINDS[shape.narrow]
        begin = self._at[shape.narrow]
        self._at[shape.narrow] = end = begin + shape.readings * kind.itemsize
        key = shape.narrow, self._readings[shape.narrow][begin:end]
        if key not in self._held.columns:
            self._held.columns[key] = Column(np.frombuffer(key[1], kind))
        return self._held.columns[key]

    def _rounds(self, shape: _Shape) -> Windows:
        digest = self._digests[self._digest : self._digest + 32]
        self._digest += 32
        numbers = b""
        if shape.operations is not None:
            begin = self._float
            self._float += _FLOAT_BYTES * (len(_FLOATS) + shape.windows)
            numbers = self._floats[begin : self._float]
        key = digest, bool(numbers)
        if key not in self._held.windows:
            cost = self._cost(shape, array("d", numbers))
            read = self._windows(self._place)
            self._held.windows[key] = Windows(cost, digest, shape.windows, read)
        return self._held.windows[key]

    def _cost(self, shape: _Shape, numbers: array[float]) -> CycleCost | None:
        if shape.operations is None:
            return None
        operations, cycles = self._operations[shape.operations]
        windows = numbers[len(_FLOATS) :]
        named = dict(zip(_FLOATS, numbers, strict=False))
        return CycleCost(
            **named, plain=shape.plain, cycles=cycles, windows=windows, operations=operations
        )
