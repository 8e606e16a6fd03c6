# SPDX-License-Identifier: GPL-2.0-or-later
"""Schedulers: their addresses and the way to one, and those that are started here.

What is started, a scheduler or workers, are processes that end with the one that started them.
"""

from __future__ import annotations

import asyncio
import atexit
import importlib.util
import json
import logging
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from lsmeter.core import process
from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.core.host import cores
from lsmeter.core.scratch import scratch
from lsmeter.machines.dask.worker import RESOURCE

if TYPE_CHECKING:
    from distributed import Client

FORM = "dask:tls://HOST:8786, dask:tcp://127.0.0.1:8786 or dask:local:N"
_ADDRESS = re.compile(
    r"(?P<kind>tcp|tls)://(?P<host>[A-Za-z0-9][A-Za-z0-9_.-]{0,252}|\[[0-9A-Fa-f:.]{2,45}\])"
    r":[1-9][0-9]{0,4}"
)
_LOCAL = re.compile(r"local(?::(?P<workers>[1-9][0-9]{0,2}))?")
_LOOPBACK = re.compile(r"localhost|127(?:\.[0-9]{1,3}){3}|\[::1\]")
_CONNECT_S = 10
_INSTALL = "pip install 'lsmeter[dask]'"
_START_S = 120.0
_AGAIN_S = 2.0
# To measure each message, so as to encode a large one in a thread, takes longer than to encode it;
# and the last thousand would be kept.
_BRISK = {
    "DASK_DISTRIBUTED__COMM__OFFLOAD": "False",
    "DASK_DISTRIBUTED__ADMIN__LOW_LEVEL_LOG_LENGTH": "0",
}
# Guests have the memory, and counts are not moved about: no limit, no spilling, no stealing.
_ENVIRONMENT = {"DASK_DISTRIBUTED__SCHEDULER__WORK_STEALING": "False", **_BRISK}


def check_address(place: str, *, insecure: bool, where: str = "--machine dask:") -> str:
    """Return a scheduler's address; UsageError for none, or one that anybody could stand in for."""
    if importlib.util.find_spec("distributed") is None:
        raise UsageError(f"{where}{place[:80]}: Dask is not installed", hint=_INSTALL)
    if _LOCAL.fullmatch(place):
        return place
    found = _ADDRESS.fullmatch(place)
    if found is None:
        form = FORM if where else FORM.replace("dask:", "")
        raise UsageError(f"{where}{place[:80]}: no address of a scheduler", hint=f"write {form}")
    if found["kind"] == "tcp" and not _LOOPBACK.fullmatch(found["host"]) and not insecure:
        raise UsageError(
            f"{where}{place}: without TLS whoever is on the network can run programs on "
            "this machine and on every worker",
            hint="use tls://, or --insecure where you trust that network",
        )
    return place


@asynccontextmanager
async def connected(place: str) -> AsyncIterator[Client]:
    """Give a client of a scheduler; `local` is started now and ends with us.

    InfrastructureError where none answers.
    """
    local = _LOCAL.fullmatch(place)
    address = start_local(int(local["workers"] or cores())) if local else place
    _set_up()
    from distributed import Client
    from distributed.security import Security

    try:
        client = await Client(
            address,
            asynchronous=True,
            set_as_default=False,
            timeout=_CONNECT_S,
            security=Security() if address.startswith("tls:") else None,
            direct_to_workers=False,
        )
    except (OSError, TypeError, ValueError, RuntimeError) as error:
        why = str(error) or type(error).__name__
        raise InfrastructureError(
            f"no scheduler answers at {address}: {why[:200]}",
            hint="start one: dask scheduler; certificates: lsmeter help many-machines",
        ) from None
    try:
        yield client
    finally:
        # What is lost by now cannot be said good-bye to.
        task = asyncio.ensure_future(client.close(timeout=1))
        await asyncio.wait([task], timeout=2)


def _set_up() -> None:
    """Keep Dask's own log from the screen: what matters of it is said by us."""
    for name, value in {"DASK_LOGGING__DISTRIBUTED": "critical", **_BRISK}.items():
        os.environ.setdefault(name, value)
    for name in ("distributed", "tornado", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def worker_command(address: str, guests: int, name: str = "") -> list[str]:
    """Return the command of a worker that makes so many boots at once."""
    return [
        *process.DIES_WITH_US,
        *(sys.executable, "-m", "distributed.cli.dask_worker", address),
        *("--nthreads", str(guests), "--resources", f"{RESOURCE}={guests}"),
        *("--memory-limit", "0", "--no-nanny", "--no-dashboard"),
        *(("--name", name) if name else ()),
    ]


def keep_worker(address: str, guests: int, name: str = "") -> None:
    """Keep a worker running: one that ends, as with its scheduler, is started again."""
    with scratch("worker") as folder:
        command = [*worker_command(address, guests, name), "--local-directory", str(folder)]
        while True:
            env = process.environment(_ENVIRONMENT)
            with process.started(command, env=env, to=sys.stderr) as child:
                child.wait()
            time.sleep(_AGAIN_S)


@cache
def start_local(workers: int) -> str:
    """Start a scheduler and workers of this machine; return the address of the scheduler."""
    stack = ExitStack()
    atexit.register(stack.close)
    folder = stack.enter_context(scratch("dask"))
    file = folder / "scheduler.json"
    scheduler = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show")
    _start(
        stack,
        *(sys.executable, "-m", "distributed.cli.dask_scheduler", *scheduler),
        *("--scheduler-file", str(file)),
    )
    address = _wait_for_address(file)
    for number in range(workers):
        words = ("worker", address, "--guests", "1", "--name", f"local-{number}")
        _start(stack, sys.executable, "-m", "lsmeter", *words)
    return address


def _start(stack: ExitStack, *command: str) -> None:
    """Start a process in a session of its own, which a terminal's Ctrl-C does not reach."""
    words, env = [*process.DIES_WITH_US, *command], process.environment(_ENVIRONMENT)
    quiet = subprocess.DEVNULL
    stack.enter_context(process.started(words, env=env, to=quiet, grace_s=0.5))


def _wait_for_address(file: Path) -> str:
    end = time.monotonic() + _START_S
    while time.monotonic() < end:
        with suppress(OSError, ValueError):
            return str(json.loads(file.read_bytes())["address"])
        time.sleep(0.05)
    raise InfrastructureError("the scheduler of dask:local did not start", hint="try again")
