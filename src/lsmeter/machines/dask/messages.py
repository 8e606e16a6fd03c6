# SPDX-License-Identifier: GPL-2.0-or-later
"""What a client and a worker say to each other: JSON and bytes, checked on arrival; pure.

An order has no path: a file is named by its SHA-256. A reply is a head in JSON, then the bytes
that came out of the guest, compressed.
"""

from __future__ import annotations

import hashlib
import io
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import zstandard
from pydantic import ValidationError

from lsmeter import __version__
from lsmeter.core.entries import adapter_of
from lsmeter.core.limits import Limits
from lsmeter.core.model import Cell
from lsmeter.core.model.arch import X86_64, Arch
from lsmeter.core.printable import printable
from lsmeter.guest.capture import Capture, Ending
from lsmeter.measure.experiment.plan import PlannedBoot

T = TypeVar("T")
Digest = Callable[[Path], str]

PIECE_BYTES = 4 << 20  # of a file that is sent
_HEAD = struct.Struct(">I")
_MOST_HEAD_BYTES = 1 << 20
_MOST_OUTPUT_BYTES = 513 << 20  # as lsmeter.machines.qemu keeps of a plugin
_TEXT_CHARS = 32 << 10
_MOST_WALL_S = 1e7


class GarbledError(ValueError):
    """What arrived is no message of ours."""


@dataclass(frozen=True)
class Order:
    """A boot to be made: by whom (one use of a scheduler), its key, and the files by digest.

    hash is the cell's, which the worker works out anew. given names files that stand in for the
    worker's own. received are keys of replies that need not be kept any longer.
    """

    run: str
    key: str
    boot: PlannedBoot
    hash: str
    limits: Limits
    given: tuple[tuple[str, str], ...]
    received: tuple[str, ...] = ()


@dataclass(frozen=True)
class Facts:
    """What a worker says of itself; why: it can make no boots. known: keys of its boots."""

    name: str
    guests: int
    versions: tuple[tuple[str, str], ...]
    why: str = ""
    known: tuple[str, ...] = ()
    free_mib: int = 0


@dataclass(frozen=True)
class Reply:
    """The head of a reply: why there is no boot, or how it ended and the size of each part."""

    key: str
    lacks: tuple[str, ...] = ()
    why: str = ""
    ending: Ending | None = None
    exit_code: int | None = None
    wall_s: float = 0.0
    stderr: str = ""
    sizes: tuple[tuple[str, int], ...] = ()


def name_versions(
    arches: Iterable[Arch], identify: Callable[[Arch], Mapping[str, str]]
) -> dict[str, str]:
    """Name what decides counts of these architectures, but the probe, which is sent."""
    found = {"lsmeter": __version__}
    for arch in arches:
        before, known = "" if arch is X86_64 else f"{arch.name} ", identify(arch)
        found |= {f"{before}{name}": text for name, text in known.items() if name != "probe"}
    return found


def move_files(cell: Cell, move: Callable[[Path, str], Path]) -> Cell:
    """Return a cell whose files are where `move` says, by path and digest ("": not known)."""
    kernel, image = cell.kernel, cell.image
    symbols = kernel.system_map
    moved = replace(
        kernel,
        image=move(kernel.image, kernel.image_sha256),
        modules=tuple(replace(m, file=move(m.file, m.sha256)) for m in kernel.modules),
        artifacts={
            name: replace(item, file=move(item.file, item.sha256))
            for name, item in kernel.artifacts.items()
        },
        system_map=None if symbols is None else move(symbols, ""),
    )
    found = replace(image, file=move(image.file, image.sha256)) if image else None
    return replace(cell, kernel=moved, image=found)


def bare_cell(cell: Cell, digest: Digest) -> Cell:
    """Return a cell without a path; digest gives the SHA-256 of a file if it is not known."""
    cell = move_files(cell, lambda path, sha256: Path(sha256 or digest(path)))
    image = replace(cell.image, name="image") if cell.image else None
    # Names and origins may hold paths of this machine.
    kernel = replace(cell.kernel, name=cell.kernel.release, origin="", config={})
    return replace(cell, kernel=kernel, image=image)


def make_order(
    run: str, bare: PlannedBoot, cell_hash: str, limits: Limits, given: Mapping[str, str]
) -> Order:
    """Write the order of a boot whose cell is bare, and has this hash with its files."""
    order = Order("", "", bare, cell_hash, limits, tuple(sorted(given.items())))
    text = __version__.encode() + adapter_of(Order).dump_json(order)
    return replace(order, run=run, key=hashlib.sha256(text).hexdigest()[:32])


def write_text(said: Order | Facts) -> str:
    """Return an order, or what a worker says of itself, as text."""
    return adapter_of(type(said)).dump_json(said).decode()


def read_order(text: str) -> Order:
    """Read an order; GarbledError for one that is none, or of another cell than it says."""
    order = _validated(Order, text.encode())
    if order.boot.cell.hash != order.hash:
        raise GarbledError("the order is of another cell than it says: do the versions differ?")
    return order


def digests_of(order: Order) -> tuple[str, ...]:
    """Return the SHA-256 of every file that a boot needs."""
    found: dict[str, None] = {sha256: None for _, sha256 in order.given}

    def note(path: Path, sha256: str) -> Path:
        found[sha256 or path.name] = None
        return path

    move_files(order.boot.cell, note)
    return tuple(found)


def read_facts(data: object) -> Facts:
    """Read what a worker says of itself."""
    if not isinstance(data, str) or len(data) > _MOST_HEAD_BYTES:
        raise GarbledError("it does not say what it is")
    facts = _validated(Facts, data.encode())
    versions = tuple((printable(key)[:40], printable(text)[:100]) for key, text in facts.versions)
    return replace(facts, name=printable(facts.name)[:80], versions=versions)


def write_reply(reply: Reply, parts: Mapping[str, bytes] | None = None) -> bytes:
    """Return a reply as bytes."""
    parts = parts or {}
    head = replace(reply, sizes=tuple((name, len(data)) for name, data in parts.items()))
    text = adapter_of(Reply).dump_json(head)
    packed = zstandard.compress(b"".join(parts.values())) if parts else b""
    return _HEAD.pack(len(text)) + text + packed


def write_capture(key: str, capture: Capture) -> bytes:
    """Return the reply that has what came out of a guest."""
    head = Reply(
        key,
        ending=capture.ending,
        exit_code=capture.exit_code,
        wall_s=capture.wall_s,
        stderr=capture.stderr[:_TEXT_CHARS],
    )
    outputs = {f"out.{name}": data for name, data in capture.outputs.items()}
    return write_reply(head, {"results": capture.results, "console": capture.console, **outputs})


def read_reply(data: object, order: Order) -> Reply | Capture:
    """Read the reply to an order; GarbledError for anything that is none, or too large."""
    if not isinstance(data, bytes) or len(data) < _HEAD.size:
        raise GarbledError("no reply of ours")
    (size,) = _HEAD.unpack_from(data)
    if size > _MOST_HEAD_BYTES:
        raise GarbledError("a reply with too long a head")
    head = _validated(Reply, data[_HEAD.size : _HEAD.size + size])
    if head.key != order.key:
        raise GarbledError("the reply is of another boot")
    if head.ending is None:
        lacks = tuple(sha256 for sha256 in head.lacks if sha256 in digests_of(order))
        return replace(head, lacks=lacks, why=printable(head.why)[:300])
    limits = {"results": order.limits.results_bytes, "console": order.limits.console_bytes}
    parts = _parts(head, data[_HEAD.size + size :], limits)
    if not 0 <= head.wall_s <= _MOST_WALL_S or len(head.stderr) > _TEXT_CHARS:
        raise GarbledError("a boot took no such time, or complained too much")
    return Capture(
        results=parts.pop("results"),
        console=parts.pop("console"),
        ending=head.ending,
        exit_code=head.exit_code,
        wall_s=head.wall_s,
        stderr=head.stderr,
        outputs={name.removeprefix("out."): part for name, part in parts.items()},
    )


def _parts(head: Reply, packed: bytes, limits: Mapping[str, int]) -> dict[str, bytes]:
    """Unpack the parts of a reply, each within its limit."""
    sizes = dict(head.sizes)
    names = [name for name in sizes if name not in limits]
    if limits.keys() - sizes.keys() or len(sizes) != len(head.sizes) or len(names) > 4:
        raise GarbledError("a reply with other parts")
    if any(not name.startswith("out.") or not name[4:].isidentifier() for name in names):
        raise GarbledError("a reply with a part of an unknown name")
    if any(not 0 <= size <= limits.get(name, _MOST_OUTPUT_BYTES) for name, size in sizes.items()):
        raise GarbledError("a reply with too large a part")
    total = sum(sizes.values())
    try:
        whole = zstandard.ZstdDecompressor().decompress(packed, max_output_size=total + 1)
    except zstandard.ZstdError as error:
        raise GarbledError("a reply that cannot be unpacked") from error
    if len(whole) != total:
        raise GarbledError("a reply that is cut")
    rest = io.BytesIO(whole)
    return {name: rest.read(size) for name, size in sizes.items()}


def _validated(kind: type[T], data: bytes) -> T:
    try:
        return adapter_of(kind).validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))[:60]
        raise GarbledError(f"not a message of ours: {where}: {first['msg'][:80]}") from error
