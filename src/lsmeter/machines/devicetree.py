# SPDX-License-Identifier: GPL-2.0-or-later
"""Adds persistent memory to a flattened device tree, as boards that have one describe it; pure.

The format is chapter 5 of the Devicetree Specification: a header, blocks of reserved memory,
structure and strings, all of them big-endian.
"""

from __future__ import annotations

import struct

from lsmeter.core.errors import InfrastructureError

_HEADER = struct.Struct(">10I")
_MAGIC, _VERSION, _COMPATIBLE = 0xD00DFEED, 17, 16
_BEGIN_NODE, _PROPERTY = (struct.pack(">I", token) for token in (1, 3))
_END_NODE = struct.pack(">I", 2)
_END = struct.pack(">2I", 2, 9)  # of the root node, and of the tree


def with_persistent_memory(tree: bytes, at: int, size: int) -> bytes:
    """Return the tree with so many bytes of persistent memory at an address of two cells."""
    try:
        magic, total, nodes_at, names_at, reserved_at, version, compatible, cpu, *sizes = (
            _HEADER.unpack_from(tree)
        )
    except struct.error:
        magic = 0
    if magic != _MAGIC or compatible > _COMPATIBLE or version < _VERSION or total > len(tree):
        raise InfrastructureError("QEMU wrote no device tree that lsmeter can read")
    names_bytes, nodes_bytes = sizes
    names = tree[names_at : names_at + names_bytes]
    nodes = tree[nodes_at : nodes_at + nodes_bytes]
    reserved = tree[reserved_at:nodes_at]
    if not nodes.endswith(_END):
        raise InfrastructureError("QEMU wrote a device tree without an end")
    keys = b"compatible\0reg\0"
    added = b"".join(
        (
            _BEGIN_NODE + _padded(b"pmem@%x\0" % at),
            _property(len(names), b"pmem-region\0"),
            _property(len(names) + keys.index(b"reg"), struct.pack(">2Q", at, size)),
            _END_NODE,
        )
    )
    nodes = nodes[: -len(_END)] + added + _END
    names += keys
    starts = [_HEADER.size + _HEADER.size % 8]
    for block in (reserved, nodes):
        starts.append(starts[-1] + len(block))
    total = starts[-1] + len(names)
    header = _HEADER.pack(
        *(magic, total, starts[1], starts[2], starts[0], version, compatible, cpu),
        *(len(names), len(nodes)),
    )
    return header.ljust(starts[0], b"\0") + reserved + nodes + names


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _property(name_at: int, value: bytes) -> bytes:
    return _PROPERTY + struct.pack(">2I", len(value), name_at) + _padded(value)
