# SPDX-License-Identifier: GPL-2.0-or-later
"""A private state of apt in the cache: own sources, lists and cache, no root, nothing installed.

apt itself downloads, verifies signatures and hashes, and knows this machine's proxies and keys;
only its directories and sources are replaced.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lsmeter.errors import InfrastructureError
from lsmeter.kernels import apt_sources
from lsmeter.progress import Progress
from lsmeter.storage import cache_dir, cannot_write, locked, make_dir, write_atomic

_DAY_S = 86400.0
_STALL_S = 300.0  # apt gives up on a silent server after 30 s; this is for apt itself
OWN = "own"
# Looked through in this order: what the machine runs comes first, then what is most settled.
GROUPS: dict[str, tuple[str, ...]] = {
    OWN: (),
    "stable": ("stable", "stable-updates", "stable-security"),
    "testing": ("testing",),
    "unstable": ("unstable",),
    "stable-backports": ("stable-backports",),
    "oldstable": ("oldstable", "oldstable-updates", "oldstable-security"),
    "oldstable-backports": ("oldstable-backports",),
}
_TARGETS = {"deb": "Packages", "deb-src": "Sources"}


@dataclass(frozen=True)
class AptState:
    """One private state: the sources of one group of suites, binary (deb) or deb-src."""

    root: Path
    group: str
    kind: str

    @property
    def lists(self) -> Path:
        """Return the directory of package lists."""
        return self.root / "lists"

    @property
    def has_lists(self) -> bool:
        """Say whether any list was fetched, however old."""
        return any(self.lists.glob(f"*_{_TARGETS[self.kind]}*"))

    @property
    def age_s(self) -> float:
        """Return the seconds since the lists were last fetched, infinite for never."""
        try:
            return max(0.0, time.time() - (self.root / "updated").stat().st_mtime)
        except OSError:
            return float("inf")

    def output(self, program: str, *arguments: str, absent: str = "") -> str:
        """Return what apt-cache prints, "" when it fails with a message that matches `absent`."""
        command = [program, "-c", str(self.root / "apt.conf"), *arguments]
        done = _run(command)
        if done.returncode and absent and re.search(absent, done.stderr):
            return ""
        if done.returncode:
            raise _apt_failed(command, done.stderr)
        return done.stdout

    def update(self, progress: Progress, *, older_than_s: float = _DAY_S) -> bool:
        """Fetch the lists if they are older than `older_than_s`; say whether they now are fresh.

        Without the network old lists stay in use. Raises InfrastructureError when there are
        none at all.
        """
        with locked(f"apt-{self.root.name}"):
            if self.age_s <= older_than_s and self.has_lists:
                return True
            task = f"package lists ({self.group})"
            try:
                log = self.download(["update"], self.root, task, None, progress)
            except InfrastructureError as error:
                # A suite that the mirror does not have is no reason to do without the others.
                log = error.log_tail
                if not self.has_lists:
                    raise
            reached = not any(unreached(line) for line in log)
            if reached:
                (self.root / "updated").touch()
            return reached

    def download(
        self,
        arguments: list[str],
        into: Path,
        task: str,
        total_bytes: int | None,
        progress: Progress,
    ) -> tuple[str, ...]:
        """Run apt-get on the network with `into` as its directory; return its messages.

        Raises InfrastructureError with the reason that apt gives, and a hint.
        """
        command = ["apt-get", "-q", "-c", str(self.root / "apt.conf"), *arguments]
        read, write = os.pipe()
        try:
            with tempfile.TemporaryFile("w+", errors="replace") as log:
                try:
                    child = subprocess.Popen(
                        [*command, "-o", f"APT::Status-Fd={write}"],
                        cwd=into,
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                        pass_fds=[write],
                        env=_environment(),
                    )
                except FileNotFoundError as error:
                    raise no_apt() from error
                finally:
                    os.close(write)
                with child:
                    _follow(child, read, lambda share: _show(progress, task, share, total_bytes))
                log.seek(0)
                text = log.read()
        finally:
            os.close(read)
            progress.finish(task)
        if child.returncode:
            raise _apt_failed(command, text)
        return _messages(text)


def open_state(group: str, kind: str = "deb") -> AptState | None:
    """Make the private state for a group of suites; None when the mirrors do not have it.

    kind: deb for binary packages, deb-src for sources. Raises InfrastructureError when this
    machine has no apt, or none of Debian's archives in its sources.
    """
    debian = apt_sources.debian_sources(machine_sources())
    if not debian:
        raise InfrastructureError(
            "no Debian archive is in this machine's apt sources, so debian: kernels cannot be "
            "fetched",
            hint="use --kernel host, or the path of a kernel image or .deb",
        )
    if group == OWN:
        chosen = apt_sources.own_suites(debian, kind)
    else:
        chosen = apt_sources.suite_on_mirror(debian, GROUPS[group], kind)
    if not chosen:
        return None
    state = AptState(make_dir(cache_dir() / "apt" / f"{group}-{kind}"), group, kind)
    with locked(f"apt-{state.root.name}"):
        _prepare(state, apt_sources.render(apt_sources.only(_TARGETS[kind], chosen)))
    return state


def _prepare(state: AptState, sources: str) -> None:
    sources_file = state.root / "debian.sources"
    make_dir(state.lists / "partial")
    make_dir(state.root / "archives" / "partial")
    if not sources_file.is_file() or sources_file.read_text() != sources:
        (state.root / "updated").unlink(missing_ok=True)
        write_atomic(sources_file, sources.encode())
    configuration = _configuration(state)
    configuration_file = state.root / "apt.conf"
    if not configuration_file.is_file() or configuration_file.read_text() != configuration:
        write_atomic(configuration_file, configuration.encode())
    if state.group == OWN and not state.has_lists:
        _seed(state)


def _seed(state: AptState) -> None:
    """Start from the machine's own lists, so that an update fetches only what has changed."""
    lists = _apt_directories()["lists"]
    for path in lists.glob("*") if lists.is_dir() else ():
        wanted = path.name.endswith("InRelease") or f"_{_TARGETS[state.kind]}" in path.name
        if wanted and path.is_file() and os.access(path, os.R_OK):
            copy = state.lists / "partial" / path.name
            try:
                shutil.copy2(path, copy)
                copy.replace(state.lists / path.name)
            except OSError as error:
                copy.unlink(missing_ok=True)
                raise cannot_write(state.lists, error) from error


def _configuration(state: AptState) -> str:
    root = state.root.absolute()
    settings = {
        "Dir::State": f"{root}",
        "Dir::State::lists": f"{root}/lists",
        "Dir::State::status": "/dev/null",  # nothing is installed here
        "Dir::Cache": f"{root}",
        "Dir::Cache::archives": f"{root}/archives",
        "Dir::Cache::pkgcache": "pkgcache.bin",
        "Dir::Cache::srcpkgcache": "",  # 40 MB that save nothing here
        "Dir::Etc::sourcelist": f"{root}/debian.sources",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::Etc::preferences": "/dev/null",  # a machine's pins must not hide a kernel
        "Dir::Etc::preferencesparts": "/dev/null",
        "APT::Architecture": "amd64",  # of the guest, whatever the host is
        "APT::Sandbox::User": "root",  # the cache is the user's; _apt could not write to it
        "APT::Update::Error-Mode": "any",
        "Acquire::Languages": "none",
        "Acquire::PDiffs": "false",
        "Acquire::Retries": "2",
        "Acquire::http::Timeout": "30",
        "Acquire::https::Timeout": "30",
    }
    lines = [f'{key} "{value}";' for key, value in settings.items()]
    # What the machine hooks into its own updates is not for this one.
    hooks = ("Pre-Invoke", "Post-Invoke", "Post-Invoke-Success")
    lines += [f"#clear APT::Update::{hook};" for hook in hooks]
    lines += ["#clear APT::Architectures;", 'APT::Architectures { "amd64"; };']
    return "\n".join(lines) + "\n"


def machine_sources() -> tuple[apt_sources.AptSource, ...]:
    """Return the sources that this machine's own apt uses; those it cannot read are left out."""
    places = _apt_directories()
    found: list[apt_sources.AptSource] = []
    files = [places["sourcelist"]]
    if places["sourceparts"].is_dir():
        files += sorted(places["sourceparts"].iterdir())
    for path in files:
        parse = {".list": apt_sources.parse_one_line, ".sources": apt_sources.parse_deb822}
        with contextlib.suppress(OSError):
            if path.suffix in parse and path.is_file():
                found += parse[path.suffix](path.read_text(errors="replace"))
    return tuple(found)


def _apt_directories() -> dict[str, Path]:
    names = {
        "sourcelist": "Dir::Etc::sourcelist/f",
        "sourceparts": "Dir::Etc::sourceparts/d",
        "lists": "Dir::State::lists/d",
    }
    words = [word for name, key in names.items() for word in (name, key)]
    done = _run(["apt-config", "shell", *words])
    if done.returncode:
        raise _apt_failed(["apt-config"], done.stderr)
    pairs = (word.partition("=") for word in shlex.split(done.stdout))
    return dict.fromkeys(names, Path("/nonexistent")) | {k: Path(value) for k, _, value in pairs}


def unreached(message: str) -> bool:
    """Say whether apt's message means that a server was not reached, or failed half-way.

    What a mirror does not have is another matter: apt then says 404, or File not found.
    """
    absent = re.search(r"\b404\b|File not found", message)
    return message.startswith("Err:") and not absent


def no_apt() -> InfrastructureError:
    """Build the error for a machine without apt."""
    return InfrastructureError(
        "apt is not installed, so debian: kernels cannot be fetched",
        hint="use --kernel host, or the path of a kernel image or .deb",
    )


def _environment() -> dict[str, str]:
    return {**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_STALL_S,
            stdin=subprocess.DEVNULL,
            env=_environment(),
        )
    except FileNotFoundError as error:
        raise no_apt() from error
    except subprocess.TimeoutExpired as error:
        raise InfrastructureError(
            f"{command[0]} did not end within {_STALL_S:.0f} s", hint="try again"
        ) from error


def _follow(child: subprocess.Popen[bytes], read: int, show: Callable[[float], None]) -> None:
    """Pass on how far apt says it is, until it closes its end; kill it if it stalls."""
    rest = b""
    try:
        while True:
            data = _read_soon(read)
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                # dlstatus:item:percent:text
                words = line.split(b":", 3)
                with contextlib.suppress(ValueError, IndexError):
                    if words[0] == b"dlstatus":
                        show(float(words[2]) / 100)
    except BaseException:
        child.kill()
        raise


def _read_soon(read: int) -> bytes:
    if not select.select([read], [], [], _STALL_S)[0]:
        raise InfrastructureError(f"apt-get did nothing for {_STALL_S:.0f} s", hint="try again")
    return os.read(read, 65536)


def _show(progress: Progress, task: str, share: float, total_bytes: int | None) -> None:
    share = min(max(share, 0.0), 1.0)
    if total_bytes is None:
        progress.update(task, share * 100, 100, unit="%")
    else:
        progress.update(task, round(share * total_bytes), total_bytes, unit="B")


def _messages(text: str) -> tuple[str, ...]:
    """Take errors and warnings out of apt's output; "Err:" has its reason on the next line."""
    joined = re.sub(r"^(Err:\S+ .*)\n +", r"\1: ", text, flags=re.MULTILINE)
    lines = (line.strip() for line in joined.splitlines())
    return tuple(line for line in lines if line.startswith(("E:", "W:", "Err:")))


def _apt_failed(command: list[str], log: str) -> InfrastructureError:
    messages = _messages(log) or tuple(log.strip().splitlines()[-10:])
    # An Err line has the reason; what apt concludes from it can mislead ("no Release file").
    reasons = [line for kind in ("Err:", "E:") for line in messages if line.startswith(kind)]
    reason = re.sub(r"^(Err:\S+|E:) +", "", reasons[0]) if reasons else "it gave no reason"
    hint = "check the network and the proxy, or name a kernel by its path"
    if "No space left" in log:
        hint = "free some space, or move the cache with LSMETER_CACHE"
    elif "NO_PUBKEY" in log or "not signed" in log:
        hint = "install a newer debian-archive-keyring, or name a kernel by its path"
    verb = next((word for word in ("update", "download", "source") if word in command), "")
    what = f"{command[0]} {verb}".strip()
    return InfrastructureError(f"{what} failed: {reason}", hint=hint, log_tail=messages)
