# SPDX-License-Identifier: GPL-2.0-or-later
"""The address of a scheduler, and the way to it; `local` starts one with workers of its own."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.core.host import cores
from lsmeter.machines.dask.start import BRISK, start_local

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
    for name, value in {"DASK_LOGGING__DISTRIBUTED": "critical", **BRISK}.items():
        os.environ.setdefault(name, value)
    for name in ("distributed", "tornado", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
