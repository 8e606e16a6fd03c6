# SPDX-License-Identifier: GPL-2.0-or-later
"""Starts schedulers and workers as processes that end with the one that started them."""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path

from lsmeter.core import process
from lsmeter.core.errors import InfrastructureError
from lsmeter.core.scratch import scratch
from lsmeter.machines.dask.worker import RESOURCE

_START_S = 120.0
_AGAIN_S = 2.0
# To measure each message, so as to encode a large one in a thread, takes longer than to encode it;
# and the last thousand would be kept.
BRISK = {
    "DASK_DISTRIBUTED__COMM__OFFLOAD": "False",
    "DASK_DISTRIBUTED__ADMIN__LOW_LEVEL_LOG_LENGTH": "0",
}
# Guests have the memory, and counts are not moved about: no limit, no spilling, no stealing.
_ENVIRONMENT = {"DASK_DISTRIBUTED__SCHEDULER__WORK_STEALING": "False", **BRISK}


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
