# SPDX-License-Identifier: GPL-2.0-or-later
"""Two guests that share a Link receive each other's frames."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.core.limits import Limits
from lsmeter.core.model import Conditions, Kernel, Setup
from lsmeter.guest.capture import Capture
from lsmeter.guest.initramfs import archive, base
from lsmeter.machines.description import Description, Network, counted_guest
from lsmeter.machines.qemu import run_guest
from lsmeter.sources.kernels.resolve import Request, resolve
from tests.guest_programs import compiled

pytestmark = pytest.mark.guest

SOURCE = Path(__file__).with_name("linked.c")


def guest(kernel: Kernel, network: Network) -> Description:
    counted = counted_guest(kernel, Setup("", "", lsms=None), Conditions())
    return replace(counted, networks=(network,))


async def both(guests: list[Description], initrd: bytes) -> list[Capture]:
    return await asyncio.gather(*(run_guest(item, initrd, Limits()) for item in guests))


def test_each_receives_frames_of_the_other(debian_kernel: Kernel, tmp_path: Path) -> None:
    del debian_kernel  # fetched once; here with other modules
    kernel = resolve("debian:6.1", Request(("virtio_mmio", "virtio_net")))
    modules = {f"/modules/{n}.ko": m.file.read_bytes() for n, m in enumerate(kernel.modules)}
    initrd = base(compiled(SOURCE, tmp_path)) + archive(modules)
    ends = [Network(str(tmp_path / "link,1"), end) for end in (0, 1)]
    captures = asyncio.run(both([guest(kernel, end) for end in ends], initrd))
    for capture, own, other in zip(captures, ends, ends[::-1], strict=True):
        said = capture.results.decode().splitlines()
        assert said == [f"own {own.mac}", f"received-from {other.mac}"], capture.console[-2000:]
