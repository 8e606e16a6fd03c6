# SPDX-License-Identifier: GPL-2.0-or-later
"""The workers of a scheduler as one client sees them: which may be used, and their free places.

A boot is handed to a worker that has a free place, and to that one only, so that it is known which
boots a lost worker had; a place is taken until the reply has come. Dask's own scheduling, and
its blaming of tasks that had only been assigned, do not come into it.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import zstandard

from lsmeter.core.errors import InfrastructureError
from lsmeter.core.printable import printable
from lsmeter.core.storage import prove, reading
from lsmeter.guest.capture import Capture
from lsmeter.machines.dask import messages, worker
from lsmeter.machines.dask.messages import Facts, GarbledError, Order, Reply
from lsmeter.machines.dask.scheduler import connected

if TYPE_CHECKING:
    from distributed import Client, Future

LOOK_S = 1.0
_ANSWER_S = 60.0
_WAIT_S = 600.0  # for a scheduler that is gone, or for a first worker
_STOP_S = 3.5
_MOST_FAULTS = 3  # in a row, after which a worker gets no more boots
_SENDING = 4  # files on their way at once

# What breaks where a scheduler or a worker is gone.
_BROKEN = (OSError, TimeoutError)


class LostError(Exception):
    """A worker is gone, or did not do what was asked; the text says what."""


class DroppedError(LostError):
    """A scheduler that was started again knows nothing of a boot: no fault of its worker."""


@dataclass(eq=False)
class Member:
    """A worker that can be used; gone is done once it cannot be any longer."""

    facts: Facts
    address: str
    gone: asyncio.Future[object]
    taken: int = 0
    faults: int = 0
    refused: str = ""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    received: list[str] = field(default_factory=list)

    @property
    def label(self) -> str:
        """Name it for people."""
        return label(self.facts, self.address)


def label(facts: Facts, address: str) -> str:
    """Name a worker for people."""
    short = address.partition("://")[2]
    return short if facts.name in address else f"{facts.name} ({short})"


def why_unfit(facts: Facts, versions: Mapping[str, str]) -> str:
    """Say why a worker would not make the cells of these versions; "" where it would."""
    if facts.why:
        return facts.why
    own = dict(facts.versions)
    other = (
        f"{name} {own.get(name, 'none')[:40]}, not {text[:40]}"
        for name, text in versions.items()
        if own.get(name) != text
    )
    if different := ", ".join(other):
        return f"its boots would be of other cells: {different}"
    return ""


async def look(
    client: Client, plugins: Collection[str], arches: Collection[str], address: str
) -> Facts:
    """Ask a worker what it is; one that gives no answer, or none of ours, says so in `why`."""
    wanted = sorted(plugins), sorted(arches)
    asked = client.run(worker.describe, *wanted, workers=[address], on_error="return")
    answer: object = None
    try:
        answer = (await asyncio.wait_for(asked, _ANSWER_S)).get(address)
        return messages.read_facts(answer)
    except TimeoutError:
        said = f"it does not say within {_ANSWER_S:.0f} s what it is"
    except GarbledError as error:
        why = f"{type(answer).__name__}: {answer}" if isinstance(answer, Exception) else error
        said = printable(f"lsmeter does not run there: {why}")[:200]
    return Facts(address, 0, (), said)


class Pool:
    """Workers, as long as it is entered; files has the path of each file by digest.

    wanted: the plugins and architectures that boots take.
    """

    def __init__(
        self,
        place: str,
        versions: Mapping[str, str],
        wanted: tuple[Collection[str], Collection[str]],
        files: Mapping[str, Path],
        tell: Callable[[str], None],
    ) -> None:
        self.run = secrets.token_hex(8)
        self.members: dict[str, Member] = {}
        self.known: dict[str, Member] = {}  # boots that another client ordered, by key
        self._place, self._versions, self._wanted = place, versions, wanted
        self._files, self._tell = files, tell
        self._client: Client | None = None
        self._stack = AsyncExitStack()
        self._waiting: deque[asyncio.Future[Member]] = deque()
        self._picky: dict[asyncio.Future[Member], Collection[str]] = {}
        self._sending = asyncio.Semaphore(_SENDING)
        self._numbers = count()
        self._orders: set[Future[Any]] = set()
        self._asked: dict[str, asyncio.Task[None]] = {}  # what they are, by address
        self._over: InfrastructureError | None = None
        self._looking: asyncio.Task[None] | None = None

    def said(self) -> str:
        """Say how many workers there are, and how many boots they make now."""
        able = [item for item in self.members.values() if not item.refused]
        running = sum(item.taken for item in able)
        return f"{len(able)} worker{'s' * (len(able) != 1)}, {running} boots running"

    @property
    def _there(self) -> Client:
        if self._client is None:
            raise LostError("there is no way to the workers")
        return self._client

    async def __aenter__(self) -> Self:
        self._client = await self._stack.enter_async_context(connected(self._place))
        self._looking = asyncio.create_task(self._keep_looking())
        return self

    async def __aexit__(self, *raised: object) -> None:
        """End every boot of ours that runs, and leave."""
        looking = {*filter(None, [self._looking]), *self._asked.values()}
        while looking:
            for task in looking:
                task.cancel()
            # Again: one that has its answer at this moment forgets it (wait_for of Python 3.11).
            _, looking = await asyncio.wait(looking, timeout=LOOK_S)
        await asyncio.wait([asyncio.create_task(self._stop())], timeout=_STOP_S)
        await self._stack.aclose()

    async def _stop(self) -> None:
        client = self._client
        addresses = [item.address for item in self.members.values()]
        if client is None or not addresses:
            return
        ask = partial(client.run, on_error="ignore")
        with suppress(*_BROKEN):
            if self._orders:
                await client.cancel([*self._orders], force=True)
                await ask(worker.stop, self.run, workers=addresses)
            for item in self.members.values():
                if item.received:
                    await ask(worker.forget, item.received, workers=[item.address])

    async def take(self, without: Collection[str] = ()) -> Member:
        """Wait for a place on a worker, but on none of these addresses; raise if none can come."""
        place: asyncio.Future[Member] = asyncio.get_running_loop().create_future()
        if without:
            self._picky[place] = without
        else:
            self._waiting.append(place)
        self._serve()
        try:
            return await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled() and not place.exception():
                self.give_back(place.result())
            raise
        finally:
            self._picky.pop(place, None)

    def give_back(self, member: Member) -> None:
        """Free a place."""
        member.taken -= 1
        self._serve()

    def _serve(self) -> None:
        """Give free places to those that wait, without a look at each of thousands."""
        able = [item for item in self.members.values() if not item.refused]
        for place, without in [*self._picky.items()]:
            others = [item for item in able if item.address not in without]
            if not place.done() and self._over:
                place.set_exception(self._over)
            elif not place.done() and able and not others:
                place.set_exception(LostError("no other worker is there"))
            _hand_over(place, _free(others))
        free = _free(able)
        while self._waiting and (self._over or free):
            place = self._waiting.popleft()
            if self._over and not place.done():
                place.set_exception(self._over)
            _hand_over(place, free)
            free = _free(free)

    async def make(self, member: Member, order: Order) -> Capture:
        """Have a worker make a boot; LostError if it did not."""
        for _ in range(2):
            received, member.received = member.received, []
            whole = replace(order, received=tuple(received))
            reply = await self._reply(member, whole)
            if isinstance(reply, Capture):
                member.faults = 0
                member.received.append(order.key)
                return reply
            if not reply.lacks:
                raise self._fault(member, reply.why or "it made no boot")
            async with member.lock:
                for sha256 in reply.lacks:
                    await self._send(member, sha256)
        raise self._fault(member, "it does not keep the files that it was sent")

    async def _reply(self, member: Member, order: Order) -> Reply | Capture:
        future = self._there.submit(
            worker.boot,
            messages.write_text(order),
            key=f"lsmeter-{self.run}-{next(self._numbers)}",
            workers=[member.address],
            allow_other_workers=False,
            resources={worker.RESOURCE: 1},
            pure=False,
        )
        self._orders.add(future)
        answer: asyncio.Future[object] = asyncio.ensure_future(_outcome(future))
        try:
            await asyncio.wait({answer, member.gone}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise LostError(f"{member.label}: lost while it made the boot")
            outcome = answer.result()
            if isinstance(outcome, DroppedError):
                raise outcome
            if isinstance(outcome, LostError):
                raise self._fault(member, str(outcome))
            return messages.read_reply(outcome, order)
        except GarbledError as error:
            raise self._fault(member, f"garbage: {error}") from None
        finally:
            answer.cancel()
            if answer.done() or member.gone.done():
                self._orders.discard(future)
            future.release()

    def _fault(self, member: Member, why: str) -> LostError:
        """Count what a worker did wrong; too often in a row, and it is refused."""
        member.faults += 1
        if member.faults >= _MOST_FAULTS:
            self._refuse(member, f"{member.faults} boots in a row failed there: {why}")
        return LostError(f"{member.label}: {printable(why)[:200]}")

    def _refuse(self, member: Member, why: str) -> None:
        if not member.refused:
            member.refused = why
            self._tell(f"worker {member.label} is not used: {printable(why)[:300]}")
        self._serve()

    async def _send(self, member: Member, sha256: str) -> None:
        """Send a file in pieces; a worker that cannot take it is refused."""
        path = self._files[sha256]
        await asyncio.to_thread(prove, path, sha256, "fetch or build it again")
        async with self._sending:
            with reading(path, kind=InfrastructureError), path.open("rb") as file:
                total, offset = path.stat().st_size, 0
                while offset < total or not offset:
                    data = await asyncio.to_thread(file.read, messages.PIECE_BYTES)
                    packed = await asyncio.to_thread(zstandard.compress, data, 1)
                    if why := await self._put(member, sha256, offset, total, packed):
                        self._refuse(member, why)
                        raise LostError(f"{member.label}: {why}")
                    offset += len(data)

    async def _put(
        self, member: Member, sha256: str, offset: int, total: int, packed: bytes
    ) -> str:
        asked = self._there.run(
            worker.put,
            self.run,
            sha256,
            offset,
            total,
            packed,
            workers=[member.address],
            on_error="return",
        )
        try:
            answers = await asyncio.wait_for(asked, _ANSWER_S)
        except _BROKEN as error:
            raise LostError(f"{member.label}: lost while a file was sent: {error}") from None
        answer = answers.get(member.address)
        return "" if answer == "" else printable(str(answer))[:200]

    async def _keep_looking(self) -> None:
        """Take in workers that come, give up those that go, and find a scheduler again."""
        loop = asyncio.get_running_loop()
        seen, lost = loop.time(), False
        while True:
            try:
                if lost:
                    await self._stack.aclose()
                    self._client = await self._stack.enter_async_context(connected(self._place))
                    lost = False
                    self._tell("the scheduler answers again")
                await self._look()
            except (*_BROKEN, InfrastructureError) as error:
                self._lose([*self.members])
                if not lost:
                    self._tell(f"the scheduler is gone, and is waited for: {printable(str(error))}")
                lost = True
            if any(not item.refused for item in self.members.values()):
                seen = loop.time()
            elif loop.time() - seen > _WAIT_S:
                what = "scheduler" if lost else "worker that can be used"
                self._over = InfrastructureError(
                    f"no {what} at dask:{self._place} for {_WAIT_S / 60:.0f} min",
                    hint="start workers, and run this again",
                )
                self._serve()
            await asyncio.sleep(LOOK_S)

    async def _look(self) -> None:
        there = await asyncio.wait_for(self._there.nthreads(), _ANSWER_S)
        self._lose([address for address in self.members if address not in there])
        for address in {*there} - {*self.members, *self._asked}:
            self._asked[address] = asyncio.create_task(self._take_in(address))

    async def _take_in(self, address: str) -> None:
        """Ask a worker what it is, which keeps no other waiting."""
        try:
            facts = await look(self._there, *self._wanted, address)
        except (*_BROKEN, LostError):
            return  # gone again: it is asked when it is back
        finally:
            del self._asked[address]
        gone: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        member = self.members[address] = Member(facts, address, gone)
        if why := why_unfit(facts, self._versions):
            self._refuse(member, why)
        else:
            self.known |= dict.fromkeys(facts.known, member)
        self._serve()

    def _lose(self, addresses: Collection[str]) -> None:
        for address in addresses:
            member = self.members.pop(address)
            member.gone.set_result(None)
            if not member.refused:
                self._tell(f"worker {member.label} is gone")
        self._serve()


def _free(members: Iterable[Member]) -> list[Member]:
    return [item for item in members if item.taken < item.facts.guests]


def _hand_over(place: asyncio.Future[Member], free: Sequence[Member]) -> None:
    """Give a place on the least busy of these to who waits for one, if he still does."""
    if free and not place.done():
        found = min(free, key=lambda item: item.taken / item.facts.guests)
        found.taken += 1
        place.set_result(found)


async def _outcome(future: Future[Any]) -> object:
    """Return what a task returned, or a LostError with what it raised."""
    try:
        raised = await future.exception()
        return await future.result() if raised is None else LostError(f"{raised!r}")
    except CancelledError:
        return DroppedError("the scheduler has dropped the boot")
