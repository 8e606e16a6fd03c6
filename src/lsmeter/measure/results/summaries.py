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
from itertools import chain, islice
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
    digest_of,
    prove_document,
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
_COST = attrgetter(*_FLOATS, "plain")
_DIGEST_BYTES = 32
_WIDE, _THIN = np.dtype("<i8"), np.dtype("<i4")
Job = tuple[Path, BootId]
_SEEN: dict[bytes, bytes] = {}  # what this process knows of costs, by the digests of their windows


class _Shape(NamedTuple):
    """How many windows one benchmark has, and how many bytes: what a cycle costs, its readings."""

    windows: int
    cost_bytes: int
    readings_bytes: int


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


class _Held:
    """What boots that were restored have in common, each once."""

    def __init__(self) -> None:
        self._columns: dict[tuple[int, bytes], Column] = {}
        self._windows: dict[tuple[bytes, bool], Windows] = {}

    def column(self, readings: bytes, kind: np.dtype[np.signedinteger[Any]]) -> Column:
        key = kind.itemsize, readings
        if key not in self._columns:
            self._columns[key] = Column(np.frombuffer(readings, kind))
        return self._columns[key]

    def windows(
        self, digest: bytes, cost: bytes, count: int, read: Callable[[], Sequence[Round]]
    ) -> Windows:
        key = digest, bool(cost)
        if key not in self._windows:
            known = _unpacked_cost(cost) if cost else None
            self._windows[key] = Windows(known, digest, count, read)
        return self._windows[key]


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
    made, held = _summaries(reader, lacking), _Held()
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


def _packed_cost(cost: CycleCost) -> bytes:
    return array("d", (*_COST(cost), *cost.windows, *cost.operations)).tobytes()


def _unpacked_cost(data: bytes) -> CycleCost:
    found = array("d", data)
    named, first = dict(zip(_FLOATS, found, strict=False)), len(_FLOATS) + 1
    half = (first + len(found)) // 2
    operations = tuple(map(int, found[half:]))
    return CycleCost(
        **named,
        plain=bool(found[first - 1]),
        cycles=sum(operations),
        windows=found[first:half],
        operations=operations,
    )


def _costs(samples: Sequence[Samples], digests: Sequence[bytes]) -> Iterator[bytes]:
    """Yield what a cycle of each costs; of windows that were seen before it is known."""
    if len(_SEEN) > _MOST_COSTS:
        _SEEN.clear()
    ok = (item.whole is not None and item.whole.status is BenchmarkStatus.OK for item in samples)
    new = [None if own in _SEEN else item.whole for item, own in zip(samples, digests, strict=True)]
    found = zip(digests, cycle_costs(new), strict=True)
    _SEEN.update({own: _packed_cost(cost) for own, cost in found if cost})
    return (_SEEN.get(own, b"") if good else b"" for own, good in zip(digests, ok, strict=True))


def _encode_each(reads: Sequence[ReadBoot]) -> Iterator[bytes]:
    digests = [[rounds_of(item).digest for item in read.boot.samples] for read in reads]
    samples = chain.from_iterable(read.boot.samples for read in reads)
    costs = _costs([*samples], [*chain.from_iterable(digests)])
    for read, own in zip(reads, digests, strict=True):
        yield _encode(read, own, islice(costs, len(own)))


def _encode(read: ReadBoot, digests: Iterable[bytes], costs: Iterable[bytes]) -> bytes:
    samples, costs = read.boot.samples, [*costs]
    values = [as_array(item.values) for item in samples]
    narrow = bool(max((each.max(initial=0) for each in values), default=0) < _NARROW)
    readings = [each.astype(_THIN if narrow else _WIDE).tobytes() for each in values]
    shapes = tuple(
        _Shape(len(item.whole.rounds) if item.whole else 0, len(cost), len(own))
        for item, cost, own in zip(samples, costs, readings, strict=True)
    )
    boot = replace(read.boot, samples=tuple(with_readings(item, (), ()) for item in samples))
    head = _head().dump_json(_Head(replace(read, boot=boot), shapes, narrow))
    size = len(head).to_bytes(_SIZE_BYTES, "little")
    parts = chain.from_iterable(zip(digests, costs, readings, strict=True))
    body = b"".join((size, head, *parts))
    return zstandard.ZstdCompressor(write_checksum=True).compress(body)


def _cut(
    body: bytes, at: int, shapes: Iterable[_Shape]
) -> Iterator[tuple[_Shape, bytes, bytes, bytes]]:
    """Yield of each benchmark its shape, the digest of its windows, its cost and its readings."""
    for shape in shapes:
        costs = at + _DIGEST_BYTES * bool(shape.windows)
        readings = costs + shape.cost_bytes
        end = readings + shape.readings_bytes
        yield shape, body[at:costs], body[costs:readings], body[readings:end]
        at = end


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
        prove_document(job[0] / BOOT_FILE)
        for name, written in head.read.files.items():
            read_plain(job[0] / name, written)
    kind, boot, samples = _THIN if head.narrow else _WIDE, head.read.boot, []
    parts = zip(boot.samples, _cut(body, at, head.shapes), strict=True)
    for place, (item, (shape, digest, cost, readings)) in enumerate(parts):
        values = held.column(readings, kind) if readings else ()
        read = partial(reader.windows, job, place)
        rounds = held.windows(digest, cost, shape.windows, read) if item.whole and digest else ()
        samples.append(with_readings(item, values, rounds))
    return replace(head.read, boot=replace(boot, samples=tuple(samples)))
