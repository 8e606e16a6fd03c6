# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes and checks ext4 of a root file system's archive, without mounting and without root.

What a user may not set is recorded when the archive is unpacked (owners, times, modes that would
keep the builder itself out), mke2fs copies the files, and debugfs sets what was recorded; so root
and an ordinary user build the same. So are SELinux contexts, which the policy's own tool looks up
inside the tree. No loop device is needed, nor extended attributes on the machine's own disk.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import stat
import struct
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from lsmeter.core import process
from lsmeter.core.errors import BuildError, UsageError
from lsmeter.core.storage import reading, write_atomic, writing

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
_SUPER_AT, _SUPER_END = 1024, 2048
_MAGIC_AT, _MAGIC = 56, 0xEF53
_FEATURES_AT, _EXT_ATTR, _RECOVER = 92, 0x8, 0x4

_CAPABILITY = "SCHILY.xattr.security.capability"
_TYPES = {
    **dict.fromkeys((tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.LNKTYPE), stat.S_IFREG),
    tarfile.DIRTYPE: stat.S_IFDIR,
    tarfile.SYMTYPE: stat.S_IFLNK,
    tarfile.FIFOTYPE: stat.S_IFIFO,
}
# Where the lookup leaves its answer, in the tree; /tmp is emptied afterwards.
PATHS = "/tmp/lsmeter-paths"  # noqa: S108  (a path in the image)
CONTEXTS = "/tmp/lsmeter-contexts"  # noqa: S108
NONE = "<<none>>"
_CONTEXT = re.compile(r"[!-~]+:[!-~]+:[!-~]+")

# In chunks, as xargs makes them; one context a line, in the order of the paths.
LOOKUP = (
    f"find / -xdev -path /tmp/lsmeter-* -prune -o -print0 > {PATHS} && "
    f"xargs -0 matchpathcon -n < {PATHS} > {CONTEXTS}"
)


@dataclass(frozen=True)
class Node:
    """One file as the guest must see it. path begins with a slash; mode has the type."""

    path: str
    mode: int
    uid: int = 0
    gid: int = 0
    mtime_s: int = 0
    capability: bytes = b""  # security.capability, as the kernel stores it


def unpack(archive: Path, into: Path) -> tuple[Node, ...]:
    """Unpack `archive` without /dev into a directory; return every file once, the root first."""
    nodes = {"/": Node("/", stat.S_IFDIR | 0o755)}
    try:
        with writing(into), tarfile.open(archive, mode="r|") as members:
            for member in members:
                path = clean_path(member.name)
                if path.startswith("/dev/"):
                    continue
                node = _node(member, path)
                if path != "/":
                    _make(members, member, node, into)
                if not member.islnk():  # another name of a file that is already known
                    nodes[path] = node
    except (tarfile.TarError, EOFError) as error:
        raise BuildError(f"the root file system's archive is damaged: {error}") from error
    return tuple(nodes.values())


def clean_path(name: str) -> str:
    """Return a member's path from the root; raise BuildError if it is none that is safe."""
    parts = [part for part in PurePosixPath(name).parts if part not in ("/", ".")]
    if ".." in parts or "\0" in name:
        raise _leaves(name)
    return "/" + "/".join(parts)


def _leaves(name: str) -> BuildError:
    return BuildError(f"the root file system has a path that leaves it: {name[:200]}")


def _node(member: tarfile.TarInfo, path: str) -> Node:
    kind = _TYPES.get(member.type)
    if kind is None:
        raise BuildError(f"the root file system has a file of a strange type: {path[:200]}")
    # tarfile gives PAX values as text; bytes that are no UTF-8 come as surrogates.
    capability = member.pax_headers.get(_CAPABILITY, "").encode("utf-8", "surrogateescape")
    mode = kind | (member.mode & 0o7777)
    return Node(path, mode, member.uid, member.gid, int(member.mtime), capability)


def readable(mode: int) -> int:
    """Return the mode that a file has on disk until it is in the image, so that it can be read."""
    if stat.S_ISLNK(mode):
        return mode
    return mode | (0o700 if stat.S_ISDIR(mode) else 0o600)


def _make(members: tarfile.TarFile, member: tarfile.TarInfo, node: Node, root: Path) -> None:
    to = root / node.path[1:]
    if not to.parent.resolve().is_relative_to(root.resolve()):
        raise _leaves(member.name)
    if member.issym():
        to.symlink_to(member.linkname)
        return
    if member.islnk():
        os.link(root / clean_path(member.linkname)[1:], to, follow_symlinks=False)
        return
    if member.isdir():
        to.mkdir(exist_ok=True)
    elif member.isfifo():
        os.mkfifo(to)
    else:
        with to.open("xb") as file:
            shutil.copyfileobj(members.extractfile(member) or io.BytesIO(), file)
    to.chmod(stat.S_IMODE(readable(node.mode)))


def labels_of(nodes: Iterable[Node], paths: bytes, contexts: bytes) -> dict[str, str]:
    """Pair nodes with the contexts that were looked up; "<<none>>" is no context."""
    names = paths.decode("utf-8", "surrogateescape").split("\0")[:-1]
    found = contexts.decode("utf-8", "replace").splitlines()
    if not names or len(names) != len(found):
        raise BuildError(
            f"labels: {len(names)} paths were looked up, {len(found)} contexts came back",
            hint="does the image have matchpathcon (selinux-utils) and a policy?",
        )
    looked_up = dict(zip(names, found, strict=True))
    for name, context in looked_up.items():
        if context != NONE and not _CONTEXT.fullmatch(context):
            raise BuildError(f"labels: '{context[:100]}' for {name[:200]} is no context")
    labels = {node.path: looked_up.get(node.path, "") for node in nodes}
    if unasked := [path for path, context in labels.items() if not context]:
        raise BuildError(f"labels: {unasked[0][:200]} was never looked up")
    return {path: context for path, context in labels.items() if context != NONE}


def listing(labels: dict[str, str]) -> bytes:
    """Write labels as text, one file a line: context, tab, path."""
    lines = (f"{context}\t{path}\n" for path, context in sorted(labels.items()))
    return "".join(lines).encode("utf-8", "surrogateescape")


def mke2fs(image: Path, size: str, config: str, uuid: str, *more: str, option: str = "") -> None:
    """Make the file system `image`: the same bytes for the same call and version of mke2fs."""
    settings = image.with_name("mke2fs.conf")
    write_atomic(settings, config.encode())
    options = f"hash_seed={uuid},lazy_itable_init=0,{option}root_owner=0:0"
    command = ["mke2fs", "-q", "-F", "-U", uuid, "-E", options]
    extra = {"MKE2FS_CONFIG": str(settings), "E2FSPROGS_FAKE_TIME": str(TIME_S)}
    process.output([*command, *more, str(image), size], extra=extra)
    settings.unlink()


def make_ext4(tree: Path, image: Path, size_mib: int) -> None:
    """Make `image` from the directory `tree`: the content, not yet owners and labels."""
    words = ("-t", "ext4", "-L", "lsmeter", "-m", "0", "-d", str(tree))
    mke2fs(image, f"{size_mib}M", _IMAGE_CONFIG, UUID, *words)


def settle(image: Path, nodes: Iterable[Node], contexts: Mapping[str, str], scratch: Path) -> None:
    """Give each file in `image` its owner, mode, times and SELinux context, by its path."""
    scratch.mkdir()
    nodes = tuple(nodes)
    wanted = {context.encode() + b"\0" for context in contexts.values()}
    wanted |= {node.capability for node in nodes if node.capability}
    # A file for each distinct attribute: debugfs then need not parse it.
    values = {value: scratch / f"value-{number}" for number, value in enumerate(sorted(wanted))}
    for value, file in values.items():
        file.write_bytes(value)
    commands = "".join(f"{line}\n" for line in settle_commands(nodes, contexts, values))
    # The superblock keeps when it was last written: that would be another image each second.
    debugfs(image, f"set_current_time @{TIME_S:#x}\n{commands}", write=True)


def settle_commands(
    nodes: Iterable[Node], contexts: Mapping[str, str], values: Mapping[bytes, Path]
) -> Iterator[str]:
    """Give the debugfs commands for all nodes of a tree that this process has made."""
    uid, gid = os.geteuid(), os.getegid()
    yield "rmdir /lost+found"  # mke2fs makes it, and no policy has looked at it
    for node in nodes:
        path = quoted(node.path)
        root = node.path == "/"  # mke2fs has made it root's, with a mode of its own
        if not root and node.uid != uid:
            yield f"set_inode_field {path} uid {node.uid}"
        if not root and node.gid != gid:
            yield f"set_inode_field {path} gid {node.gid}"
        if root or readable(node.mode) != node.mode:
            yield f"set_inode_field {path} mode 0{node.mode:o}"
        for field in ("ctime", "atime", "mtime"):
            yield f"set_inode_field {path} {field} @{node.mtime_s or TIME_S:#x}"
        attributes = {"security.capability": node.capability} if node.capability else {}
        if node.path in contexts:
            attributes[SELINUX] = contexts[node.path].encode() + b"\0"
        for name, value in attributes.items():
            yield f"ea_set -f {quoted(str(values[value]))} {path} {name}"


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
    with reading(f"image {path}"), path.open("rb") as file:
        block = file.read(_SUPER_END)[_SUPER_AT:]
    if len(block) < _SUPER_AT or struct.unpack_from("<H", block, _MAGIC_AT)[0] != _MAGIC:
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
