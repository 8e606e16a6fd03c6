# SPDX-License-Identifier: GPL-2.0-or-later
"""Two hosts behind ssh: services that already run on the one, under load from the other.

Nothing is installed, started or changed on either. The client's command is run there, and timed by
its clock; what the kernel of the server says over time is read beside it. What comes of it is
written down as the probe would say it, so that it goes the same way as all results.
"""

from __future__ import annotations

import asyncio
import re
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from urllib.parse import quote

from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.core.limits import Limits
from lsmeter.core.model import Cell, Kernel
from lsmeter.core.model.boot import BEGIN, END, WITHIN
from lsmeter.guest.boot_image import make_request
from lsmeter.guest.capture import Capture, Ending
from lsmeter.guest.protocol import VERSION
from lsmeter.guest.request import Request
from lsmeter.machines import Addressed, HasHosts, Machine, OnResults, refuse_plugins
from lsmeter.machines.remote import PREFIX, Answer, Link, kernel_of, look, quoted
from lsmeter.machines.ssh import Ssh
from lsmeter.measure.experiment.plan import PlannedBoot

_MOST_SEEN = 3500  # bytes of one source at one moment
_STEP_NS = 50_000_000  # by which two clocks may differ over a batch, and a hundredth of it
_READY_S, _READY_TIMES = 1.0, 30
# What the kernel says at a moment: lines that end in a semicolon, of words with commas between.
_SEEN = (
    'say() { echo "$1 $(tr -s " \\t" ",," | sed "s/^,//;s/,$//;s/$/;/" | tr -d "\\n")"; }; '
    'grep -E "^(cpu|ctxt|processes|procs_running|procs_blocked) " /proc/stat | say stat; '
    'grep -E "^(MemTotal|MemFree|MemAvailable|Buffers|Cached|Dirty|SwapFree|Slab):" '
    "/proc/meminfo | say meminfo; "
    'grep -E "^(pgpgin|pgpgout|pgfault|pgmajfault) " /proc/vmstat | say vmstat; '
    'grep -vE " (loop|ram|zram)[0-9]" /proc/diskstats | head -n 16 | say disks; '
    'sed 1,2d /proc/net/dev | sed "s/:/: /" | head -n 16 | say net'
)
_TIMED = (
    'u=$(cut -d" " -f1 /proc/uptime); b=$(date +%s%N); o=$({words} 2>&1); s=$?; e=$(date +%s%N); '
    'v=$(cut -d" " -f1 /proc/uptime); echo "$b $e $u $v $s"; echo "$o" | tail -n 1'
)
_CLOCKS = re.compile(r"(\d{10,20}) (\d{10,20}) (\d{1,12}\.\d\d) (\d{1,12}\.\d\d) (\d{1,3})")
_SOUND = re.compile(r"(?:[0-9A-Za-z_.:/+()-]+(?:,[0-9A-Za-z_.:/+()-]+)*;)+")


class _Lines:
    """Writes the lines of the protocol; `lsmeter help protocol`."""

    def __init__(self, say: Callable[[bytes], object]) -> None:
        self.written = bytearray()
        self._number, self._say = 0, say

    def line(self, kind: str, *fields: object) -> None:
        """Write one line; texts are encoded as they must be."""
        body = " ".join((str(self._number), kind, *map(str, fields))).encode()
        line = body + f" *{zlib.crc32(body):08x}\n".encode()
        self._number += 1
        self.written += line
        self._say(line)


def encoded(text: str) -> str:
    """Write a text as the probe does."""
    found = quote(text[:1000], safe="/:,;=.+-_()", encoding="utf-8", errors="replace")
    return re.sub("%[0-9A-F]{2}", lambda part: part[0].lower(), found.replace("~", "%7e"))


@dataclass
class Pair(Machine, Addressed, HasHosts):
    """A server's host and a client's."""

    server: Link | None = None
    client: Link | None = None

    name = "pair"
    title = "services that run on one host, under load from another: --server ssh:A --client ssh:B"

    def connect(self, addresses: str) -> Pair:
        """Return the machine of the two hosts that are named, the server first."""
        links = Ssh().connect(addresses).links
        if len(links) != 2:
            raise UsageError(
                "--server and --client: two different hosts", hint=f"as in --server {PREFIX}HOST"
            )
        found = Pair(*links)
        found.title = f"services on {links[0].address.login}, load from {links[1].address.login}"
        return found

    @property
    def _links(self) -> tuple[Link, Link]:
        if self.server is None or self.client is None:
            raise UsageError(
                "--machine pair: which hosts?", hint="use --server ssh:HOST --client ssh:HOST"
            )
        return self.server, self.client

    @cached_property
    def _kernel(self) -> Kernel:
        server, client = self._links
        kernel = kernel_of(server.address.name, look(server))
        look(client)  # it has to answer as well
        return replace(kernel, name=f"{server.address.name} from {client.address.name}")

    def kernels(self) -> tuple[Kernel, ...]:
        """Return the server's kernel, named by both hosts."""
        return (self._kernel,)

    def identity(self, plugins: Iterable[str] = ()) -> Mapping[str, str]:
        """Name the hosts."""
        refuse_plugins(self, plugins)
        return {"hosts": " ".join(link.address.name for link in self._links)}

    def command(self, cell: Cell) -> tuple[str, ...]:  # noqa: ARG002
        """Return what reaches the client."""
        return self._links[1].command()[:-1]

    async def run(self, planned: PlannedBoot, limits: Limits, on_results: OnResults) -> Capture:
        """Run every batch of one block; a connection that breaks ends it."""
        began = time.monotonic()
        lines = _Lines(on_results)
        request = make_request(planned.cell, planned.seed, limits.benchmark_ms)
        ending, stderr = Ending.EXITED, ""
        try:
            async with asyncio.timeout(limits.most_s):
                await _Visit(*self._links, request, lines).go()
        except InfrastructureError as error:
            ending, stderr = Ending.LOST, error.title
        except TimeoutError:
            ending = Ending.DEADLINE
        code = 0 if ending is Ending.EXITED else None
        return Capture(bytes(lines.written), b"", ending, code, time.monotonic() - began, stderr)


class _Visit:
    """One block: every benchmark's batches, one after the other."""

    def __init__(self, server: Link, client: Link, request: Request, lines: _Lines) -> None:
        self._server, self._client = server, client
        self._request, self._lines = request, lines
        self._last_ns = 0

    async def go(self) -> None:
        """Wait for the services, ask the checks, and run all batches."""
        line, request = self._lines.line, self._request
        line("hello", f"version={VERSION}", "probe=pair")
        if failed := await self._unready():
            line("error", encoded(f"the services do not answer: {failed}"))
            line("bye", 0)
            return
        facts = {"timing.clock": "date", "timing.hz": "1000000000"}
        facts["landlock.layers"] = "0"  # nothing of ours is added to services or clients
        release = await self._server.ask_beside("uname -r")
        facts["kernel.release"] = release.out.strip()
        for name, *words in request.asks:
            answer = await self._client.ask_beside(quoted(*words))
            facts[f"ask.{name}"] = next(iter(answer.out.splitlines()), "")
        units = {words[0]: words[1] for words in request.clients}
        facts |= {f"timing.operations.{name}": units[name] for name in request.benchmarks}
        for key, value in facts.items():
            line("fact", encoded(key), encoded(value))
        for index, benchmark in enumerate(request.benchmarks):
            await self._benchmark(index, benchmark)
        line("bye", len(request.benchmarks))

    async def _unready(self) -> str:
        """Return why the services do not answer, "" once they do."""
        for words in self._request.ready:
            for _ in range(_READY_TIMES):
                answer = await self._client.ask_beside(quoted(*words))
                if not answer.status:
                    break
                await asyncio.sleep(_READY_S)
            else:
                return answer.why
        return ""

    async def _benchmark(self, index: int, benchmark: str) -> None:
        request, line = self._request, self._lines.line
        words = next(words[3:] for words in request.clients if words[0] == benchmark)
        line("begin", index, encoded(benchmark))
        taken: list[int] = []
        wrong = ""
        for number in range(request.warmup + request.samples):
            took, said, wrong = await self._batch(index, number, words)
            if wrong:
                break
            if number >= request.warmup:
                taken.append(took)
                line("said", index, encoded(said))
        if not wrong:
            line("samples", index, ",".join(map(str, taken)))
        status = ("status=failed", "n=0", "failures=1") if wrong else ("status=ok",)
        counts = status if wrong else (*status, f"n={len(taken)}", "failures=0")
        line("end", index, *counts, "errno=0", f"detail={encoded(wrong)}")

    async def _batch(self, index: int, number: int, words: Sequence[str]) -> tuple[int, str, str]:
        """Run one batch; return what it took in ns, what the client said, or what went wrong."""
        deadline_s = self._request.benchmark_deadline_ms / 1000
        await self._moment(index, number, BEGIN)
        script = _TIMED.replace("{words}", quoted(*words))
        load = asyncio.create_task(self._client.ask_beside(script, deadline_s=deadline_s))
        try:
            every_s = self._request.monitor_ms / 1000 or None
            while not (await asyncio.wait([load], timeout=every_s))[0]:
                await self._moment(index, number, WITHIN)
        finally:
            load.cancel()  # no effect on one that has ended
            await asyncio.wait([load])
        await self._moment(index, number, END)
        return read_batch(load.result())

    async def _moment(self, index: int, number: int, when: str) -> None:
        """Write what the server's kernel says now."""
        if not self._request.monitor_ms:
            return
        answer = await self._server.ask_beside(_SEEN)
        self._last_ns = max(time.monotonic_ns(), self._last_ns + 1)
        self._lines.line("moment", index, number, when, self._last_ns, "lost=0")
        for text in answer.out.splitlines():
            source, _, seen = text.partition(" ")
            whole = seen[:_MOST_SEEN].rpartition(";")[0] + ";"
            if source in {"stat", "meminfo", "vmstat", "disks", "net"} and _SOUND.fullmatch(whole):
                self._lines.line("seen", index, source, whole)


def read_batch(answer: Answer) -> tuple[int, str, str]:
    """Read how a batch went: nanoseconds, what the client said last, what is wrong with it."""
    head, _, said = answer.out.partition("\n")
    found = _CLOCKS.fullmatch(head)
    if found is None:
        return 0, "", f"the client's host tells no time in nanoseconds: {answer.why}"
    took_ns = int(found[2]) - int(found[1])
    awake_ns = int((float(found[4]) - float(found[3])) * 1e9)
    said = said.strip()
    if found[5] != "0":
        return 0, said, f"the client ended with status {found[5]}: {said[:200]}"
    if took_ns <= 0 or abs(took_ns - awake_ns) > _STEP_NS + awake_ns // 100:
        return 0, said, "the clock of the client's host was set in the middle"
    return took_ns, said, ""


MACHINE = Pair()
