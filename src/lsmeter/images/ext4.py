# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes and checks ext4 without mounting: mke2fs copies, debugfs sets what a user may not.

Nothing here needs root, a loop device, or extended attributes on the machine's own disk.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from lsmeter.base import process
from lsmeter.base.errors import BuildError, UsageError
from lsmeter.base.storage import write_atomic
from lsmeter.images.tree import Node

SELINUX = "security.selinux"
UUID = "6c736d65-7465-4000-8000-000000000002"
# One moment for every image: what is in it must depend on its definition alone.
TIME_S = 1704067200
# What mke2fs gives an ext4 by default since e2fsprogs 1.43, written down so that the machine's
# own mke2fs.conf cannot change it. Newer defaults (orphan_file, metadata_csum_seed) are left
# out: kernels before 5.15 cannot mount the first.
_CONFIG = """\
[defaults]
    base_features = sparse_super,large_file,filetype,resize_inode,dir_index,ext_attr
    default_mntopts = acl,user_xattr
    enable_periodic_fsck = 0
    blocksize = 4096
    inode_size = 256
    inode_ratio = {inode_ratio}
[fs_types]
    ext4 = {{
        features = {journal}extent,huge_file,flex_bg,metadata_csum,64bit,dir_nlink,extra_isize
    }}
"""
# An image has no journal: it is only read, and the overlay of a guest is thrown away.
_IMAGE_CONFIG = _CONFIG.format(inode_ratio=16384, journal="")
WITH_JOURNAL = _CONFIG.format(inode_ratio=4096, journal="has_journal,")
# What debugfs prints when a command failed: it goes on, and leaves with status 0.
_QUIET = ("debugfs ", "debugfs:", "Setting current time")

# The superblock, by the kernel's Documentation/filesystems/ext4/super.rst.
_SUPER_AT = _SUPER_BYTES = 1024
_MAGIC_AT, _MAGIC = 56, 0xEF53
_FEATURES_AT, _EXT_ATTR, _RECOVER = 92, 0x8, 0x4


def mke2fs(image: Path, size: str, config: str, uuid: str, *words: str, option: str = "") -> None:
    """Make the file system `image`: the same bytes for the same words and version of mke2fs."""
    settings = image.with_name("mke2fs.conf")
    write_atomic(settings, config.encode())
    options = f"hash_seed={uuid},lazy_itable_init=0,{option}root_owner=0:0"
    process.output(
        [
            *("mke2fs", "-q", "-F", "-t", "ext4", "-U", uuid, "-E", options),
            *(*words, str(image), size),
        ],
        extra={"MKE2FS_CONFIG": str(settings), "E2FSPROGS_FAKE_TIME": str(TIME_S)},
    )
    settings.unlink()


def make_ext4(tree: Path, image: Path, size_mib: int) -> None:
    """Make `image` from the directory `tree`: the content, not yet owners and labels."""
    words = ("-L", "lsmeter", "-m", "0", "-d", str(tree))
    mke2fs(image, f"{size_mib}M", _IMAGE_CONFIG, UUID, *words)


def settle(image: Path, nodes: Iterable[Node], contexts: Mapping[str, str], scratch: Path) -> None:
    """Give each file in `image` its owner, mode, times and SELinux context.

    contexts: path to context, for those that have one.
    """
    scratch.mkdir()
    nodes = tuple(nodes)
    wanted = {context.encode() + b"\0" for context in contexts.values()}
    wanted |= {node.capability for node in nodes if node.capability}
    values = {}  # a file for each distinct attribute: debugfs then need not parse it
    for number, value in enumerate(sorted(wanted)):
        values[value] = scratch / f"value-{number}"
        values[value].write_bytes(value)
    commands = "".join(f"{line}\n" for line in settle_commands(nodes, contexts, values))
    # The superblock keeps when it was last written: that would be another image each second.
    debugfs(image, f"set_current_time @{TIME_S:#x}\n{commands}", write=True)


def settle_commands(
    nodes: Iterable[Node],
    contexts: Mapping[str, str],
    values: Mapping[bytes, Path],
    builder: tuple[int, int] | None = None,
) -> Iterator[str]:
    """Give the debugfs commands for all nodes; pure.

    builder: the user and group that the tree on disk belongs to (default: this process's).
    """
    uid, gid = builder or (os.geteuid(), os.getegid())
    yield "rmdir /lost+found"  # mke2fs makes it, and no policy has looked at it
    for node in nodes:
        path = quoted(node.path)
        root = node.path == "/"  # mke2fs has made it root's
        if not root and node.uid != uid:
            yield f"set_inode_field {path} uid {node.uid}"
        if not root and node.gid != gid:
            yield f"set_inode_field {path} gid {node.gid}"
        if root or _mode_on_disk(node.mode) != node.mode:
            yield f"set_inode_field {path} mode 0{node.mode:o}"
        for field in ("ctime", "atime", "mtime"):
            yield f"set_inode_field {path} {field} @{node.mtime_s or TIME_S:#x}"
        if node.capability:
            yield f"ea_set -f {quoted(str(values[node.capability]))} {path} security.capability"
        if node.path in contexts:
            value = values[contexts[node.path].encode() + b"\0"]
            yield f"ea_set -f {quoted(str(value))} {path} {SELINUX}"


def _mode_on_disk(mode: int) -> int:
    """Return the mode that lsmeter.images.tree gives a file so that it can be read."""
    if stat.S_ISLNK(mode):
        return mode
    return mode | (0o700 if stat.S_ISDIR(mode) else 0o600)


def quoted(path: str) -> str:
    """Write a path for debugfs: in quotes, with quotes doubled."""
    if any(ord(character) < 0x20 or ord(character) == 0x7F for character in path):
        raise BuildError(f"debugfs cannot name the file {path[:200]!r}: it has a control character")
    return '"' + path.replace('"', '""') + '"'


def debugfs(image: Path, commands: str, *, write: bool = False) -> str:
    """Run debugfs commands, one a line; return what it printed without the echoed commands."""
    words = ["debugfs", *(("-w",) if write else ()), "-f", "-", str(image)]
    output = process.output(words, stdin=commands)
    said = [line for line in output.splitlines() if line and not line.startswith(_QUIET)]
    if write and said:
        raise BuildError(f"debugfs cannot write {image.name}: {said[0]}", log_tail=tuple(said[:12]))
    return "\n".join(said)


def check_filesystem(path: Path) -> None:
    """Raise UsageError if `path` is no ext4 that a guest can use as its root."""
    try:
        with path.open("rb") as file:
            file.seek(_SUPER_AT)
            block = file.read(_SUPER_BYTES)
    except OSError as error:
        raise UsageError(f"image {path}: cannot read it: {error.strerror}") from error
    if len(block) < _SUPER_BYTES or struct.unpack_from("<H", block, _MAGIC_AT)[0] != _MAGIC:
        raise UsageError(
            f"image {path}: it is no ext4 file system",
            hint="one file system without a partition table: mke2fs -t ext4 -d DIR FILE 1G",
        )
    compatible, incompatible = struct.unpack_from("<II", block, _FEATURES_AT)
    if not compatible & _EXT_ATTR:
        raise UsageError(
            f"image {path}: its ext4 has no extended attributes, so labels would be lost",
            hint="make it with the feature ext_attr: tune2fs -O ext_attr FILE",
        )
    if incompatible & _RECOVER:
        raise UsageError(
            f"image {path}: it was not unmounted cleanly", hint="repair it: e2fsck -f FILE"
        )


def missing_paths(image: Path, paths: Iterable[str]) -> tuple[str, ...]:
    """Return those of `paths` that `image` does not have."""
    asked = tuple(paths)
    said = debugfs(image, "".join(f"stat {quoted(path)}\n" for path in asked)).splitlines()
    gone = {line.split(": File not found")[0] for line in said if ": File not found" in line}
    return tuple(path for path in asked if path in gone)


def require_tools(image: Path, name: str, paths: Iterable[str]) -> None:
    """Raise UsageError that names what a setup needs (absolute paths) and the image lacks."""
    missing = missing_paths(image, paths)
    if missing:
        shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if missing[5:] else "")
        raise UsageError(
            f"image {name} has no {shown}",
            hint="use lsmeter's own image (policy), or install what is missing in yours",
        )
