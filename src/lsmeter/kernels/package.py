# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes files out of a Debian package without installing it; nothing is run from the package."""

from __future__ import annotations

import contextlib
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO

from lsmeter.errors import InfrastructureError, UsageError
from lsmeter.storage import cannot_write, make_dir

_MOST_FILE_BYTES = 512 << 20  # a kernel's largest file is its image, tens of MiB
_MOST_ALL_BYTES = 2 << 30
_PIECE_BYTES = 1 << 20


def extract(deb: Path, into: Path, wanted: Callable[[str], bool]) -> tuple[Path, ...]:
    """Extract the regular files of `deb` whose path `wanted` accepts, under `into`.

    Paths are relative to the root, without a leading "./". Links, devices and paths that would
    leave `into` are never taken. Raises UsageError for a damaged package, InfrastructureError
    when dpkg-deb is missing or the disk is full.
    """
    command = ["dpkg-deb", "--fsys-tarfile", str(deb)]
    try:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except FileNotFoundError as error:
        raise InfrastructureError(
            "dpkg-deb is not installed, so packages cannot be read",
            hint="install dpkg, or give a kernel image by its path",
        ) from error
    with child:
        if child.stdout is None or child.stderr is None:
            raise AssertionError
        try:
            taken = _take(child.stdout, into, wanted)
            while child.stdout.read(_PIECE_BYTES):  # so that dpkg-deb ends by itself
                pass
        except (tarfile.TarError, EOFError) as error:
            child.kill()
            raise _damaged(deb, _last_line(child.stderr) or str(error)) from error
        except BaseException:
            child.kill()
            raise
        message = _last_line(child.stderr)
    if child.returncode:
        raise _damaged(deb, message)
    return taken


def _take(stream: IO[bytes], into: Path, wanted: Callable[[str], bool]) -> tuple[Path, ...]:
    taken: list[Path] = []
    left = _MOST_ALL_BYTES
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            name = _inside(member.name)
            if name is None or not member.isreg() or not wanted(name):
                continue
            left -= member.size
            if member.size > _MOST_FILE_BYTES or left < 0:
                raise tarfile.TarError(f"{name} is too large for a kernel's file")
            content = archive.extractfile(member)
            if content is not None:
                taken.append(_write(content, into / name))
    return tuple(taken)


def _inside(name: str) -> str | None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        return None
    return str(path)


def _write(content: IO[bytes], path: Path) -> Path:
    make_dir(path.parent)
    try:
        with path.open("wb") as file:
            while piece := content.read(_PIECE_BYTES):
                file.write(piece)
    except OSError as error:
        raise cannot_write(path, error) from error
    return path


def _damaged(deb: Path, message: str) -> UsageError:
    return UsageError(
        f"{deb} is not a whole Debian package: {message}", hint="fetch or copy the file again"
    )


def _last_line(stream: IO[bytes]) -> str:
    lines = stream.read(65536).decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""


def field(deb: Path, name: str) -> str:
    """Return one field of a package's control file ("Version"), "" when it has none."""
    with contextlib.suppress(FileNotFoundError):
        done = subprocess.run(
            ["dpkg-deb", "--field", str(deb), name], capture_output=True, check=False, timeout=60
        )
        if done.returncode:
            raise _damaged(deb, done.stderr.decode(errors="replace").strip().split("\n")[-1])
        return done.stdout.decode(errors="replace").strip()
    return ""
