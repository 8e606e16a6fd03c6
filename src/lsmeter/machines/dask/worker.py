# SPDX-License-Identifier: GPL-2.0-or-later
"""What a worker does for clients: functions that Dask calls by name, in the worker's process.

All boots run in one event loop of a thread of its own, which a client can tell to end its own.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import zstandard

from lsmeter.core.errors import LsmeterError
from lsmeter.core.host import free_bytes
from lsmeter.core.model.arch import ARCHES, Arch
from lsmeter.core.storage import cache_dir, make_dir, write_atomic
from lsmeter.guest.boot_image import make_request
from lsmeter.guest.capture import Capture, Ending
from lsmeter.guest.given import using
from lsmeter.guest.session import SessionReader
from lsmeter.machines.dask import messages
from lsmeter.machines.dask.messages import Facts, GarbledError, Order, Reply
from lsmeter.machines.dask.store import LacksError, Store
from lsmeter.machines.emulation import MACHINE
from lsmeter.machines.plugin import build_plugin
from lsmeter.machines.qemu import qemu_version

if TYPE_CHECKING:
    from distributed import Worker

RESOURCE = "guest"
_KEY = re.compile("[0-9a-f]{32}")
_MOST_KEPT = 256  # replies that no client has taken yet
_STORE_GIB = 16
_STOP_S = 3.0
_PAUSE_S = 0.05

_running: dict[str, tuple[str, asyncio.Task[Capture]]] = {}  # by key: run, task
_stopped: set[str] = set()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """Start the event loop of boots, once."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="boots", daemon=True).start()
    return loop


def _store() -> Store:
    gib = os.environ.get("LSMETER_SENT_GIB", "")
    most = int(gib) if gib.isdecimal() and len(gib) < 7 else _STORE_GIB
    return Store(cache_dir() / "sent", most << 30)


def _kept(key: str) -> Path:
    return cache_dir() / "replies" / key


async def describe(plugins: Iterable[str], arches: Iterable[str], dask_worker: Worker) -> str:
    """Say what this worker is: how many guests at once, and all that decides what they count."""
    guests = int(dask_worker.state.total_resources.get(RESOURCE, 0))
    versions: dict[str, str] = {}
    why = "" if guests else f"it has no resource '{RESOURCE}': start it with --resources guest=N"
    try:
        wanted = [ARCHES[name] for name in arches]
        versions = await asyncio.to_thread(_versions, tuple(plugins), wanted)
    except LsmeterError as error:
        why = f"{error.title}; {error.hint}".strip("; ")
    replies = [path.name for path in _kept("").glob("*") if _KEY.fullmatch(path.name)]
    known = (*_running, *replies)[:_MOST_KEPT]
    free = free_bytes(cache_dir()) >> 20
    facts = Facts(str(dask_worker.name), guests, tuple(versions.items()), why, known, free)
    return messages.write_text(facts)


def _versions(plugins: tuple[str, ...], arches: list[Arch]) -> dict[str, str]:
    """Return what decides counts, but the probe, which is sent; plugins are compiled here."""
    for arch, name in product(arches, plugins):
        build_plugin(name, qemu_version(arch))
    return messages.name_versions(arches, partial(MACHINE.identity_of, plugins=plugins))


def put(run: str, sha256: str, offset: int, total_bytes: int, data: bytes) -> str:
    """Take a compressed piece of a file; return what is wrong, "" if nothing is."""
    try:
        most = messages.PIECE_BYTES
        piece = zstandard.decompress(data, max_output_size=most)
        _store().put(run, sha256, offset, total_bytes, piece)
    except LsmeterError as error:
        return error.title
    except zstandard.ZstdError as error:
        return f"a piece of {sha256[:12]} is damaged: {error}"
    return ""


def boot(text: str) -> bytes:
    """Make the boot of an order; the reply is kept until a client says that it has it."""
    order = messages.read_order(text)
    forget(order.received)
    kept = _kept(order.key)
    with suppress(OSError):
        return kept.read_bytes()
    try:
        with _store().held(messages.digests_of(order)) as files:
            capture = asyncio.run_coroutine_threadsafe(_boot(order, files), _loop()).result()
    except LacksError as error:
        return messages.write_reply(Reply(order.key, lacks=error.digests))
    except (LsmeterError, GarbledError) as error:
        return messages.write_reply(Reply(order.key, why=str(error)))
    except CancelledError:
        return messages.write_reply(Reply(order.key, why="stopped"))
    data = messages.write_capture(order.key, capture)
    # A full disk, or another process that threw one away: the reply is on its way all the same.
    with suppress(LsmeterError, OSError):
        make_dir(kept.parent)
        for path in sorted(kept.parent.iterdir(), key=os.path.getmtime)[: -_MOST_KEPT + 1]:
            path.unlink(missing_ok=True)
        write_atomic(kept, data)
    return data


async def _boot(order: Order, files: Mapping[str, Path]) -> Capture:
    """Run the guest of an order, watched as on any machine."""
    if order.run in _stopped:
        raise asyncio.CancelledError
    cell = messages.move_files(order.boot.cell, lambda path, sha256: files[sha256 or path.name])
    planned = replace(order.boot, cell=cell)
    reader = SessionReader(make_request(cell, planned.seed))

    def heard(data: bytes) -> int | Ending:
        reader.feed(data)
        return Ending.REFUSED if reader.over else reader.finished

    with using({name: files[sha256] for name, sha256 in order.given}):
        task = asyncio.ensure_future(MACHINE.run(planned, order.limits, heard))
    _running[order.key] = order.run, task
    try:
        return await task
    finally:
        _running.pop(order.key, None)


async def stop(run: str) -> int:
    """End the boots of a client; return how many would not end in time."""
    _stopped.add(run)
    for own, task in [*_running.values()]:
        if own == run:
            _loop().call_soon_threadsafe(task.cancel)
    for _ in range(int(_STOP_S / _PAUSE_S)):
        if not any(own == run for own, _ in [*_running.values()]):
            break
        await asyncio.sleep(_PAUSE_S)
    return sum(own == run for own, _ in [*_running.values()])


def forget(keys: Iterable[str]) -> None:
    """Throw replies away that a client has stored."""
    for key in keys:
        if _KEY.fullmatch(key):
            _kept(key).unlink(missing_ok=True)
