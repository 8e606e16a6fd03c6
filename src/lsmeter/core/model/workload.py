# SPDX-License-Identifier: GPL-2.0-or-later
"""A real service under load: what runs in the guest, what is asked of it, what must come back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lsmeter.core.model.filesystems import RAM_DISK, SLOW_DISK

Words = tuple[str, ...]
# Where the client runs: in a network namespace of the server's guest, in a guest of its own that a
# link joins to it, or beside the server without a network between them. Or on a host of its own,
# and the services run already on another.
Client = Literal["namespace", "guest", "loopback", "host"]


@dataclass(frozen=True)
class Service:
    """One server: process is the name of its processes, ready succeeds once it answers.

    selinux is the type and apparmor the profile that its processes must run in as soon as a policy
    is loaded; "" where there is none for it.
    """

    name: str
    process: str
    start: Words
    ready: Words
    selinux: str = ""
    apparmor: str = ""


@dataclass(frozen=True)
class Denial:
    """A request that an enforced policy has to refuse: what is said then, and what without one."""

    name: str
    ask: Words
    allowed: str
    denied: str


@dataclass(frozen=True)
class Batch:
    """The client of one benchmark: it asks for so many units, and says how many it got right.

    account is whose its instructions are: the client's own, which no result holds, or the
    service's where the client is what is measured (a compiler).
    """

    benchmark: str
    units: int
    client: Words
    account: str = "client"


@dataclass(frozen=True)
class Workload:
    """Services, and the batches of units that they are asked for.

    place names what is copied to the file system of the experiment, settle_ms is how long work
    that was put off may take after each batch. disk_us is how long a request of the disk of that
    file system takes, one after the other; 0: it is a RAM disk.
    """

    name: str
    unit: str
    image: str
    memory_mib: int
    settle_ms: int
    place: Words
    services: tuple[Service, ...]
    denials: tuple[Denial, ...]
    batches: tuple[Batch, ...]
    client: Client = "namespace"
    disk_us: int = 0


def disk_module(workload: Workload | None) -> str:
    """Return the kernel module of the disk that guests work on."""
    return SLOW_DISK if workload and workload.disk_us else RAM_DISK
