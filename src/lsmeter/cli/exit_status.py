# SPDX-License-Identifier: GPL-2.0-or-later
"""The exit status of a command: whatever was raised becomes one line and a documented exit code."""

from __future__ import annotations

import errno
import os
import platform
import resource
import shlex
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import typer

from lsmeter import __version__
from lsmeter.cli.console import SCREEN, UnreadError
from lsmeter.core.errors import ExitCode, InfrastructureError, LsmeterError, UsageError
from lsmeter.core.host import cores, limit_mib
from lsmeter.core.signals import RECEIVED

# What numpy, polars and their threads take of address space before they abort; measured.
_LEAST_MIB = 2048  # and for each core, which has threads of its own:
_MIB_A_CORE = 128
_LIMITS = (resource.RLIMIT_AS, resource.RLIMIT_DATA)
_LEAST_FILES = 64
# What errors of libraries say where the kernel gave no memory, or no thread.
_NO_MEMORY = ("cannot allocate memory", "memory allocation", "failed to map segment", "code: 12")
_NO_THREAD = ("new thread", "code: 11")
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# What the machine or its administrator denies, whoever asks.
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO, errno.ESTALE, errno.ENOTCONN}


class _InternalError(LsmeterError):
    """A fault of lsmeter itself."""

    exit_code = ExitCode.INTERNAL


def exit_status(work: Callable[[], object]) -> int:
    """Run a command to its end, say what was wrong, and return its exit code."""
    try:
        _check_limits()
        code = work()
    except (UnreadError, BrokenPipeError):
        _forget_output()
        return int(ExitCode.OK)
    except SystemExit:
        raise
    except BaseException as raised:  # noqa: BLE001  (panics of libraries are no Exception)
        # Typer aborts at Ctrl-C, and also at the end of a compiled module that was cut.
        error = (isinstance(raised, typer.Abort) and raised.__cause__) or raised
        if isinstance(error, KeyboardInterrupt) or (
            RECEIVED and not isinstance(error, LsmeterError)
        ):
            SCREEN.say("interrupted")
            return int(ExitCode.INTERRUPTED)
        known = _known(error)
        SCREEN.show_error(known)
        _forget_output()
        return int(known.exit_code)
    return code if isinstance(code, int) else int(ExitCode.OK)


def _known(error: BaseException) -> LsmeterError:
    """Return the error that a person reads."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, LsmeterError):
        return error
    if isinstance(error, typer.TyperException):
        where = getattr(error, "ctx", None)
        command = where.command_path if where is not None else "lsmeter"
        return UsageError(error.format_message(), hint=f"see {command} --help")
    number = error.errno if isinstance(error, OSError) else None
    name = str(getattr(error, "filename", None) or "")
    said = str(error).casefold()
    if number == errno.ENAMETOOLONG:
        return UsageError(f"{name[:60]}...: the name is too long")
    if isinstance(error, RuntimeError) and "home directory" in said:
        return UsageError("~NAME: there is no such user, or none with a directory")
    own = isinstance(error, LookupError | ArithmeticError | TypeError | AttributeError)
    thread = not own and any(sign in said for sign in _NO_THREAD)
    refused = not own and any(sign in said for sign in _NO_MEMORY)
    memory = isinstance(error, MemoryError) or number == errno.ENOMEM or refused
    lacking = (
        (number in {errno.EMFILE, errno.ENFILE}, "too many open files", "ulimit -n 1024"),
        (thread, "no more threads may be started", "ulimit -u"),
        (memory, f"out of memory: {type(error).__name__}", "ulimit -v unlimited"),
        (number in _FULL, f"the disk is full: {error}", "free some space, or ulimit -f unlimited"),
        (
            name and number in _DENIED,
            f"{name}: {os.strerror(number or 0).lower()}",
            "see who may read and write it (ls -ld), and what the kernel says (dmesg)",
        ),
    )
    for is_it, title, hint in lacking:
        if is_it:
            return InfrastructureError(title, hint=hint.replace("ulimit", "allow more: ulimit"))
    return _InternalError(
        f"this is a fault of lsmeter: {type(error).__name__}: {str(error)[:200]}",
        hint="please report it with the log; the same command may work once more",
        log_path=_log(error),
    )


def _log(error: BaseException) -> Path | None:
    """Write what a report of a fault needs; return where, None when it cannot be written."""
    from lsmeter.core.storage import cache_dir

    now = datetime.now(UTC)
    text = (
        f"lsmeter {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
        f"{now:%Y-%m-%d %H:%M:%S} UTC in {Path.cwd()}\n{shlex.join(sys.argv)}\n\n"
        + "".join(traceback.format_exception(error))
    )
    folders = [Path(tempfile.gettempdir())]
    with suppress(UsageError):
        folders.insert(0, cache_dir() / "faults")
    for folder in folders:
        path = folder / f"lsmeter-{now:%Y-%m-%dT%H-%M-%S}-{os.getpid()}.log"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Not through a link: anybody may put one into the second.
            with path.open("x", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
        except OSError:
            continue
        return path
    return None


def _check_limits() -> None:
    """Refuse to start where the limits of the shell let libraries abort the process."""
    least_mib = _LEAST_MIB + _MIB_A_CORE * cores()
    if (mib := limit_mib(*_LIMITS)) is not None and mib < least_mib:
        raise InfrastructureError(
            f"memory is limited to {mib} MiB a process; on this machine lsmeter needs {least_mib}",
            hint="allow more: ulimit -v unlimited",
        )
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if 0 <= files < _LEAST_FILES:  # below 0: any number
        raise InfrastructureError(
            f"{files} files may be open at a time; lsmeter needs {_LEAST_FILES}",
            hint="allow more: ulimit -n 1024",
        )


def _forget_output() -> None:
    """Let what is still to be written go nowhere, so that leaving writes no second error."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        return  # a stream of a test, or none at all
