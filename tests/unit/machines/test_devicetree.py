# SPDX-License-Identifier: GPL-2.0-or-later
"""A disk in memory stands in the device tree of a guest's board, where the board has one."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from lsmeter.core.errors import InfrastructureError
from lsmeter.core.model import BootProtocol
from lsmeter.core.model.arch import ARM64
from lsmeter.machines.description import (
    Description,
    MemoryDisk,
    qemu_command,
    tree_command,
    tree_with_disk,
)
from lsmeter.machines.devicetree import with_persistent_memory

GUEST = Description(
    arch=ARM64,
    boot_protocol=BootProtocol.IMAGE,
    kernel="KERNEL",
    cmdline="",
    seed=7,
    memory_disk=MemoryDisk("IMAGE", 16),
)


def tree(
    names: bytes = b"model\0", *, magic: int = 0xD00DFEED, end: bytes = b"\0\0\0\x09"
) -> bytes:
    """Make a tree of a root with one empty property, with room at its end as QEMU leaves it."""
    nodes = struct.pack(">5I", 1, 0, 3, 0, 0) + struct.pack(">I", 2) + end
    blocks = bytes(16) + nodes + names
    total = 40 + len(blocks)
    sizes = (len(names), len(nodes))
    header = (magic, total, 56, 56 + len(nodes), 40, 17, 16, 0, *sizes)
    return struct.pack(">10I", *header) + blocks + bytes(100)


def nodes_of(blob: bytes) -> list[tuple[str, dict[str, bytes]]]:
    """Read names and properties of all nodes, in their order."""
    _, total, at, names_at, *_ = struct.unpack_from(">10I", blob)
    assert total == len(blob)
    found: list[tuple[str, dict[str, bytes]]] = []
    depth = 0
    while True:
        (token,) = struct.unpack_from(">I", blob, at)
        at += 4
        if token == 1:
            name = blob[at : blob.index(b"\0", at)]
            found.append((name.decode(), {}))
            at, depth = at + len(name) // 4 * 4 + 4, depth + 1
        elif token == 3:
            size, name_at = struct.unpack_from(">2I", blob, at)
            begin = names_at + name_at
            key = blob[begin : blob.index(b"\0", begin)].decode()
            found[-1][1][key] = blob[at + 8 : at + 8 + size]
            at += 8 + (size + 3) // 4 * 4
        elif token == 2:
            depth -= 1
        else:
            assert (token, depth) == (9, 0)
            return found


def test_the_disk_is_a_node_behind_the_kernel_s_memory() -> None:
    assert nodes_of(tree_with_disk(GUEST, tree())) == [
        ("", {"model": b""}),
        (
            "pmem@50000000",
            {"compatible": b"pmem-region\0", "reg": struct.pack(">2Q", 0x50000000, 16 << 20)},
        ),
    ]


def test_qemu_writes_the_tree_of_the_same_board() -> None:
    words = " ".join(tree_command(GUEST, "/a,b"))
    assert "-M virt,gic-version=3,dumpdtb=/a,,b -seed 7 -cpu neoverse-n1" in words
    memory = (
        "-m 288 -object memory-backend-ram,id=memory0,size=256M -numa node,memdev=memory0 "
        "-object memory-backend-file,id=memory1,size=16M,mem-path=IMAGE,share=off "
    )
    assert memory in words
    booted = " ".join(qemu_command(replace(GUEST, device_tree="TREE")))
    assert memory in booted
    assert booted.endswith("-dtb TREE")


@pytest.mark.parametrize(
    "damaged", [b"", tree()[:39], tree(magic=1), tree()[:50], tree(end=b"\0\0\0\0")]
)
def test_what_is_no_tree_is_refused(damaged: bytes) -> None:
    with pytest.raises(InfrastructureError, match="QEMU wrote"):
        with_persistent_memory(damaged, 0x50000000, 1 << 20)
