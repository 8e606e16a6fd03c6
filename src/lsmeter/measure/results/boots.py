# SPDX-License-Identifier: GPL-2.0-or-later
"""One boot on disk: what came out of the guest, and what it was read as.

boot.json (what it reported), samples.parquet (every reading), results.zst (all that the guest
wrote to the result channel), console.log, and a file for each output of a plugin. boot.json has
the digest of each, and its own: a boot of which a file does not fit is no result. With the raw
results a boot can be read again by a later parser. Of what another program measured, results.zst
is that program's file.
"""

from __future__ import annotations

import marshal
import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from hashlib import sha256
from itertools import chain
from operator import attrgetter
from pathlib import Path
from threading import get_ident

import zstandard
from pydantic import TypeAdapter

from lsmeter import __version__
from lsmeter.core.model import Boot, BootId, Round, Samples, Whole
from lsmeter.core.storage import hold, make_dir, write_atomic, write_dir, writing
from lsmeter.guest.capture import Capture, Ending
from lsmeter.guest.conclude import PARSER
from lsmeter.guest.request import Request
from lsmeter.measure.results.documents import (
    MAX_FILE_BYTES,
    DamagedResultError,
    digest_of,
    read_as,
    read_document,
    read_plain,
    sealed,
    validated_text,
)
from lsmeter.measure.results.samples import UnreadableError, read_values, write_values

FORMAT = "lsmeter-boot"
VERSION = 4

BOOT_FILE = "boot.json"
SAMPLES_FILE = "samples.parquet"
RESULTS_FILE = "results.zst"
CONSOLE_FILE = "console.log"
OUTPUT_SUFFIX = ".zst"  # attribution.zst
LOCK_FILE = ".lock"  # of who measures into a directory, or writes a boot
MAX_WAIT_S = 120.0  # for another run that writes the same boot
_ALWAYS = (SAMPLES_FILE, RESULTS_FILE, CONSOLE_FILE)


@dataclass(frozen=True)
class _Taken:
    """How a guest ended, and the digest of what it wrote."""

    results_sha256: str
    ending: Ending
    exit_code: int | None
    stderr: str
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Document:
    """What boot.json says; files has the digest of every other file of the boot, by name."""

    boot: Boot
    lsmeter_version: str = ""
    parser: int = 0
    files: Mapping[str, str] = field(default_factory=dict)
    capture: _Taken | None = None
    request: Request | None = None


_DOCUMENT = TypeAdapter(_Document)


class Rounds(tuple[Round, ...]):  # noqa: SLOT001  (it has room for what is worked out once)
    """The windows of one benchmark in one boot; equal ones of several boots may be one object."""

    @cached_property
    def digest(self) -> bytes:
        """What tells them from others; nothing where there are none."""
        # As version 2 of marshal has it, what is equal has the same bytes.
        return sha256(marshal.dumps([*map(_PARTS, self)], 2)).digest() if self else b""

    @cached_property
    def possible(self) -> bool:
        """Whether a guest can have said so."""
        taken = [one.taken for one in self if one.taken]
        return (
            all(0 <= i.loop <= i.bulk and i.operations > 0 and i.ticks >= 0 for i in self)
            and min(chain.from_iterable(taken), default=0) >= 0
            and len({*map(len, taken)}) <= 1
        )


_ROUNDS: TypeAdapter[tuple[Round, ...]] = TypeAdapter(tuple[Round, ...])
_ROUNDS_BEGIN, _ROUNDS_END = b'"rounds":[', b'}],"detail":'  # as boot.json has them
_PARTS = attrgetter("operations", "loop", "bulk", "ticks", "taken")
_MOST_ROUNDS = 8192  # lists of windows that are remembered


@dataclass(frozen=True)
class StoredBoot:
    """A boot as it was read back, by which version it was written, and its raw form if kept.

    files has the digest that each file was written with. A boot with its raw form also has what
    the guest was asked for.
    """

    boot: Boot
    version: str  # of lsmeter
    parser: int
    capture: Capture | None
    files: Mapping[str, str]
    request: Request | None = None


def write_boot(directory: Path, boot: Boot, capture: Capture, request: Request) -> None:
    """Write a boot to `directory`, with what it was asked for."""
    write_files(directory, files_of(boot, capture, request))


def files_of(boot: Boot, capture: Capture, request: Request) -> dict[str, bytes]:
    """Return the files of a boot, with what it was asked for, by name.

    boot.json comes last, and its presence says: all is there.
    """
    raw = (capture.ending, capture.exit_code, capture.stderr, capture.facts)
    taken = _Taken(digest_of(capture.results), *raw)
    document = _Document(boot, __version__, PARSER, {}, taken, request.kept)
    return _files(document, capture.results, capture.console, capture.outputs)


def write_foreign(
    directory: Path, boot: Boot, raw: bytes, outputs: Mapping[str, bytes] | None = None
) -> None:
    """Write a boot that another program measured, with the file that it was read from.

    Also one whose raw results may not be handed on, with the outputs of its plugin.
    """
    write_files(directory, _files(_Document(boot, __version__), raw, b"", outputs or {}))


def _files(
    document: _Document, results: bytes, console: bytes, outputs: Mapping[str, bytes]
) -> dict[str, bytes]:
    boot = document.boot
    groups = ((item.benchmark, item.values, item.delay_ns) for item in boot.samples)
    files = {
        SAMPLES_FILE: write_values(groups),
        CONSOLE_FILE: console,
        RESULTS_FILE: zstandard.compress(results),
    }
    for name, data in outputs.items():
        files[f"{name}{OUTPUT_SUFFIX}"] = zstandard.compress(data)
    samples = (with_readings(item, (), rounds_of(item)) for item in boot.samples)
    light = replace(boot, samples=tuple(samples))
    digests = {name: digest_of(data) for name, data in files.items()}
    content = _DOCUMENT.dump_json(replace(document, boot=light, files=digests))
    return {**files, BOOT_FILE: sealed(FORMAT, VERSION, content)}


def with_readings(item: Samples, values: Sequence[int], rounds: Sequence[Round]) -> Samples:
    """Return a benchmark with these readings and windows; as `replace`, which takes long."""
    whole = item.whole and Whole(item.whole.status, rounds, item.whole.detail)
    rest = (item.failures, item.detail, item.ticked, whole, item.delay_ns, item.said)
    return Samples(item.benchmark, item.status, values, *rest)


def rounds_of(item: Samples) -> Rounds:
    """Return the windows of a benchmark."""
    rounds = item.whole.rounds if item.whole else ()
    return rounds if isinstance(rounds, Rounds) else Rounds(rounds)


def share_files(directory: Path, files: Mapping[str, bytes]) -> None:
    """Write a boot of the store, as other runs may do at the same time.

    A loss of power may cost what was written last: digests tell, and it is made again.
    """
    if not write_dir(directory, files, lasting=False):
        with hold(make_dir(directory.parent) / LOCK_FILE, str(directory), MAX_WAIT_S):
            write_files(directory, files, lasting=False)


def write_files(directory: Path, files: Mapping[str, bytes], *, lasting: bool = True) -> None:
    """Write all files of a boot, boot.json last; lasting: they outlive a loss of power."""
    if write_dir(directory, files, lasting=lasting):
        return
    if not directory.is_dir():
        with writing(directory):
            directory.unlink(missing_ok=True)
    for name, data in files.items():
        _make_way(directory / name)
        write_atomic(directory / name, data, lasting=lasting)


def _make_way(path: Path) -> None:
    """Remove what is no file of ours: a link would be written through, a directory stays."""
    with writing(path):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif not path.is_file() or path.is_symlink():
            path.unlink(missing_ok=True)


def read_boot(directory: Path, asked: BootId) -> StoredBoot:
    """Read back the boot that was asked for, which may have had another index in its own run.

    Raises DamagedResultError that names the file that is not what was written.
    """
    path = directory / BOOT_FILE
    found = read_as(_DOCUMENT, path, FORMAT, (VERSION,), _parse)
    if found.parser and found.capture is None:
        raise DamagedResultError(path, "capture: it does not say how the guest ended")
    if found.capture and found.request is None:
        raise DamagedResultError(path, "request: it does not say what the guest was asked for")
    if lacking := [name for name in _ALWAYS if not found.files.get(name)]:
        raise DamagedResultError(path, f"files: it has no digest of {lacking[0]}")
    boot = replace(found.boot, index=asked.index)
    if (boot.cell_hash, boot.seed) != (asked.cell_hash, asked.seed):
        raise DamagedResultError(path, "it is of another boot")
    try:
        values = read_values(read_plain(directory / SAMPLES_FILE, found.files[SAMPLES_FILE]))
    except UnreadableError as error:
        raise DamagedResultError(directory / SAMPLES_FILE, str(error)) from None
    # The readings go back to the samples that they were taken from.
    samples = (
        with_readings(item, values.get((item.benchmark, item.delay_ns), ()), rounds_of(item))
        for item in boot.samples
    )
    boot = replace(boot, samples=tuple(samples))
    if why := next(_impossible(boot), ""):
        raise DamagedResultError(path, why)
    capture = _read_capture(directory, found, found.capture) if found.capture else None
    version = found.lsmeter_version[:40]
    return StoredBoot(boot, version, found.parser, capture, found.files, found.request)


def _parse(data: bytes) -> _Document:
    """Read boot.json as we write it, or raise ValueError.

    Windows are nearly all of it. Exact boots mostly agree, so lists of windows are parsed apart,
    and those of a text that was seen before are known.
    """
    rest, found, at = [], [], 0
    while (begin := data.find(_ROUNDS_BEGIN, at)) >= 0:
        begin += len(_ROUNDS_BEGIN)
        end = begin if data.startswith(b"]", begin) else data.index(_ROUNDS_END, begin) + 1
        rest.append(data[at:begin])
        found.append(_known_rounds(data[begin:end]))
        at = end
    document = validated_text(_DOCUMENT, b"".join((*rest, data[at:])))
    known = iter(found)
    samples = tuple(
        with_readings(item, item.values, next(known, ())) if item.whole else item
        for item in document.boot.samples
    )
    if sum(item.whole is not None for item in samples) != len(found):
        raise ValueError("windows that are of no benchmark")
    return replace(document, boot=replace(document.boot, samples=samples))


@lru_cache(_MOST_ROUNDS)
def _known_rounds(text: bytes) -> Rounds:
    found = validated_text(_ROUNDS, b"[%b]" % text)
    return Rounds(found)


def _impossible(boot: Boot) -> Iterator[str]:
    """Say what no guest can have said, and no type tells."""
    if not 0 <= boot.wall_s < math.inf or boot.index < 0:
        yield "a number below 0, or beyond all"
    if any(min(item.runs, default=0) < 0 or not item.runs for item in boot.counts):
        yield "counts that cannot be"
    for item in boot.samples:
        if not rounds_of(item).possible:
            yield f"{item.benchmark}: a window that cannot be"
        if item.failures < 0 or (item.delay_ns or 0) < 0:
            yield f"{item.benchmark}: a number below 0"
        if any(not 0 <= place < len(item.values) for place in item.ticked):
            yield f"{item.benchmark}: a tick that cannot be"


def damaged_outputs(directory: Path, stored: StoredBoot) -> Iterator[DamagedResultError]:
    """Yield what is wrong with the outputs of plugins; `read_boot` does not look at them."""
    for name in sorted({*stored.files} - {*_ALWAYS}):
        try:
            _unpacked(directory / name, stored.files[name])
        except DamagedResultError as error:
            yield error


def read_output(directory: Path, name: str) -> bytes | None:
    """Return what a plugin wrote in a boot; None where there is nothing, or it is damaged."""
    path = directory / f"{name}{OUTPUT_SUFFIX}"
    try:
        document = read_document(directory / BOOT_FILE, FORMAT, (VERSION,))
        digest = document.get("files", {}).get(path.name, "")
        return _unpacked(path, digest) if digest else None
    except DamagedResultError:
        return None


def _read_capture(directory: Path, found: _Document, said: _Taken) -> Capture:
    """Return the raw form of a boot, once its digest is found right."""
    results = _unpacked(directory / RESULTS_FILE, found.files[RESULTS_FILE])
    if digest_of(results) != said.results_sha256:
        raise DamagedResultError(directory / RESULTS_FILE, "it is not what was written")
    console = read_plain(directory / CONSOLE_FILE, found.files[CONSOLE_FILE])
    ended = said.ending, said.exit_code, found.boot.wall_s, said.stderr
    return Capture(results, console, *ended, facts=said.facts)


def _unpacked(path: Path, digest: str) -> bytes:
    data = read_plain(path, digest)
    try:
        if zstandard.frame_content_size(data) > MAX_FILE_BYTES:
            raise DamagedResultError(path, f"unpacks to more than {MAX_FILE_BYTES} bytes")
        return _decompressor(get_ident()).decompress(data, max_output_size=MAX_FILE_BYTES)
    except zstandard.ZstdError as error:
        raise DamagedResultError(path, str(error)) from None


@lru_cache(16)
def _decompressor(_thread: int) -> zstandard.ZstdDecompressor:
    """Return the one of a thread: making it takes longer than unpacking a boot."""
    return zstandard.ZstdDecompressor()
