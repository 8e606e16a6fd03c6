# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs other programs: by argument list, in English, with a deadline; never through a shell."""

from __future__ import annotations

import contextlib
import io
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from lsmeter.core.errors import BuildError, InfrastructureError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# Debian's package of a program, where it has another name.
PACKAGES = {
    "apparmor_parser": "apparmor",
    "apt-get": "apt",
    "apt-cache": "apt",
    "apt-config": "apt",
    "debugfs": "e2fsprogs",
    "dpkg-deb": "dpkg",
    "mke2fs": "e2fsprogs",
    "mkfs.btrfs": "btrfs-progs",
    "mkfs.xfs": "xfsprogs",
    "newgidmap": "uidmap",
    "newuidmap": "uidmap",
    "objcopy": "binutils",
    "setpriv": "util-linux",
    "ssh": "openssh-client",
    "unshare": "util-linux",
}
# The kernel ends what these start when lsmeter ends, however that does.
DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")
# Where git, an alias or a hook of it started us: they would lead each git of ours to that
# repository, whichever it is asked for (`git rev-parse --local-env-vars`, without settings).
_OF_GIT = frozenset(
    f"GIT_{name}"
    for name in (
        *("ALTERNATE_OBJECT_DIRECTORIES", "COMMON_DIR", "DIR", "GRAFT_FILE", "INDEX_FILE"),
        *("IMPLICIT_WORK_TREE", "INTERNAL_SUPER_PREFIX", "NAMESPACE", "NO_REPLACE_OBJECTS"),
        *("OBJECT_DIRECTORY", "PREFIX", "REPLACE_REF_BASE", "SHALLOW_FILE", "WORK_TREE"),
    )
)
DEADLINE_S = 600.0
_POLL_S = 0.2


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a program: in English, administrators' programs in PATH.

    It names no repository of git: each is found from the directory that git is given.
    """
    # An empty part would be the working directory.
    parts = [part for part in os.environ.get("PATH", os.defpath).split(":") if part]
    path = ":".join((*parts, "/usr/sbin", "/sbin"))
    own = {name: value for name, value in os.environ.items() if name not in _OF_GIT}
    return {**own, "LC_ALL": "C.UTF-8", "PATH": path, **(extra or {})}


def find(program: str) -> str | None:
    """Return the path of a program, None when it is not installed."""
    return shutil.which(program, path=environment()["PATH"])


def missing(*programs: str, why: str = "") -> InfrastructureError:
    """Build the error for programs that are not installed: it names their packages."""
    packages = " ".join(dict.fromkeys(PACKAGES.get(program, program) for program in programs))
    return InfrastructureError(
        f"{', '.join(programs)} not found" + (f": {why}" if why else ""),
        hint=f"install: apt-get install {packages}",
    )


def not_started(program: str, error: OSError) -> InfrastructureError:
    """Build the error for a program that could not be started."""
    if isinstance(error, FileNotFoundError):
        return missing(program)
    return InfrastructureError(f"{program} does not run: {error.strerror}")


def need(programs: Sequence[str], why: str) -> None:
    """Raise InfrastructureError that names the packages to install if a program is missing."""
    if gone := [program for program in programs if find(program) is None]:
        raise missing(*gone, why=why)


def run_bytes(
    command: Sequence[str],
    *,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    deadline_s: float = DEADLINE_S,
) -> subprocess.CompletedProcess[bytes]:
    """Run a program to its end, whatever its status."""
    env = environment() if env is None else env
    try:
        return subprocess.run(
            command, env=env, input=stdin, capture_output=True, check=False, timeout=deadline_s
        )
    except subprocess.TimeoutExpired as error:
        raise InfrastructureError(
            f"{command[0]} did not end within {deadline_s:.0f} s", hint="try again"
        ) from error
    except OSError as error:
        raise not_started(command[0], error) from error


def run(
    command: Sequence[str],
    *,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
    deadline_s: float = DEADLINE_S,
) -> subprocess.CompletedProcess[str]:
    """Run a program whose output is text, as run_bytes does."""
    done = run_bytes(command, stdin=stdin.encode(), env=env, deadline_s=deadline_s)
    texts = (data.decode(errors="replace") for data in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, *texts)


def output(
    command: Sequence[str], *, stdin: str = "", extra: Mapping[str, str] | None = None
) -> str:
    """Run a program to its end; return what it printed, raise BuildError when it fails."""
    done = run(command, stdin=stdin, env=environment(extra))
    if done.returncode:
        raise BuildError(
            f"{command[0]} failed with status {done.returncode}: {last_words(done)}",
            hint="is the disk full?" if "No space" in done.stderr else "",
            log_tail=tuple((done.stderr.strip() or done.stdout.strip()).splitlines()[-12:]),
        )
    return done.stdout + done.stderr


def git(tree: Path, *words: str) -> list[str]:
    """Return a git command in a tree that belongs to someone else: no lock, no new index."""
    return ["git", "--no-optional-locks", "-C", str(tree), *words]


def last_words(done: subprocess.CompletedProcess[str]) -> str:
    """Return the last line that a program printed, to say why it failed."""
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return lines[-1][:200] if lines else f"status {done.returncode}"


@contextlib.contextmanager
def started(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    to: IO[str] | int = subprocess.PIPE,
    errors_to: IO[str] | int = subprocess.STDOUT,
    pass_fds: Sequence[int] = (),
    cwd: Path | None = None,
    grace_s: float = 10.0,
) -> Iterator[subprocess.Popen[str]]:
    """Start a program in a process group of its own, which ends with the block at the latest.

    It is asked to end first, so that it can remove what is half made. An interrupt reaches
    lsmeter only, which then stops the whole group. to: where its output goes, and its errors unless
    errors_to is another place.
    """
    try:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=to,
            stderr=errors_to,
            pass_fds=pass_fds,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise not_started(command[0], error) from error
    try:
        yield process
    finally:
        try:
            if process.poll() is None:
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(grace_s)
        finally:
            # Also what a program that has ended left behind, and after a second interrupt.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


def output_of(
    child: subprocess.Popen[str], silence_s: float, source: int | None = None
) -> io.BufferedReader:
    """Return what a started program writes, to be read to its end; then the program has ended.

    A program that writes nothing and does not end for `silence_s` is an InfrastructureError; what
    it leaves behind when it ends, and what holds its pipe, is not waited for. source: instead of
    its output.
    """
    if source is None:
        assert child.stdout is not None  # noqa: S101  (it is a pipe)
        source = child.stdout.fileno()
    return io.BufferedReader(_Output(child, silence_s, source))


class _Output(io.RawIOBase):
    def __init__(self, child: subprocess.Popen[str], silence_s: float, source: int) -> None:
        self._child, self._silence_s, self._source = child, silence_s, source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        end = time.monotonic() + self._silence_s
        view = memoryview(buffer)
        while time.monotonic() < end:
            ended = self._child.poll() is not None  # first: it may still write, and then end
            if select.select([self._source], [], [], _POLL_S)[0]:
                data = os.read(self._source, len(view))
                view[: len(data)] = data
                if data or ended:
                    return len(data)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._child.wait(self._silence_s)
            elif ended:
                return 0
        program = str(self._child.args[0])  # type: ignore[index]
        raise InfrastructureError(
            f"{program} did nothing for {self._silence_s:.0f} s", hint="try again"
        )
