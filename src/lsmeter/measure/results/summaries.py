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
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import accumulate, chain, islice
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
from lsmeter.measure.results.column import Column, as_array
from lsmeter.measure.results.documents import (
    DamagedResultError,
    check_document,
    digest_of,
    read_plain,
    read_seal,
)
from lsmeter.measure.results.manifest import Manifest, ManifestCell
from lsmeter.measure.results.reading import ReadBoot, read_as_now
from lsmeter.measure.results.samples import read_here
from lsmeter.statistics import whole as formulas
from lsmeter.statistics.whole import CycleCost, Windows, cycle_costs

MANY = 32  # boots from which on it pays to keep summaries
PARALLEL_FROM_BYTES = 40 << 20  # of boot.json: below it other processes start longer than they save
_AT_ONCE = 16  # boots that a process is given: what is alike in them is worked out at once
_KEY_BYTES, _SIZE_BYTES = 64, 4
_MOST_BYTES = 64 << 20  # of a summary
_NARROW = 1 << 31  # readings below it take half the room
_MOST_COSTS = 100_000  # that a process which makes summaries remembers
# Objects made until those of them that hold each other are looked for. A run of many boots has
# millions, which live as long as the command, and were looked through after each 700.
_ALLOCATIONS = 1_000_000
_FLOATS = ("value", "error", "freedom", "deferred", "deferred_error")
_COST = attrgetter(*_FLOATS)
_FLOAT_BYTES, _DIGEST_BYTES = 8, 32
_WIDE, _THIN = np.dtype("<i8"), np.dtype("<i4")
Job = tuple[Path, BootId]
_Windows = Callable[[int], Callable[[], Sequence[Round]]]  # what reads those of a benchmark


@dataclass(frozen=True)
class _Shape:
    """How the arrays of one benchmark are cut out of those of all, and what is not in them.

    known: it is known what a cycle costs; plain is of that.
    """

    readings: int
    windows: int = 0
    known: bool = False
    plain: bool = False


@dataclass(frozen=True)
class _Head:
    """What a summary has beside its arrays; the boot is without readings and windows.

    narrow: every reading is below 2**31.
    """

    read: ReadBoot
    shapes: tuple[_Shape, ...]
    narrow: bool


@cache
def _head() -> TypeAdapter[_Head]:
    return TypeAdapter(_Head)


class _Held(NamedTuple):
    """What boots that were restored have in common."""

    columns: dict[tuple[int, bytes], Column]
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

    def summaries(self, jobs: Sequence[Job]) -> list[bytes]:
        """Return the summaries of boots; nothing for one that is damaged, and why is not said.

        Another process is not to raise what this one could not show.
        """
        found: dict[int, ReadBoot] = {}
        for place, job in enumerate(jobs):
            with suppress(LsmeterError):
                read = self.whole(job)
                if not read.damages:  # which may be mended, and then there are none
                    found[place] = read
        made = dict(zip(found, _encode_each([*found.values()]), strict=True))
        return [made.get(place, b"") for place in range(len(jobs))]

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
    gc.set_threshold(_ALLOCATIONS)
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
    for job, key in zip(jobs, keys, strict=True):
        data = known.pop(key) if key in before else next(made)
        try:
            # What was just made has just been read.
            yield _restored(data, job, reader, held, check=key in before)
            if kept is not None:
                kept[key] = data
        except (ValueError, DamagedResultError) as error:
            spoilt |= isinstance(error, ValueError) and key in before
            yield reader.whole_or_error(job)
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
        if seal := read_seal(folder / BOOT_FILE):
            return digest_of(f"{seal} {planned.folder}".encode()).encode()
    return b""


def _summaries(reader: Reader, jobs: Sequence[Job]) -> Iterator[bytes]:
    """Make summaries, many in several processes; what those cannot is left to this one."""
    parts = [jobs[at : at + _AT_ONCE] for at in range(0, len(jobs), _AT_ONCE)]
    sizes = (path.stat().st_size for folder, _ in jobs if (path := folder / BOOT_FILE).is_file())
    if not jobs or sum(sizes) < PARALLEL_FROM_BYTES:
        yield from chain.from_iterable(map(reader.summaries, parts))
        return
    # "spawn": a thread of the caller may hold a lock while we fork
    context = multiprocessing.get_context("spawn")
    processes = len(os.sched_getaffinity(0))
    pool = ProcessPoolExecutor(processes, context, _start_process)
    done = 0
    try:
        for made in pool.map(reader.summaries, parts):
            done += len(made)
            yield from made
    except BrokenProcessPool:
        yield from (b"" for _ in jobs[done:])
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _start_process() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asked ends this one
    gc.disable()  # it would look through the costs that are known
    read_here()


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


class _Packed(NamedTuple):
    """What a cycle costs: of _FLOATS, of each window, and how many operations each had."""

    numbers: bytes
    plain: bool


def _packed(cost: CycleCost) -> _Packed:
    numbers = array("d", (*_COST(cost), *cost.windows, *cost.operations))
    return _Packed(numbers.tobytes(), cost.plain)


def _cut_cost(numbers: bytes, shape: _Shape) -> CycleCost:
    found = array("d", numbers)
    named = dict(zip(_FLOATS, found, strict=False))
    windows = found[len(_FLOATS) : len(_FLOATS) + shape.windows]
    operations = tuple(map(int, found[len(_FLOATS) + shape.windows :]))
    return CycleCost(
        **named,
        plain=shape.plain,
        cycles=sum(operations),
        windows=windows,
        operations=operations,
    )


def _size_bytes(shape: _Shape) -> int:
    """Return how long the numbers of a cost are."""
    return _FLOAT_BYTES * (len(_FLOATS) + 2 * shape.windows) if shape.known else 0


@cache
def _costs_seen() -> dict[bytes, _Packed]:
    """Return what this process knows of costs, by the digests of their windows."""
    return {}


def _costs(samples: Sequence[Samples], digests: Sequence[bytes]) -> Iterator[_Packed | None]:
    """Yield what a cycle of each costs; of windows that were seen before it is known."""
    known = _costs_seen()
    if len(known) > _MOST_COSTS:
        known.clear()
    ok = (item.whole is not None and item.whole.status is BenchmarkStatus.OK for item in samples)
    new = [None if own in known else item.whole for item, own in zip(samples, digests, strict=True)]
    found = zip(digests, cycle_costs(new), strict=True)
    known |= {own: _packed(cost) for own, cost in found if cost}
    return (known.get(own) if good else None for own, good in zip(digests, ok, strict=True))


def _encode_each(reads: Sequence[ReadBoot]) -> Iterator[bytes]:
    digests = [[rounds_of(item).digest for item in read.boot.samples] for read in reads]
    samples = chain.from_iterable(read.boot.samples for read in reads)
    costs = _costs([*samples], [*chain.from_iterable(digests)])
    for read, own in zip(reads, digests, strict=True):
        yield _encode(read, own, islice(costs, len(own)))


def _encode(read: ReadBoot, digests: Sequence[bytes], costs: Iterable[_Packed | None]) -> bytes:
    samples = read.boot.samples
    numbers: list[bytes] = []
    shapes = []
    for item, cost in zip(samples, costs, strict=True):
        windows = len(item.whole.rounds) if item.whole else 0
        packed, plain = cost or (b"", False)
        shapes.append(_Shape(len(item.values), windows, bool(packed), plain))
        numbers.append(packed)
    boot = replace(read.boot, samples=tuple(with_readings(item, (), ()) for item in samples))
    values = np.concatenate([np.empty(0, _WIDE), *(as_array(item.values) for item in samples)])
    narrow = bool(values.max(initial=0) < _NARROW)
    head = _head().dump_json(_Head(replace(read, boot=boot), tuple(shapes), narrow))
    size = len(head).to_bytes(_SIZE_BYTES, "little")
    readings = values.astype(_THIN if narrow else _WIDE).tobytes()
    body = b"".join((size, head, *digests, *numbers, readings))
    return zstandard.ZstdCompressor(write_checksum=True).compress(body)


def _restored(data: bytes, job: Job, reader: Reader, held: _Held, *, check: bool) -> ReadBoot:
    """Return a boot by its summary; check: once the digests of its files are found right.

    Raises ValueError for what is no summary, DamagedResultError for a file that was changed.
    """
    try:
        body = zstandard.decompress(data, max_output_size=_MOST_BYTES)
        at = _SIZE_BYTES + int.from_bytes(body[:_SIZE_BYTES], "little")
        head = _head().validate_json(body[_SIZE_BYTES:at])
    except (zstandard.ZstdError, ValidationError) as error:
        raise ValueError from error
    if check:
        check_document(job[0] / BOOT_FILE)
        for name, digest in head.read.files.items():
            read_plain(job[0] / name, digest)
    cut = _Cut(head, body, at, held, partial(partial, reader.windows, job))
    boot = head.read.boot
    samples = tuple(map(cut.sample, boot.samples, head.shapes))
    return replace(head.read, boot=replace(boot, samples=samples))


class _Cut:
    """Cuts the arrays of a summary into those of its benchmarks, one after the other."""

    def __init__(self, head: _Head, body: bytes, at: int, held: _Held, windows: _Windows) -> None:
        digests = sum(_DIGEST_BYTES for item in head.shapes if item.windows)
        numbers = sum(map(_size_bytes, head.shapes))
        ends = list(accumulate((at, digests, numbers)))
        self._digests, self._numbers = body[ends[0] : ends[1]], body[ends[1] : ends[2]]
        self._readings = body[ends[2] :]
        self._kind: np.dtype[np.signedinteger[Any]] = _THIN if head.narrow else _WIDE
        self._held, self._windows = held, windows
        self._at = self._number = self._digest = self._place = 0

    def sample(self, item: Samples, shape: _Shape) -> Samples:
        values = self._column(shape) if shape.readings else ()
        rounds = self._rounds(shape) if item.whole and shape.windows else ()
        self._place += 1
        return with_readings(item, values, rounds)

    def _column(self, shape: _Shape) -> Column:
        begin = self._at
        self._at += shape.readings * self._kind.itemsize
        key = self._kind.itemsize, self._readings[begin : self._at]
        if key not in self._held.columns:
            self._held.columns[key] = Column(np.frombuffer(key[1], self._kind))
        return self._held.columns[key]

    def _rounds(self, shape: _Shape) -> Windows:
        digest = self._digests[self._digest : self._digest + _DIGEST_BYTES]
        self._digest += _DIGEST_BYTES
        begin = self._number
        self._number += _size_bytes(shape)
        key = digest, shape.known
        if key not in self._held.windows:
            numbers = self._numbers[begin : self._number]
            cost = _cut_cost(numbers, shape) if shape.known else None
            read = self._windows(self._place)
            self._held.windows[key] = Windows(cost, digest, shape.windows, read)
        return self._held.windows[key]
