# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures what a client of many workers can do: efficiency, processor time and memory of boots.

Usage: python bench/growth.py RECORDED OUT.jsonl WORKERS BOOTS_EACH BOOT_S [WORD...]
       python bench/growth.py --show OUT.jsonl PLOT.svg

The client is `lsmeter run`, the scheduler Dask's, connections are TCP. Workers are Dask's as well,
all of them in one process: in place of a guest each waits BOOT_S and returns what was recorded of
one (LSMETER_RECORD=RECORDED lsmeter run WORD...), so that 256 of them need no processor. WORD...
is what to run, of the setups that were recorded; its --boots is chosen so that each worker makes
BOOTS_EACH. A line of OUT.jsonl is added for each run:

efficiency: of the time that workers have from the first order to the last boot, the share in which
a guest would run. cpu_ms: of the client, a boot. rss_mib: of the client, each tenth of the run.
--show prints the lines as a table in Markdown, and draws them.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from distributed import Worker

from lsmeter.cli.measure import draw
from lsmeter.core import process
from lsmeter.core.entries import adapter_of
from lsmeter.guest.boot_image import make_request
from lsmeter.guest.capture import Capture, Ending
from lsmeter.machines.dask import messages, worker
from lsmeter.machines.dask.scheduler import start_local

_TICKS_S = os.sysconf("SC_CLK_TCK")
# Nobody reads its log: a pipe that is full of it would stop every worker. What each worker looks at
# by itself, up to 100 times a second, is 256 times that in one process, and on no real machine.
_SIMULATED = {
    "DASK_LOGGING__DISTRIBUTED": "critical",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "10s",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "60s",
}
_UNUSED = ' xmlns:xlink="http://www.w3.org/1999/xlink"'
_SAID = ("results", "console")
_LINE = re.compile(r"boot (\d+)/(\d+): ")


class Recording:
    """What a guest said, to be said of its benchmarks in another order: each boot has its own."""

    def __init__(self, results: bytes) -> None:
        self._parts: dict[str, list[tuple[str, str]]] = {"": []}
        name = ""
        for line in results.decode().splitlines():
            _, kind, rest = line.rpartition(" *")[0].split(" ", 2)
            if kind in {"begin", "bye"}:
                name = unquote(rest.split(" ")[1]) if kind == "begin" else "bye"
            fields = rest.partition(" ")[2]
            of_benchmark = name not in {"", "bye"}
            self._parts.setdefault(name, []).append((kind, fields if of_benchmark else rest))

    def say(self, benchmarks: Sequence[str]) -> bytes:
        """Return the result channel of a guest that had the benchmarks in this order."""
        lines: list[bytes] = []
        for index, name in enumerate(["", *benchmarks, "bye"], -1):
            own = f"{index} " if 0 <= index < len(benchmarks) else ""
            for kind, rest in self._parts[name]:
                body = f"{len(lines)} {kind} {own}{rest}".encode()
                lines.append(b"%s *%08x\n" % (body, zlib.crc32(body)))
        return b"".join(lines)


def recorded(home: Path) -> Callable[[str], bytes]:
    """Return what stands in for a worker's boot: the recording of its setup, after a while."""
    boot_s = float(os.environ["BOOT_S"])
    captures, recordings = {}, {}
    for folder in home.iterdir():
        facts = json.loads((folder / "readings-0/capture.json").read_bytes())
        facts["ending"] = Ending(facts["ending"])
        results, console = ((folder / "readings-0" / name).read_bytes() for name in _SAID)
        captures[folder.name] = Capture(results, console, **facts)
        recordings[folder.name] = Recording(captures[folder.name].results)

    def boot(text: str) -> bytes:
        end_s = time.monotonic() + boot_s
        order = messages.read_order(text)
        name = order.boot.cell.setup.name
        said = recordings[name].say(make_request(order.boot.cell, order.boot.seed).benchmarks)
        data = messages.write_capture(order.key, replace(captures[name], results=said))
        time.sleep(max(0.0, end_s - time.monotonic()))
        return data

    return boot


async def serve(address: str, count: int, home: Path) -> None:
    """Be so many workers, until the end of the process."""
    vars(worker)["boot"] = recorded(home)
    vars(worker)["_versions"] = cache(vars(worker)["_versions"])  # all say the same
    vars(worker)["_versions"]((), ("x86_64",))  # once, before all ask for it at a time
    for kind in (messages.Order, messages.Reply, messages.Facts):
        adapter_of(kind)  # as well
    workers = [
        Worker(address, nthreads=1, resources={worker.RESOURCE: 1}, name=f"simulated-{number}",
               memory_limit=0, dashboard=False, local_directory=tempfile.gettempdir())
        for number in range(count)
    ]  # fmt: skip
    for number in range(0, count, 16):
        await asyncio.gather(*workers[number : number + 16])
    print("ready", flush=True)
    await asyncio.Event().wait()


def usage(pid: int) -> tuple[float, float]:
    """Return processor seconds and MiB of memory of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return (int(fields[11]) + int(fields[12])) / _TICKS_S, int(found[1]) / 1024 if found else 0.0


def follow(client: subprocess.Popen[str], boot_s: float) -> dict[str, Any]:
    """Read what a client says until its last boot; return what it took."""
    samples: list[tuple[int, float, float, float]] = []
    for line in client.stderr or ():
        if not (found := _LINE.search(line)):
            print(line, end="", file=sys.stderr)
            continue
        done, total = map(int, found.groups())
        if done in {1, total} or done % max(1, total // 10) == 0:
            samples.append((done, time.monotonic(), *usage(client.pid)))
        if done == total:
            break
    (_, first_s, cpu_s, _), (boots, last_s, cpu_end_s, _) = samples[0], samples[-1]
    wall_s = last_s - first_s + boot_s
    return {
        "boots": boots,
        "wall_s": round(wall_s, 1),
        "cpu_ms": round(1000 * (cpu_end_s - cpu_s) / (boots - 1), 2),
        "rss_mib": [round(mib) for *_, mib in samples],
        "at_boots": [done for done, *_ in samples],
    }


def measure(home: Path, count: int, each: int, boot_s: float, words: list[str]) -> dict[str, Any]:
    """Run a client with so many workers, and return what it took."""
    address = start_local(0)
    setups = sum(1 for _ in home.iterdir())
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        serving = [sys.executable, __file__, "--serve", address, str(count), str(home)]
        env = process.environment({"BOOT_S": str(boot_s), **_SIMULATED})
        with process.started(serving, env=env, to=subprocess.PIPE) as workers:
            next(iter(workers.stdout or ()))
            run = [sys.executable, "-m", "lsmeter", "run", *words, "--machine", f"dask:{address}",
                   "--boots", str(-(-count * each // setups)), "--run-dir", str(folder / "run"),
                   "--format", "json", "--output", "/dev/null"]  # fmt: skip
            env = process.environment({"LSMETER_DATA": str(folder / "data")})
            client = subprocess.Popen(run, env=env, stderr=subprocess.PIPE, text=True)
            try:
                found = follow(client, boot_s)
            finally:
                client.kill()
                client.wait()
    efficiency = found["boots"] * boot_s / (count * found["wall_s"])
    return {"workers": count, "boot_s": boot_s, "efficiency": round(efficiency, 3), **found}


def show(rows: Sequence[Mapping[str, Any]], plot: Path) -> None:
    """Print a table, and draw efficiency over workers."""
    print("| workers | boots | each takes | efficiency | client, a boot | client's memory |")
    print("|---:|---:|---:|---:|---:|---:|")
    for row in rows:
        memory = f"{row['rss_mib'][0]} to {row['rss_mib'][-1]} MiB"
        share = f"{row['efficiency']:.0%}".replace("%", " %")
        parts = (row["workers"], f"{row['boots']:,}", f"{row['boot_s']:g} s", share)
        print(f"| {' | '.join(map(str, parts))} | {row['cpu_ms']:.1f} ms | {memory} |")
    values = [{"workers": row["workers"], "share": 100 * row["efficiency"]} for row in rows]
    x = {
        "field": "workers",
        "type": "quantitative",
        "title": "simulated workers",
        "scale": {"type": "log", "base": 2},
        "axis": {"values": [item["workers"] for item in values]},
    }
    y = {
        "field": "share",
        "type": "quantitative",
        "title": "efficiency, % of the workers' time",
        "scale": {"domain": [0, 100], "clamp": True},
    }
    drawn = {
        "data": {"values": values},
        "mark": {"type": "line", "point": True},
        "encoding": {"x": x, "y": y},
        "width": 480,
        "height": 240,
        "background": "white",
    }
    draw(plot, lambda: drawn)
    text = plot.read_text("utf-8").replace(_UNUSED, "")  # documents name no address
    plot.write_text(f"<!-- SPDX-License-Identifier: GPL-2.0-or-later -->\n{text}", "utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--show"] and len(sys.argv) == 4:
        lines = Path(sys.argv[2]).read_text("utf-8").splitlines()
        show(sorted(map(json.loads, lines), key=itemgetter("workers")), Path(sys.argv[3]))
    elif sys.argv[1:2] == ["--serve"]:
        asyncio.run(serve(sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])))
    elif len(sys.argv) < 6:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    else:
        row = measure(
            Path(sys.argv[1]), int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]), sys.argv[6:]
        )
        print(json.dumps(row))
        with Path(sys.argv[2]).open("a") as file:
            file.write(json.dumps(row) + "\n")
