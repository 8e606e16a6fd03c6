# SPDX-License-Identifier: GPL-2.0-or-later
r"""Makes the file system that a guest works on, as an image with its zeros left out.

The image is the same, byte for byte, for the same version of mke2fs, and is kept in the cache.
Its format, which the probe unpacks onto a RAM disk: the 8 bytes `lsmext1\n`, the size of the
whole image and the number of extents (64 bits each, little-endian), then for each extent its
offset and its size (the same) and its bytes.
"""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from lsmeter.errors import InfrastructureError, UsageError
from lsmeter.storage import cache_dir, locked, write_atomic

MAGIC = b"lsmext1\n"
IMAGE_BYTES = 64 << 20
BLOCK_BYTES = 4096
_HEADER = struct.Struct("<8sQQ")
_EXTENT = struct.Struct("<QQ")
_DEADLINE_S = 60
_PROGRAM = "mke2fs"
_UUID = "6c736d65-7465-4000-8000-000000000001"

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
    inode_ratio = 4096
[fs_types]
    ext4 = {
        features = has_journal,extent,huge_file,flex_bg,metadata_csum,64bit,dir_nlink,extra_isize
    }
"""


def image_for(filesystem: str) -> bytes:
    """Return the image of `filesystem`, from the cache or made now.

    Raises InfrastructureError when the program that makes it is missing or fails, UsageError
    for a file system that needs no image or is not known.
    """
    if filesystem != "ext4":
        raise UsageError(f"there is no image for file system '{filesystem}'", hint="known: ext4")
    name = hashlib.sha256(f"{_CONFIG}{_UUID}{IMAGE_BYTES}{_version()}".encode()).hexdigest()[:16]
    path = cache_dir() / "filesystems" / f"{filesystem}-{name}.lsmext"
    with locked(f"filesystem-{filesystem}"):
        try:
            data = path.read_bytes()
            unpack(data)
        except (OSError, ValueError):
            data = pack(_make_ext4())
            write_atomic(path, data)
    return data


def pack(image: bytes) -> bytes:
    """Leave out the blocks of `image` that are all zero; its size must be whole blocks."""
    if len(image) % BLOCK_BYTES:
        raise ValueError(f"an image of {len(image)} bytes is not a number of blocks")
    extents = list(_extents(image))
    parts = [_HEADER.pack(MAGIC, len(image), len(extents))]
    for offset, data in extents:
        parts += [_EXTENT.pack(offset, len(data)), data]
    return b"".join(parts)


def unpack(packed: bytes) -> bytes:
    """Give back the whole image; ValueError if `packed` is not one."""
    if len(packed) < _HEADER.size:
        raise ValueError("too short for an image")
    magic, size, count = _HEADER.unpack_from(packed)
    if magic != MAGIC or size > IMAGE_BYTES:
        raise ValueError("not an image")
    image = bytearray(size)
    at = _HEADER.size
    for _ in range(count):
        if len(packed) - at < _EXTENT.size:
            raise ValueError("the image is cut off")
        offset, length = _EXTENT.unpack_from(packed, at)
        at += _EXTENT.size
        if length > len(packed) - at or length > size or offset > size - length:
            raise ValueError("an extent lies outside the image")
        image[offset : offset + length] = packed[at : at + length]
        at += length
    if at != len(packed):
        raise ValueError("bytes after the last extent")
    return bytes(image)


def _extents(image: bytes) -> Iterator[tuple[int, bytes]]:
    """Give each longest run of blocks that are not all zero, with its offset."""
    zero = bytes(BLOCK_BYTES)
    start: int | None = None
    for offset in range(0, len(image) + BLOCK_BYTES, BLOCK_BYTES):
        empty = image[offset : offset + BLOCK_BYTES] in (zero, b"")
        if empty and start is not None:
            yield start, image[start:offset]
            start = None
        elif not empty and start is None:
            start = offset


def _version() -> str:
    return _run([_PROGRAM, "-V"], os.environ.copy()).strip()


def _make_ext4() -> bytes:
    with tempfile.TemporaryDirectory(prefix="lsmeter-ext4-") as folder:
        config = Path(folder) / "mke2fs.conf"
        image = Path(folder) / "image"
        config.write_text(_CONFIG)
        options = f"hash_seed={_UUID},lazy_itable_init=0,lazy_journal_init=0,root_owner=0:0"
        # A fixed time, so that the image is the same each time it is made.
        settings = {"MKE2FS_CONFIG": str(config), "E2FSPROGS_FAKE_TIME": "1704067200"}
        _run(
            [
                *(_PROGRAM, "-q", "-F", "-t", "ext4", "-U", _UUID, "-E", options),
                *(str(image), f"{IMAGE_BYTES >> 10}k"),
            ],
            os.environ | settings,
        )
        return image.read_bytes()


def _run(command: list[str], environment: dict[str, str]) -> str:
    # Administrators' programs are often not in an ordinary user's PATH.
    environment["PATH"] = f"{environment.get('PATH', '')}:/usr/sbin:/sbin"
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_DEADLINE_S,
            check=True,
        )
    except FileNotFoundError as error:
        raise InfrastructureError(
            f"{command[0]} not found: it makes the guest's ext4",
            hint="install it: apt-get install e2fsprogs",
        ) from error
    except subprocess.CalledProcessError as error:
        tail = tuple(str(error.stderr).splitlines()[-5:])
        raise InfrastructureError(
            f"{command[0]} failed with status {error.returncode}", log_tail=tail
        ) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InfrastructureError(f"{command[0]} does not run: {error}") from error
    return done.stdout + done.stderr
