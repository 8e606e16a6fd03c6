# SPDX-License-Identifier: GPL-2.0-or-later
"""A real sshd on a port of this machine, with keys of its own: it stands for a host."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

_SERVER = """
Port {port}
ListenAddress {address}
HostKey {home}/host_key
AuthorizedKeysFile {home}/user_key.pub
PidFile none
PasswordAuthentication no
KbdInteractiveAuthentication no
StrictModes no
PermitRootLogin yes
UsePAM no
SetEnv HOME={home}/account
{more}
"""
_CLIENT = """
Host {names}
  HostName {address}
  Port {port}
  User {user}
  IdentityFile {home}/user_key
  IdentitiesOnly yes
  UserKnownHostsFile {home}/known_hosts
  StrictHostKeyChecking accept-new
"""
NAMES = ("alpha", "beta")


def find_sshd() -> str | None:
    return shutil.which("sshd", path="/usr/sbin:/usr/bin")


@dataclass
class Sshd:
    """A server in a directory of its own; account is the home of who logs in."""

    home: Path
    port: int
    address: str = "127.0.0.1"
    more: str = ""  # lines of its configuration
    through: tuple[str, ...] = ()  # what it is run through
    names: tuple[str, ...] = NAMES  # that lead to it
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def config(self) -> Path:
        """The ssh configuration that leads to it, by each of NAMES."""
        return self.home / "ssh_config"

    @property
    def account(self) -> Path:
        return self.home / "account"

    def prepare(self) -> None:
        self.account.mkdir(parents=True)
        for name in ("host_key", "user_key"):
            words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.home / name)]
            subprocess.run(words, check=True)
        said = {**vars(self), "names": " ".join(self.names), "user": getpass.getuser()}
        (self.home / "sshd_config").write_text(_SERVER.format(**said), encoding="utf-8")
        self.config.write_text(_CLIENT.format(**said), encoding="utf-8")

    def start(self) -> None:
        if os.geteuid() == 0:  # where it separates its privileges
            Path("/run/sshd").mkdir(exist_ok=True)
        words = [*self.through, str(find_sshd()), "-D", "-e", "-f", str(self.home / "sshd_config")]
        with (self.home / "log").open("wb") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=log)

    def answers(self) -> bool:
        with suppress(OSError), socket.create_connection((self.address, self.port), 1) as found:
            return found.recv(4) == b"SSH-"
        return False

    def sessions(self) -> list[int]:
        """Return the processes of connections that are open."""
        return _children(self.process.pid) if self.process else []

    def drop(self) -> None:
        """Break every connection, at once and without a word."""
        for pid in self.sessions():
            for each in (*_children(pid), pid):
                if b"sshd" in _command(each):
                    with suppress(ProcessLookupError):
                        os.kill(each, 9)

    def runs(self, program: bytes) -> bool:
        """Say whether a program runs in one of the connections."""
        todo, found = self.sessions(), False
        while todo:
            pid = todo.pop()
            found |= program in _command(pid)
            todo += _children(pid)
        return found

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def _children(pid: int) -> list[int]:
    words = ["ps", "--ppid", str(pid), "-o", "pid="]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return [int(word) for word in done.stdout.split()]


def _command(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def serving(server: Sshd) -> Iterator[Sshd]:
    """Give a server that is there for the block."""
    server.prepare()
    server.start()
    try:
        yield server
    finally:
        server.drop()
        server.stop()
