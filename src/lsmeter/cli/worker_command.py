# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter worker`: makes boots for `--machine dask:ADDRESS`."""

from __future__ import annotations

from typing import Annotated

from lsmeter.cli.console import SCREEN
from lsmeter.cli.options import argument, declared


def worker(
    scheduler: Annotated[str, argument("SCHEDULER", "tls://HOST:8786, or tcp://127.0.0.1:8786.")],
    *,
    guests: Annotated[int | None, declared("worker.guests")] = None,
    name: Annotated[str | None, declared("worker.name")] = None,
    insecure: Annotated[bool, declared("worker.insecure")] = False,
) -> None:
    """Make boots for runs with --machine dask:ADDRESS, until Ctrl-C.

    It needs QEMU; kernels, images and the probe are sent to it, and kept in the cache: at most
    16 GiB, or LSMETER_SENT_GIB. A scheduler that is gone is waited for.

        lsmeter worker tls://HOST:8786 --guests 8
    """
    from lsmeter.core.host import cores
    from lsmeter.machines.dask.scheduler import check_address, keep_worker
    from lsmeter.machines.qemu import qemu_version

    address = check_address(scheduler, insecure=insecure, where="")
    count = guests or cores()
    SCREEN.say(f"{count} guest(s) at a time for {address}, on QEMU {qemu_version()}")
    keep_worker(address, count, name or "")
