# SPDX-License-Identifier: GPL-2.0-or-later
"""Where files live, and how they are written so that a kill or a full disk breaks nothing.

The cache holds what can be fetched or built again (kernels, images), the data directory what was
measured.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import secrets
import shlex
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

import platformdirs

from lsmeter.core.errors import InfrastructureError, LsmeterError, UsageError
from lsmeter.core.inputs import open_file
from lsmeter.core.owners import stranger_of
from lsmeter.core.printable import printable

LOCK_WAIT_S = 7200.0  # the longest that another process may rightly take: a kernel or an image
_QUIET_S, _POLL_S = 1.0, 0.02
_SEAL = ".sha256"
_FILE, PARTIAL = ".lsmeter-", ".partial"  # how names begin, and end, of what is not whole yet
_MODE = 0o644
# Why a directory cannot be written as a new one: it is there, or another process writes it.
_THERE = {errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.ENOENT}
_RACY_S = 2.0  # a file changed so lately may change again without another time


def cache_dir() -> Path:
    """Return the cache directory (LSMETER_CACHE moves it); it may not exist yet."""
    return _place("LSMETER_CACHE", platformdirs.user_cache_path)


def data_dir() -> Path:
    """Return the directory of measured boots (LSMETER_DATA moves it); it may not exist yet."""
    return _place("LSMETER_DATA", platformdirs.user_data_path)


def _place(name: str, default: Callable[..., Path]) -> Path:
    """Return a directory of lsmeter; refuse to root one in which others put what they like."""
    named = os.environ.get(name)
    return _checked(Path(named) if named else default("lsmeter", appauthor=False), name)


@cache
def _checked(path: Path, name: str) -> Path:
    """Return a directory that may be used: one that is refused is looked at again each time."""
    if why := stranger_of(path):
        raise UsageError(
            f"root cannot use {path}: {why}", hint=f"name a directory of root's: {name}=DIRECTORY"
        )
    return path


def make_dir(path: Path) -> Path:
    """Make `path` and its parents; raise InfrastructureError with the reason if that fails."""
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)
    return path


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn a write to `path` that fails in the block into the error that a user reads."""
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error) from error


@contextmanager
def reading(
    path: Path | str,
    hint: str = "make it readable and try again",
    kind: type[LsmeterError] = UsageError,
) -> Iterator[None]:
    """Turn a read of `path` that fails in the block into an error: UsageError for a user's file."""
    try:
        yield
    except OSError as error:
        raise kind(f"cannot read {path}: {error.strerror}", hint=hint) from error


def cannot_write(path: Path, error: OSError) -> InfrastructureError:
    """Turn a failed write into the error that a user reads."""
    reason = error.strerror or str(error)
    return InfrastructureError(
        f"cannot write {path}: {reason}",
        hint="free some space or name another directory (--run-dir, LSMETER_CACHE, LSMETER_DATA)",
    )


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hex digits; InfrastructureError when it is unreadable."""
    with reading(path, kind=InfrastructureError), open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def known_sha256(path: Path) -> str:
    """Return the SHA-256 of a file as sha256_of, which reads it only once for each change of it.

    A change shows in its inode, size or times, of which none can set the last (ctime).
    """
    note = cache_dir() / "digests" / hashlib.sha256(bytes(path.absolute())).hexdigest()[:32]
    with suppress(OSError):
        status = path.stat()
        times = (status.st_mtime_ns, status.st_ctime_ns)
        seen = f"{status.st_dev} {status.st_ino} {status.st_size} {times[0]} {times[1]} "
        with suppress(UnicodeDecodeError, OSError):
            if (said := note.read_text(encoding="ascii")).startswith(seen):
                return said.removeprefix(seen)
        if time.time() - max(times) / 1e9 > _RACY_S:
            digest = sha256_of(path)
            with suppress(InfrastructureError):
                write_atomic(note, f"{seen}{digest}".encode())
            return digest
    return sha256_of(path)


def prove(path: Path, sha256: str, hint: str) -> None:
    """Raise InfrastructureError with `hint` if a file's content is not what `sha256` says."""
    # A note may be what is damaged, so the file itself has the last word.
    if known_sha256(path) != sha256 and sha256_of(path) != sha256:
        raise InfrastructureError(
            f"{path} is damaged or was changed: its SHA-256 is not the one recorded", hint=hint
        )


def write_atomic(path: Path, data: bytes, *, lasting: bool = True) -> None:
    """Write a file of ours so that a reader sees all of it or nothing, also after a kill.

    lasting: and also if the machine loses its power, which takes time of the disk.
    """
    make_dir(path.parent)
    # Of one mode, whatever the umask: some of them go into guests.
    _write(path, data, _MODE, lasting=lasting)


def write_dir(path: Path, files: Mapping[str, bytes], *, lasting: bool = True) -> bool:
    """Write a new directory of files, of which a reader sees all or none; False if it is there.

    What a kill leaves of it has a name that the next one to write it finds, and removes. lasting:
    the files outlive a loss of power.
    """
    partial = path.with_name(f"{_FILE}{path.name}{PARTIAL}")
    with writing(path):
        try:
            _make_new(partial)
            for name, data in files.items():
                with (partial / name).open("xb") as file:
                    _fill(file, data, _MODE, lasting=lasting)
            partial.rename(path)
        except OSError as error:
            shutil.rmtree(partial, ignore_errors=True)
            if error.errno in _THERE:
                return False
            raise
    return True


def _make_new(path: Path) -> None:
    try:
        path.mkdir()
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir()


def write_output(path: Path, data: bytes, where: str = "--output") -> None:
    """Write to what a user named: a regular file as write_atomic does, anything else in place.

    Nothing is made outside of a directory that exists. where: the option that named it.
    """
    need_dir(path.parent, where)
    _write(path, data, None)


def output_dir(path: Path, where: str) -> Path:
    """Make a directory that a user named, in one that exists."""
    check_output_dir(path, where)
    return make_dir(path)


def check_output_dir(path: Path, where: str) -> None:
    """Refuse what is no directory, and could not become one."""
    need_dir(path if path.exists() else path.parent, where)


def need_dir(path: Path, where: str) -> None:
    """Refuse a directory that does not exist, in which something is to be made."""
    if path.exists() and not path.is_dir():
        raise UsageError(f"{where}: {path}: not a directory")
    if not path.exists():
        raise UsageError(f"{where}: {path}: no such directory", hint="make it first: mkdir -p")


def _write(path: Path, data: bytes, mode: int | None, *, lasting: bool = True) -> None:
    """Write a file; mode: that of a regular file, None to keep it, or to follow the umask."""
    with writing(path):
        # A link stays, what it leads to is written; /dev/stdout leads to no name that lasts.
        target = Path(os.path.realpath(path))
        present = path.stat().st_mode if path.exists() else None
        if present is not None and (not stat.S_ISREG(present) or not target.exists()):
            _write_in_place(path, present, data)
        else:
            _replace(target, data, mode or present, lasting=lasting)


def _write_in_place(path: Path, mode: int, data: bytes) -> None:
    if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        raise UsageError(f"{path}: a block device or a socket", hint="name a file")
    try:
        # Without O_NONBLOCK a FIFO that nobody reads would be waited for.
        number = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise UsageError(f"{path}: nobody reads this FIFO", hint="start its reader") from error
        raise
    os.set_blocking(number, True)
    with os.fdopen(number, "wb") as file:
        file.write(data)


def _replace(path: Path, data: bytes, mode: int | None, *, lasting: bool) -> None:
    partial = path.parent / f"{_FILE}{os.getpid()}-{secrets.token_hex(4)}{PARTIAL}"
    try:
        nameless = _nameless(path.parent)
        with nameless or partial.open("xb") as file:
            _fill(file, data, mode, lasting=lasting)
            if nameless:
                # Only with a directory (which an absolute path does not need) does it follow links.
                number = file.fileno()
                os.link(f"/proc/self/fd/{number}", partial, src_dir_fd=number)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _fill(file: BinaryIO, data: bytes, mode: int | None, *, lasting: bool) -> None:
    file.write(data)
    file.flush()
    if lasting:
        os.fsync(file.fileno())
    if mode is not None:
        os.fchmod(file.fileno(), stat.S_IMODE(mode))


def is_partial(path: Path) -> bool:
    """Say whether a file is what write_atomic leaves in a directory if it is killed."""
    return path.name.startswith(_FILE) and path.suffix == PARTIAL


def write_sealed(path: Path, data: bytes) -> None:
    """Write a file of the cache whose content is checked by its digest before it is used."""
    write_atomic(path, data)
    write_atomic(path.with_name(path.name + _SEAL), hashlib.sha256(data).hexdigest().encode())


def is_sealed(path: Path) -> bool:
    """Say whether a file is there, and what write_sealed wrote; if not, it is to be made again."""
    try:
        return path.with_name(path.name + _SEAL).read_bytes().decode() == known_sha256(path)
    except (OSError, UnicodeDecodeError, InfrastructureError):
        return False


def _nameless(directory: Path) -> BinaryIO | None:
    """Open a file that has no name yet, so that a kill leaves nothing; None where that cannot be.

    Not every file system has them (O_TMPFILE in open(2)): NFS does not.
    """
    try:
        return os.fdopen(os.open(directory, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o666), "wb")
    except OSError:
        return None


class HeldError(InfrastructureError):
    """A lock that was not let go in time; who: what its holder says of itself."""

    def __init__(self, who: str, what: str, wait_s: float) -> None:
        super().__init__(
            f"{who} has held {what} for {wait_s:.0f} s",
            hint="see what it does; end it, and run this again",
        )
        self.who = who


def locked(name: str, wait_s: float | None = None) -> AbstractContextManager[None]:
    """Hold the cache-wide lock `name`, as hold does."""
    return hold(make_dir(cache_dir() / "locks") / f"{name}.lock", f"{name} of the cache", wait_s)


@contextmanager
def hold(path: Path, what: str, wait_s: float | None = None) -> Iterator[None]:
    """Hold the lock of a file, which says who has it: the second process waits, wait_s at most.

    A wait is said on standard error, with who holds the lock; a signal ends it; HeldError when it
    was too long. The kernel frees the lock of a process that has died. Where the file system has no
    locks there is nothing to wait for. The wait keeps an event loop from all else.
    """
    with writing(path):
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _wait_for(number, what, LOCK_WAIT_S if wait_s is None else wait_s)
        command = shlex.join(["lsmeter", *sys.argv[1:]])
        with suppress(OSError):  # a full disk: it is locked all the same
            os.ftruncate(number, 0)
            said = f"process {os.getpid()} ({command}) since {time.strftime('%F %T')}"
            os.pwrite(number, os.fsencode(said), 0)
        yield
    finally:
        os.close(number)


def _wait_for(number: int, what: str, wait_s: float) -> None:
    began, said = time.monotonic(), False
    while True:
        try:
            return fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waited_s = time.monotonic() - began
        except OSError:
            return None
        text = os.pread(number, 300, 0).decode(errors="replace").strip()
        who = printable(text) or "another process"
        if waited_s >= wait_s:
            raise HeldError(who, what, wait_s)
        if waited_s > _QUIET_S and not said:
            sys.stderr.write(f"waiting for {who}, which holds {what}\n")
            said = True
        time.sleep(_POLL_S)
