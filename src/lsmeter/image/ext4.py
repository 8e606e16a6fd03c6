# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes an ext4 of a tree without mounting it: mke2fs copies, debugfs sets what a user may not.

Nothing here needs root, a loop device, or extended attributes on the machine's own disk.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from lsmeter.errors import BuildError
from lsmeter.image import programs
from lsmeter.image.tree import Node
from lsmeter.storage import write_atomic

SELINUX = "security.selinux"
UUID = "6c736d65-7465-4000-8000-000000000002"
# One moment for every image: what is in it must depend on its definition alone.
TIME_S = 1704067200
# As lsmeter.guest.filesystem has it, without a journal: the image is only read, and the overlay
# of a guest is thrown away.
_CONFIG = """\
[defaults]
    base_features = sparse_super,large_file,filetype,resize_inode,dir_index,ext_attr
    default_mntopts = acl,user_xattr
    enable_periodic_fsck = 0
    blocksize = 4096
    inode_size = 256
    inode_ratio = 16384
[fs_types]
    ext4 = {
        features = extent,huge_file,flex_bg,metadata_csum,64bit,dir_nlink,extra_isize
    }
"""
# What debugfs prints when a command failed: it goes on, and leaves with status 0.
_QUIET = ("debugfs ", "debugfs:", "Setting current time")


def make_ext4(tree: Path, image: Path, size_mib: int) -> None:
    """Make `image` from the directory `tree`: the content, not yet owners and labels."""
    config = image.with_name("mke2fs.conf")
    write_atomic(config, _CONFIG.encode())
    options = f"hash_seed={UUID},lazy_itable_init=0,root_owner=0:0"
    programs.run(
        [
            *("mke2fs", "-q", "-F", "-t", "ext4", "-L", "lsmeter", "-m", "0", "-U", UUID),
            *("-E", options, "-d", str(tree), str(image), f"{size_mib}M"),
        ],
        extra={"MKE2FS_CONFIG": str(config), "E2FSPROGS_FAKE_TIME": str(TIME_S)},
    )
    config.unlink()


def settle(image: Path, nodes: Iterable[Node], contexts: Mapping[str, str], scratch: Path) -> None:
    """Give each file in `image` its owner, mode, times and SELinux context.

    contexts: path to context, for those that have one. Raises BuildError with what debugfs
    says if any of it fails.
    """
    scratch.mkdir()
    nodes = tuple(nodes)
    values = _value_files(nodes, contexts, scratch)
    commands = "".join(f"{line}\n" for line in settle_commands(nodes, contexts, values))
    # The superblock keeps when it was last written: that would be another image each second.
    debugfs(image, f"set_current_time @{TIME_S:#x}\n{commands}", write=True)


def _value_files(
    nodes: Iterable[Node], contexts: Mapping[str, str], scratch: Path
) -> dict[bytes, Path]:
    """Write each distinct attribute to a file: debugfs then need not parse it."""
    wanted = {context.encode() + b"\0" for context in contexts.values()}
    wanted |= {node.capability for node in nodes if node.capability}
    files = {}
    for number, value in enumerate(sorted(wanted)):
        files[value] = scratch / f"value-{number}"
        files[value].write_bytes(value)
    return files


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
    """Return the mode that lsmeter.image.tree gives a file so that it can be read."""
    if stat.S_ISLNK(mode):
        return mode
    return mode | (0o700 if stat.S_ISDIR(mode) else 0o600)


def quoted(path: str) -> str:
    """Write a path for debugfs: in quotes, with quotes doubled.

    Raises BuildError for a path that debugfs cannot take: it reads lines.
    """
    if any(ord(character) < 0x20 or ord(character) == 0x7F for character in path):
        raise BuildError(f"debugfs cannot name the file {path[:200]!r}: it has a control character")
    return '"' + path.replace('"', '""') + '"'


def debugfs(image: Path, commands: str, *, write: bool = False) -> str:
    """Run debugfs commands, one a line; return what it printed without the echoed commands.

    Raises BuildError with its message when one fails.
    """
    words = ["debugfs", *(("-w",) if write else ()), "-f", "-", str(image)]
    output = programs.run(words, stdin=commands)
    said = [line for line in output.splitlines() if line and not line.startswith(_QUIET)]
    if write and said:
        raise BuildError(f"debugfs cannot write {image.name}: {said[0]}", log_tail=tuple(said[:12]))
    return "\n".join(said)
