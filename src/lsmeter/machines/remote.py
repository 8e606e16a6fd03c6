# SPDX-License-Identifier: GPL-2.0-or-later
"""A host behind ssh: its name, how it is told what to do, what of its output is ours, what it is.

What a host is to do is a script for its /bin/sh, sent on standard input: the login shell of the
account, whatever it is, sees one fixed command. What comes back stands between two markers drawn
by lot, so that what a login prints is never taken for it. Nothing of a host is run or expanded
here.
"""

from __future__ import annotations

import asyncio
import atexit
import hashlib
import re
import secrets
import shlex
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from lsmeter.core import process
from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.core.limits import Limits
from lsmeter.core.model import Kernel
from lsmeter.core.model.arch import X86_64
from lsmeter.core.scratch import scratch
from lsmeter.guest.capture import Ending
from lsmeter.machines.qemu import run_child, start_child
from lsmeter.sources.kernels.running import described

# What stat calls a file system, and mount(2).
_TYPES = {"ext2/ext3": "ext4", "overlayfs": "overlay"}
# One line each, `key value`. What a kernel was built with comes last, behind a line of its own.
_LOOK = (
    'echo "machine $(uname -m)"; echo "release $(uname -r)"; echo "build $(uname -v)"; '
    'echo "user $(id -u)"; echo "cpus $(nproc 2>/dev/null)"; '
    'echo "cpu $(sed -n "s/^model name[^:]*: *//p" /proc/cpuinfo | head -n 1)"; '
    'echo "id $(cat /etc/machine-id 2>/dev/null)"; '
    "for d in {places}; do "
    '[ -d "$d" ] && [ -w "$d" ] && [ -x "$d" ] && echo "place $(stat -f -c %T "$d") $d"; done; '
    "echo config; c=/boot/config-$(uname -r); "
    "zcat /proc/config.gz 2>/dev/null || cat $c 2>/dev/null || "
    "cat /lib/modules/$(uname -r)/config 2>/dev/null || :"
)
_PLACES = '"${TMPDIR:-/tmp}" /dev/shm /var/tmp "$HOME"'
PREFIX = "ssh:"
FORM = "ssh:USER@HOST or ssh:USER@HOST:/DIRECTORY"
CONNECT_S = 10
ASK_S = 120.0
_ALIVE_S, _ALIVE_TIMES = 5, 3
_LOST = 255  # what ssh itself ends with when it cannot connect, or the connection breaks
_HANG_UP_S = 5.0
_MOST_BYTES = 16 << 20  # of an answer, and of what is complained of
_STATUS_BYTES = 8  # more than any status has
_FAREWELL = "Exiting with failure status"
_TOKEN = "LSMETER"  # noqa: S105  (a marker)
# No login shell reads anything else of ours: not its own words, not those of sh.
_SHELL = "exec /bin/sh -c 'IFS= read -r s; eval \"$s\"'"
_ADDRESS = re.compile(
    r"(?P<login>(?:[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}@)?"
    r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}|\[[0-9A-Fa-f:.]{2,60}\]))"
    r"(?::(?P<directory>/[A-Za-z0-9_./+@=-]{0,200}))?"
)
# What ssh says last, and what to do about it.
_HINTS = {
    "Permission denied": "ssh must let you in without a password: try ssh -o BatchMode=yes {}",
    "Host key verification failed": "see that it is the right host: ssh {}, once, by hand",
    "Could not resolve hostname": "look at the name, or give it an entry in your ssh config",
}
_HINT = "see whether this works: ssh -o BatchMode=yes {} true"


@dataclass(frozen=True)
class Address:
    """A host as ssh knows it, and the directory that it works in; "": its TMPDIR, or /tmp."""

    login: str
    directory: str = ""

    @property
    def name(self) -> str:
        """The word that names it, whichever its directory."""
        return PREFIX + self.login


def parse_address(word: str) -> Address:
    """Read `ssh:USER@HOST:/DIRECTORY`; UsageError for anything that ssh could misunderstand."""
    found = _ADDRESS.fullmatch(word.removeprefix(PREFIX))
    if found is None:
        raise UsageError(
            f"--machine: {word[:80]!r} names no host",
            hint=f"write {FORM}; ports and keys belong in your ssh config",
        )
    return Address(re.sub(r"[\[\]]", "", found["login"]), found["directory"] or "")


@dataclass(frozen=True)
class Link:
    """A way to a host, one connection for all; config: a file in place of the user's own."""

    address: Address
    config: Path | None = None

    def command(self) -> tuple[str, ...]:
        """Return the command that starts a script, read from standard input, on the host."""
        options = (
            *("BatchMode=yes", f"ConnectTimeout={CONNECT_S}", "LogLevel=ERROR"),
            *(f"ServerAliveInterval={_ALIVE_S}", f"ServerAliveCountMax={_ALIVE_TIMES}"),
            *("ControlMaster=auto", f"ControlPath={_sockets()}/%C", "ControlPersist=60"),
            *("ClearAllForwardings=yes", "ForwardAgent=no", "PermitLocalCommand=no"),
            *("RequestTTY=no", "RemoteCommand=none", "EscapeChar=none"),
        )
        config = ("-F", str(self.config)) if self.config else ()
        return (
            *("ssh", *config, *(word for item in options for word in ("-o", item))),
            *("--", self.address.login, _SHELL),
        )

    def ask(self, script: str, data: bytes = b"", deadline_s: float = ASK_S) -> Answer:
        """Run a script on the host, which reads `data`; InfrastructureError says why it cannot."""
        return asyncio.run(self.ask_beside(script, data, deadline_s=deadline_s))

    async def ask_beside(
        self, script: str, data: bytes = b"", *, deadline_s: float = ASK_S
    ) -> Answer:
        """Ask as `ask` does while other things go on; who cancels it ends ssh."""
        marks = Marks.draw()
        tasks: list[asyncio.Task[None]] = []

        async def start(console: int, results: int, stderr: int) -> asyncio.subprocess.Process:
            child = await self.start(console, results, stderr)
            tasks.append(asyncio.create_task(_tell(child, marks.around(script) + data)))
            return child

        limits = Limits(deadline_s, deadline_s, _MOST_BYTES)
        try:
            done = await run_child(start, limits, lambda _: None, 0)
        finally:
            for task in tasks:
                task.cancel()
        if done.ending is not Ending.EXITED:
            flood = f"it says more than {_MOST_BYTES} bytes"
            late = f"no answer within {deadline_s:.0f} s"
            raise self.lost(flood if done.ending is Ending.FLOODED else late, _LOST)
        marks.feed(done.results)
        if marks.status is None:
            raise self.lost(done.stderr, done.exit_code)
        return Answer(marks.status, bytes(marks.payload).decode(errors="replace"), done.stderr)

    async def start(self, _console: int, results: int, stderr: int) -> asyncio.subprocess.Process:
        """Start ssh for run_child, which reads what comes; what to run is still to be said."""
        pipe = asyncio.subprocess.PIPE
        return await start_child(self.command(), stderr, results, pipe, process.environment())

    def lost(self, stderr: str, status: int | None) -> InfrastructureError:
        """Say why no answer came, by the last line of ssh."""
        lines = [line.strip() for line in stderr.splitlines() if line.strip()]
        why = lines[-1][:200] if lines else "the connection was lost"
        if status != _LOST and not lines:
            why = f"its login shell ended with status {status} before anything was run"
        hint = next((text for sign, text in _HINTS.items() if sign in stderr), _HINT)
        return InfrastructureError(
            f"{self.address.name}: {why}", hint=hint.format(self.address.login)
        )


async def _tell(child: asyncio.subprocess.Process, data: bytes) -> None:
    """Write what a host is to read; it may end before it has read all."""
    assert child.stdin is not None  # noqa: S101  (it is a pipe)
    with suppress(OSError):
        child.stdin.write(data)
        await child.stdin.drain()
    child.stdin.close()


@dataclass(frozen=True)
class Answer:
    """How a script ended on a host, what it printed, and its errors."""

    status: int
    out: str
    err: str

    @property
    def why(self) -> str:
        """The last line of what it complained of, without tar's farewell."""
        lines = [line for line in self.err.splitlines() if line.strip() and _FAREWELL not in line]
        return lines[-1].strip()[:200] if lines else f"status {self.status}"


class Marks:
    """Takes what a script printed out of all that came: it stands between two markers.

    feed takes bytes as they come, and returns those that are the script's; status is how it ended,
    None as long as it has not.
    """

    def __init__(self, token: str) -> None:
        self.payload = bytearray()
        self.status: int | None = None
        self._begin, self._end = f"{token} begin\n".encode(), f"{token} end ".encode()
        self._token = token
        self._inside = False
        self._pending = bytearray()

    @classmethod
    def draw(cls) -> Marks:
        """Return markers that nobody else prints."""
        return cls(f"{_TOKEN}-{secrets.token_hex(16)}")

    def around(self, script: str) -> bytes:
        """Return what is sent: the script on one line, with its markers."""
        if not script.isprintable():
            raise ValueError("a script must be one line")
        # In a subshell, so that it may exit as it likes.
        line = f"echo {self._token} begin; ( {script} ); echo {self._token} end $?"
        return line.encode() + b"\n"

    def feed(self, data: bytes) -> bytes:
        """Take bytes as they come; return those of the script that are known to be its."""
        if self.status is not None:
            return b""
        self._pending += data
        if not self._inside:
            at = self._pending.find(self._begin)
            if at < 0:
                del self._pending[: -len(self._begin)]
                return b""
            self._inside = True
            del self._pending[: at + len(self._begin)]
        at = self._pending.find(self._end)
        line = self._pending.find(b"\n", at) if at >= 0 else -1
        if line < 0 <= at and len(self._pending) > at + len(self._end) + _STATUS_BYTES:
            line = len(self._pending)  # a line without end is no status
        if line >= 0:
            number = bytes(self._pending[at + len(self._end) : line])
            self.status = int(number) if number.isdigit() and len(number) < 4 else -1
        keep = at if at >= 0 else len(self._pending) - _overlap(self._pending, self._end)
        ours = bytes(self._pending[:keep])
        del self._pending[:keep]
        self.payload += ours
        return ours


def _overlap(data: bytearray, marker: bytes) -> int:
    """Return how many of the last bytes of `data` may be the beginning of the marker."""
    most = min(len(marker) - 1, len(data))
    return next((size for size in range(most, 0, -1) if data.endswith(marker[:size])), 0)


def quoted(*words: str) -> str:
    """Write words for a script, so that /bin/sh takes each of them as it is."""
    for word in words:
        if not word.isprintable():
            raise UsageError(f"{word[:60]!r} cannot be sent to a host: it is not printable")
    return shlex.join(words)


@cache
def _sockets() -> str:
    """Return a private directory for the sockets of shared connections, removed at the end."""
    stack = ExitStack()
    # A socket's path must be short.
    path = stack.enter_context(scratch("ssh", Path("/tmp")))  # noqa: S108
    stack.callback(_hang_up, path)
    atexit.register(stack.close)
    return str(path)


def _hang_up(sockets: Path) -> None:
    for socket in sockets.iterdir():
        command = ["ssh", "-o", f"ControlPath={socket}", "-O", "exit", "host"]
        with suppress(InfrastructureError):
            process.run_bytes(command, deadline_s=_HANG_UP_S)


@dataclass(frozen=True)
class Host:
    """What is known of a host before it is measured."""

    facts: Mapping[str, str]
    places: tuple[tuple[str, str], ...]  # directories: type of file system, path
    config: str

    @property
    def is_root(self) -> bool:
        """Whether ssh logs in as root."""
        return self.facts.get("user") == "0"

    @property
    def cpus(self) -> int:
        """How many CPUs it has; one where it does not say."""
        said = self.facts.get("cpus", "")
        return int(said) if re.fullmatch("[1-9][0-9]{0,4}", said) else 1


def read_look(text: str) -> Host:
    """Read what a host printed of itself; what is not said is left out."""
    head, _, config = text.partition("\nconfig\n")
    lines = [line.partition(" ")[::2] for line in head.splitlines()]
    places = [value.partition(" ")[::2] for key, value in lines if key == "place"]
    typed = tuple((_TYPES.get(kind, kind), path) for kind, path in places if path[:1] == "/")
    return Host({key: value for key, value in lines if key != "place"}, typed, config)


def directory_on(link: Link, host: Host, filesystem: str) -> str:
    """Return the directory in which blocks are to have theirs; root mounts a tmpfs in any."""
    for kind, path in host.places:
        if (filesystem == "tmpfs" and host.is_root) or kind == filesystem:
            return path
    looked = ", ".join(f"{path} ({kind})" for kind, path in host.places) or "nothing writable"
    raise InfrastructureError(
        f"{link.address.name}: no directory on {filesystem} that can be written to: {looked}",
        hint=f"name one: {PREFIX}{link.address.login}:/DIRECTORY",
    )


def look(link: Link) -> Host:
    """Ask a host what it is."""
    named = link.address.directory
    return read_look(link.ask(_LOOK.replace("{places}", quoted(named) if named else _PLACES)).out)


def look_measurable(link: Link) -> Host:
    """Ask a host what it is; refuse one that the probe cannot run on."""
    named, host = link.address.directory, look(link)
    machine = host.facts.get("machine", "")
    if machine != X86_64.name:
        raise InfrastructureError(
            f"{link.address.name}: its processor is {machine[:40] or 'not told'}, and the probe is "
            f"for {X86_64.name}",
            hint="only hosts of this architecture can be measured",
        )
    if not host.places:
        where = named or "${TMPDIR:-/tmp}"
        raise InfrastructureError(
            f"{link.address.name}: {where} is no directory that {link.address.login} may write to",
            hint=f"name another: {PREFIX}{link.address.login}:/DIRECTORY",
        )
    return host


def kernel_of(name: str, host: Host) -> Kernel:
    """Describe the kernel of a host, under the host's name: two hosts never share a cell."""
    facts = host.facts
    kernel = described(facts.get("release", ""), facts.get("build", ""), host.config)
    parts = (kernel.image_sha256, name, facts.get("cpu", ""), facts.get("id", ""))
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    origin = f"running on {name}, {facts.get('build', '')}"
    return replace(kernel, name=name, image_sha256=digest, origin=origin)
