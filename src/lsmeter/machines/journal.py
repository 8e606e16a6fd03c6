# SPDX-License-Identifier: GPL-2.0-or-later
"""What lsmeter changed on this machine, written down before it was, so that it is put back.

A journal is one file for one process, which holds a lock on it for as long as it lives. One that
nobody holds was left by a process that was killed: the next command puts back what it names, if the
journal can be from nobody but the caller. After a reboot there is nothing to put back. What --tune
changes so that readings vary less is here too; nothing is changed without it.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from errno import EPERM
from pathlib import Path

from lsmeter.core.entries import adapter_of
from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.core.host import text_of
from lsmeter.core.owners import is_own
from lsmeter.core.printable import printable
from lsmeter.core.storage import data_dir, hold, make_dir, writing

CGROUP = "LSMETER_CGROUP"  # tells the probe which group to enter
_CPUS = "sys/devices/system/cpu"
_CGROUPS = "sys/fs/cgroup"
ROOT = "LSMETER_ROOT"  # for tests: what stands in for the root of this machine's /sys and /proc
_FOLDER, _SUFFIX = "changed", ".json"
_MOST_BYTES = 1 << 20
# All that is ever changed, beneath the root of the machine; a setting is a word.
_SETTINGS = re.compile(
    r"sys/devices/system/cpu/(cpu\d+/cpufreq/scaling_governor|intel_pstate/no_turbo|cpufreq/boost)|"
    r"proc/sys/kernel/randomize_va_space|sys/module/damon_stat/parameters/enabled|"
    r"sys/fs/selinux/(enforce|avc/cache_threshold)|"
    r"sys/fs/cgroup/(cgroup\.subtree_control|lsmeter-\d+/cpuset\.cpus(\.partition)?)"
)
_DIRECTORIES = re.compile(r"sys/fs/cgroup/lsmeter-\d+")
_CONTROLS = re.compile(r"sys/kernel/security/apparmor")
_PROFILES = re.compile(r"lsmeter-here-[a-z]+")
_VALUES = re.compile(r"[\w+-]{0,64}")


@dataclass(frozen=True)
class Change:
    """One setting: its file, what it was, and what it is made.

    A directory is made where `after` is "", and removed again; `before` is "" then. Where `profile`
    names one, `path` is AppArmor's directory of controls, and `after` the file of the profile,
    compiled: it is loaded, and removed again.
    """

    path: str
    before: str
    after: str
    title: str  # for people: the frequency governor of cpu0
    profile: str = ""

    @property
    def directory(self) -> bool:
        """Whether it is a directory that is made."""
        return not self.after

    @property
    def known(self) -> bool:
        """Whether it is of a kind that lsmeter makes."""
        kind = _DIRECTORIES if self.directory else _CONTROLS if self.profile else _SETTINGS
        named = not self.profile or _PROFILES.fullmatch(self.profile)
        path = Path(self.path)
        inside = path.is_relative_to(root()) and kind.fullmatch(str(path.relative_to(root())))
        return bool(inside and named and _VALUES.fullmatch(self.before))


@dataclass(frozen=True)
class _Journal:
    """What a journal says: what was changed, since which boot of the machine."""

    boot: str
    changes: tuple[Change, ...]


@contextmanager
def changed(changes: Sequence[Change], *, needed: bool = True) -> Iterator[list[str]]:
    """Make these changes, and put them back at the end of the block, the last one first.

    One that cannot be made is an InfrastructureError if it is needed, and else among the texts that
    are given.
    """
    if not changes:
        yield []
        return
    if unknown := [change.path for change in changes if not change.known]:
        raise ValueError(f"a change that could not be put back: {unknown}")
    journal = _home() / f"{os.getpid()}-{time.monotonic_ns()}{_SUFFIX}"
    with writing(journal):
        held = journal.open("xb", buffering=0)
        journal.chmod(0o600)
    with held as file:
        with writing(journal):
            # Held before anything stands in it, and written before anything is changed.
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(adapter_of(_Journal).dump_json(_Journal(_boot(), tuple(changes)), indent=1))
            os.fsync(file)
        left: list[str] = []
        refused: dict[Change, str] = {}  # a profile that is there is another lsmeter's
        try:
            for change in changes:
                if text := _make(change):
                    refused[change] = text
            if refused and needed:
                raise InfrastructureError(f"cannot change {next(iter(refused.values()))}")
            yield [*refused.values()]
        finally:
            left = _put_back([change for change in changes if change not in refused])
            if not left:
                journal.unlink(missing_ok=True)
        if left:
            raise InfrastructureError(
                f"could not be put back: {'; '.join(left)}",
                hint="lsmeter here restore tries it again",
            )


def restore() -> tuple[list[str], list[str]]:
    """Put back what killed processes left; return what was, and what could not be."""
    done, failed = [], []
    for journal in _journals():
        with ExitStack() as stack:
            try:
                number = os.open(journal, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
                stack.callback(os.close, number)
                changes = _read_trusted(number, journal.parent)
            except (BlockingIOError, FileNotFoundError):
                continue  # its process lives, or has just ended
            except OSError as error:
                failed.append(printable(f"{journal} is not trusted: {error.strerror}"))
                continue
            left = _put_back(changes)
            failed += left
            done += [printable(change.title) for change in changes] if not left else []
            if not left:
                journal.unlink(missing_ok=True)
    return done, failed


def is_left() -> bool:
    """Say whether there is any journal: of a killed process, or of one that lives."""
    return bool(_journals())


def _journals() -> list[Path]:
    folder = data_dir() / _FOLDER
    return sorted(folder.glob(f"*{_SUFFIX}")) if folder.is_dir() else []


def _home() -> Path:
    """Return the directory of journals, into which nobody else can put one."""
    folder = make_dir(data_dir() / _FOLDER)
    with writing(folder):
        if folder.lstat().st_uid == os.geteuid():
            folder.chmod(0o700)
        if not is_own(folder.lstat()):
            raise InfrastructureError(
                f"{folder}: others may write there what would be put back",
                hint="name a directory of your own: LSMETER_DATA=DIRECTORY",
            )
    return folder


def root() -> Path:
    """Return what stands for the root of this machine's settings."""
    return Path(os.environ.get(ROOT) or "/")


def value_of(path: Path) -> str:
    """Return a setting's value, "" where it cannot be read."""
    return text_of(path).strip()


def _profiles(control: Path) -> list[str]:
    """Return the names of the profiles that are loaded."""
    return [line.rpartition(" (")[0] for line in value_of(control / "profiles").splitlines()]


def _boot() -> str:
    return value_of(root() / "proc/sys/kernel/random/boot_id")


def _read_trusted(number: int, home: Path) -> tuple[Change, ...]:
    """Read a journal that nobody holds; OSError for one that may be of somebody else's making.

    Nothing stands in one of another boot.
    """
    if not is_own(os.fstat(number)) or not is_own(home.lstat()):
        raise PermissionError(EPERM, "others may have written it; remove it")
    fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        said = adapter_of(_Journal).validate_json(os.read(number, _MOST_BYTES))
    except ValueError:
        return ()  # it was not yet written
    if said.boot != _boot():
        return ()
    if unknown := [change.path for change in said.changes if not change.known]:
        raise PermissionError(EPERM, f"lsmeter never changes {unknown[0]}; remove it")
    return said.changes


def _make(change: Change) -> str:
    """Make a change; say why it could not be made."""
    path = Path(change.path)
    try:
        if change.directory:
            path.mkdir()
        elif change.profile:
            # Not in place of one that is there: that would be another lsmeter's.
            (path / ".load").write_bytes(Path(change.after).read_bytes())
        else:
            path.write_text(change.after)
    except OSError as error:
        return f"{change.title} ({path}): {error.strerror}"
    return ""


def _put_back(changes: Sequence[Change]) -> list[str]:
    """Put back what is as we made it, the last change first; say what could not be."""
    failed = []
    for change in reversed(changes):
        path = Path(change.path)
        try:
            if not path.exists():
                continue
            if change.directory:
                path.rmdir()
            elif change.profile:
                if change.profile in _profiles(path):
                    (path / ".remove").write_text(change.profile)
            elif change.before and value_of(path) != change.before:
                path.write_text(change.before)
        except OSError as error:
            failed.append(printable(f"{change.title} ({path}): {error.strerror}"))
    return failed


@contextmanager
def tuned(tell: Callable[[str], None]) -> Iterator[tuple[Change, ...]]:
    """Tune this machine for the length of the block, and tell what is changed and what is not.

    A machine is tuned once at a time: another lsmeter is waited for.
    """
    if os.geteuid() and ROOT not in os.environ:
        raise UsageError("--tune: only root can change this machine", hint="leave it out")
    # A second one would find nothing to change, and the first put it back in the middle of that.
    with hold(_home() / "tune.lock", "the tuning of this machine"):
        changes = tuning(root())
        with changed(changes, needed=False) as refused:
            titles = dict.fromkeys(change.title for change in changes)
            tell(f"tuned until the end: {', '.join(titles) or 'nothing that is not so already'}")
            for text in refused:
                tell(f"not tuned: {text}")
            yield changes


def tuning(top: Path) -> tuple[Change, ...]:
    """Return what can be changed on the machine whose /sys and /proc are beneath `top`."""
    return (*_governors(top), *_turbo(top), *_aslr(top), *_damon(top), *_isolation(top))


def cgroup(changes: tuple[Change, ...]) -> str:
    """Return the group that the probe has a CPU of its own in, "" where there is none."""
    return next((change.path for change in changes if change.directory), "")


def _governors(top: Path) -> Iterator[Change]:
    for path in sorted((top / _CPUS).glob("cpu[0-9]*/cpufreq/scaling_governor")):
        offered = value_of(path.with_name("scaling_available_governors")).split()
        now = value_of(path)
        if now and now != "performance" and "performance" in offered:
            cpu = path.parent.parent.name
            yield Change(str(path), now, "performance", f"the frequency governor of {cpu}")


def _turbo(top: Path) -> Iterator[Change]:
    """Off: how fast it lets a CPU go depends on what the others do, and on heat."""
    for name, on, off in (("intel_pstate/no_turbo", "0", "1"), ("cpufreq/boost", "1", "0")):
        path = top / _CPUS / name
        if value_of(path) == on:
            yield Change(str(path), on, off, "turbo")
            return


def _aslr(top: Path) -> Iterator[Change]:
    path = top / "proc/sys/kernel/randomize_va_space"
    if (now := value_of(path)) not in {"", "0"}:
        yield Change(str(path), now, "0", "address space randomisation")


def _damon(top: Path) -> Iterator[Change]:
    """Off: from Linux 6.17 on, a thread may sample each 5 ms which pages are used."""
    path = top / "sys/module/damon_stat/parameters/enabled"
    if (now := value_of(path)) == "Y":
        yield Change(str(path), now, "N", "DAMON's statistics")


def _isolation(top: Path) -> Iterator[Change]:
    """Keep other tasks off the last CPU, by a partition of cgroup v2 (Linux 6.1)."""
    home = top / _CGROUPS
    cpu = _last_cpu(value_of(top / _CPUS / "online"))
    if "cpuset" not in value_of(home / "cgroup.controllers").split() or not cpu:
        return
    control = home / "cgroup.subtree_control"
    if "cpuset" not in value_of(control).split():
        yield Change(str(control), "-cpuset", "+cpuset", "the cpuset controller")
    group = home / f"lsmeter-{os.getpid()}"
    yield Change(str(group), "", "", "a group with a CPU of its own")
    yield Change(str(group / "cpuset.cpus"), "", cpu, f"the CPU of the group: {cpu}")
    kind = group / "cpuset.cpus.partition"
    yield Change(str(kind), "member", "isolated", "the isolation of that CPU")


def _last_cpu(online: str) -> str:
    """Return the last CPU of a list such as 0-3, "" where there is only one."""
    last = online.rpartition(",")[2].rpartition("-")[2]
    return last if last.isdecimal() and last != "0" else ""
