# SPDX-License-Identifier: GPL-2.0-or-later
"""Hosts behind ssh, as they run: the probe is copied, run, and its results come back as they are.

A block is one process of the probe there, in a directory of its own, which the host removes when
the block ends, however it ends: a script of ours holds it and waits at the connection, and when
that breaks, ends the probe first. Nothing else of a host is changed.
"""

from __future__ import annotations

import asyncio
import io
import os
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from lsmeter.core.errors import InfrastructureError, LsmeterError, UsageError
from lsmeter.core.inputs import whole_number
from lsmeter.core.limits import Limits
from lsmeter.core.model import Cell, Kernel
from lsmeter.core.storage import prove
from lsmeter.guest.capture import Capture, Ending
from lsmeter.guest.probe import find_probe
from lsmeter.machines import (
    Addressed,
    ComesBack,
    HasHosts,
    Machine,
    OnResults,
    Prepares,
    refuse_plugins,
)
from lsmeter.machines.qemu import run_child
from lsmeter.machines.remote import (
    FORM,
    PREFIX,
    Answer,
    Host,
    Link,
    Marks,
    directory_on,
    kernel_of,
    look_measurable,
    parse_address,
    quoted,
)
from lsmeter.machines.replay import record
from lsmeter.machines.workplace import files_for
from lsmeter.measure.experiment.plan import PlannedBoot

CONFIG = "LSMETER_SSH_CONFIG"
_MANY = ","  # between several hosts
# The directory lives as long as this; the probe as long as the connection. `read` is no process of
# its own, so that nothing is left of the watch.
_HOLD = (
    # PIPE: the connection may be gone before the first word is written to it.
    'd=; clean() {{ [ -z "$d" ] || rm -rf "$d"; }}; trap clean EXIT; '
    'trap "exit 91" HUP INT PIPE TERM; '
    # What looks for directories of the killed has to know whose this is: this shell's.
    "read -r me rest </proc/self/stat; "
    'umask 022; d=$(mktemp -d {base}/lsmeter-$me-XXXXXXXX) || exit 90; chmod 755 "$d"; '
)
_BLOCK = (
    _HOLD + 'echo "$d"; IFS= read -r go; [ "$go" = go ] || exit 92; exec 3<&0; '
    'env -i "$d/probe" native "$d" "$d/request" </dev/null & p=$!; '
    "{{ while read -r x <&3; do :; done; kill -KILL $p; }} >/dev/null 2>&1 & w=$!; "
    "wait $p; s=$?; kill -KILL $w 2>/dev/null; exit $s"
)
# tar does not say that a disk is full; df does.
_FILL = 'cd {place} && tar -xof - || {{ set -- $(df -kP . | tail -n 1); echo "free $4"; exit 93; }}'
# What a shell that was killed has left, with a probe that may still run there.
_SWEEP = (
    "{{ for q in {base}/lsmeter-*-*; do p=${{q##*/lsmeter-}}; p=${{p%%-*}}; "
    'case $p in ""|*[!0-9]*) continue ;; esac; '
    '[ -d "$q" ] && [ ! -L "$q" ] && [ -O "$q" ] && [ ! -d "/proc/$p" ] || continue; '
    'for x in /proc/[0-9]*; do [ "$x/exe" -ef "$q/probe" ] && kill -KILL "${{x#/proc/}}"; done; '
    'rm -rf "$q"; done; }} 2>/dev/null; '
)
_REHEARSE = _SWEEP + _HOLD + _FILL + '; "$d/probe" catalogue >/dev/null || exit 94'
_NO_PLACE = 90
_DIRECTORY_CHARS = 300
_BACK_S, _TRIES = 10.0, 12  # between looks for a host that is gone, and how often one is taken


@dataclass
class Ssh(Machine, Addressed, HasHosts, ComesBack, Prepares):
    """One host or several; each has blocks of its own, in lanes that run at a time."""

    links: tuple[Link, ...] = ()
    gone: dict[str, str] = field(default_factory=dict)  # hosts that do not answer any more, and why

    name = "ssh"
    title = f"a host as it runs, or several: {FORM}"
    filesystems = ("tmpfs", "ext4", "xfs", "btrfs", "overlay")

    def connect(self, addresses: str) -> Ssh:
        """Return the machine of the hosts that are named, with commas between them."""
        config = os.environ.get(CONFIG)
        if config and not Path(config).is_file():
            raise UsageError(f"{CONFIG}: {config}: no such file")
        given = [f"{PREFIX}{word.removeprefix(PREFIX)}" for word in addresses.split(_MANY)]
        parsed = [parse_address(word) for word in dict.fromkeys(given)]
        names = [item.name for item in parsed]
        if twice := [name for name in names if names.count(name) > 1]:
            raise UsageError(
                f"--machine {twice[0]}: named twice, in two directories",
                hint="its blocks would disturb each other: name one directory",
            )
        found = Ssh(tuple(Link(item, Path(config) if config else None) for item in parsed))
        found.title = f"{', '.join(item.login for item in parsed)} as it runs"
        return found

    @cached_property
    def hosts(self) -> Mapping[str, tuple[Link, Host]]:
        """Ask each host what it is; an error names the first that cannot be measured."""
        if not self.links:
            raise UsageError("--machine ssh: which host?", hint=f"write {FORM}")
        return {link.address.name: (link, look_measurable(link)) for link in self.links}

    @property
    def users(self) -> tuple[str, ...]:
        """Who can measure on every host: an ordinary user cannot become root."""
        return ("root", "user") if all(h.is_root for _, h in self.hosts.values()) else ("user",)

    @property
    def cpus(self) -> int:
        """How many copies can run at once on every host."""
        return min(host.cpus for _, host in self.hosts.values())

    def kernels(self) -> tuple[Kernel, ...]:
        """Return the kernel of each host, named by the host: they stand apart in every table."""
        return tuple(kernel_of(name, host) for name, (_, host) in self.hosts.items())

    def identity(self, plugins: Iterable[str] = ()) -> Mapping[str, str]:
        """Name the probe; a host is named with its kernel."""
        refuse_plugins(self, plugins)
        return {"probe": find_probe().sha256}

    def command(self, cell: Cell) -> tuple[str, ...]:
        """Return the command that starts a block, with what changes by block left out."""
        link, host = self.hosts[cell.kernel.name]
        return (*link.command()[:-1], _script(link, host, cell.filesystem))

    def prepare(self, cells: Iterable[Cell]) -> None:
        """Copy the probe to each host once and start it, so that what is wrong is said first."""
        for name in {cell.kernel.name: cell for cell in cells}:
            link, host = self.hosts[name]
            _rehearse(link, host)

    async def run(self, planned: PlannedBoot, limits: Limits, on_results: OnResults) -> Capture:
        """Run one block on its host; one that is gone is waited for, then left out."""
        cell, name = planned.cell, planned.cell.kernel.name
        link, host = self.hosts[name]
        if name in self.gone:
            return Capture(b"", b"", Ending.LOST, None, 0.0, self.gone[name])
        prove(find_probe().path, dict(cell.identity)["probe"], "what was measured before is kept")
        block = _Block(link, _script(link, host, cell.filesystem), planned, limits)
        capture = await block.run(on_results)
        record(planned, capture)
        return capture

    async def wait_for_host(self, planned: PlannedBoot) -> bool:
        """Wait for a host that was lost, some minutes; one that stays away is left out."""
        name = planned.cell.kernel.name
        if name in self.gone:
            return False
        why = ""
        for wait_s in (0.0, *[_BACK_S] * _TRIES):
            await asyncio.sleep(wait_s)
            try:
                await self.hosts[name][0].ask_beside(":")
            except InfrastructureError as error:
                why = error.title
            else:
                return True
        self.gone[name] = why
        return False


class _Block:
    """One process of the probe on a host, with the talk around it."""

    def __init__(self, link: Link, script: str, planned: PlannedBoot, limits: Limits) -> None:
        self._link, self._script = link, script
        self._planned, self._limits = planned, limits
        self._marks = Marks.draw()
        self._head = bytearray()  # the directory's name, until it is whole
        self._place: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._error: LsmeterError | None = None
        self._results = bytearray()
        self._talk: asyncio.Task[None] | None = None

    async def run(self, on_results: OnResults) -> Capture:
        """Run it to its end, or to a limit."""

        def heard(data: bytes) -> int | Ending | None:
            ours = self._after_place(self._marks.feed(data))
            self._results += ours
            if self._error is not None:
                return Ending.LOST
            return on_results(ours) if ours else None

        try:
            units = self._planned.cell.units
            capture = await run_child(self._start, self._limits, heard, units)
        finally:
            if self._talk:
                self._talk.cancel()
                await asyncio.wait([self._talk])
        return self._with_status(capture)

    def _with_status(self, capture: Capture) -> Capture:
        """Return the capture with what is the probe's alone, and what became of the connection."""
        found = replace(capture, results=bytes(self._results))
        if self._error is not None:
            return replace(found, ending=Ending.LOST, exit_code=None, stderr=self._error.title)
        if found.ending is not Ending.EXITED:
            return found
        if self._marks.status is None:
            why = self._link.lost(found.stderr, found.exit_code).title
            return replace(found, ending=Ending.LOST, exit_code=None, stderr=why)
        return replace(found, exit_code=self._marks.status)

    async def _start(self, console: int, results: int, stderr: int) -> asyncio.subprocess.Process:
        child = await self._link.start(console, results, stderr)
        self._talk = asyncio.create_task(self._converse(child))
        return child

    async def _converse(self, child: asyncio.subprocess.Process) -> None:
        """Fill the directory once its name is known, and let the probe begin."""
        assert child.stdin is not None  # noqa: S101  (it is a pipe)
        child.stdin.write(self._marks.around(self._script))
        place = await self._place
        try:
            files = files_for(self._planned, Path(place), self._limits.benchmark_ms)
            files["probe"] = find_probe().path.read_bytes()
            await _fill(self._link, place, files)
            child.stdin.write(b"go\n")
            await child.stdin.drain()
        except (LsmeterError, OSError) as error:
            self._error = error if isinstance(error, LsmeterError) else None
            child.stdin.close()

    def _after_place(self, data: bytes) -> bytes:
        """Take the first line, which names the directory; return what comes after it."""
        if self._place.done():
            return data
        self._head += data
        line, newline, rest = self._head.partition(b"\n")
        place = line.decode(errors="replace")
        sound = place[:1] == "/" and place.isprintable() and len(place) < _DIRECTORY_CHARS
        if self._head and not sound:
            self._error = self._link.lost("it names no directory", None)
        elif newline:
            self._place.set_result(place)
            return bytes(rest)
        return b""


def _script(link: Link, host: Host, filesystem: str) -> str:
    return _BLOCK.format(base=quoted(directory_on(link, host, filesystem)))


async def _fill(link: Link, place: str, files: Mapping[str, bytes]) -> None:
    """Unpack files into a directory of a host; one line says why that fails."""
    answer = await link.ask_beside(_FILL.format(place=quoted(place)), _packed(files))
    if answer.status:
        needed = sum(map(len, files.values()))
        raise _refused(link, f"cannot write to {place}: {_why_not(answer, needed)}")


def _why_not(answer: Answer, needed: int) -> str:
    """Say why files of so many bytes could not be unpacked."""
    words = answer.out.split()
    free = whole_number(words[-1]) if words[-2:-1] == ["free"] else None
    if free is None or free * 1024 >= needed:
        return answer.why
    return f"no space left: {free} KiB are free, {needed >> 10} are needed"


def _packed(files: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in files.items():
            item = tarfile.TarInfo(name)
            item.size, item.mode = len(data), 0o755
            archive.addfile(item, io.BytesIO(data))
    return packed.getvalue()


def _rehearse(link: Link, host: Host) -> None:
    """Make a directory, copy the probe, start it, and remove it all."""
    base = host.places[0][1]
    probe = find_probe().path.read_bytes()
    script = _REHEARSE.format(base=quoted(base), place='"$d"')
    answer = link.ask(script, _packed({"probe": probe}))
    told = {
        _NO_PLACE: f"cannot make a directory in {base}: {answer.why}",
        93: f"cannot write to {base}: {_why_not(answer, len(probe))}",
        94: f"cannot run a program in {base} (is it mounted noexec?): {answer.why}",
    }
    if answer.status:
        raise _refused(link, told.get(answer.status, f"the probe failed: {answer.why}"))


def _refused(link: Link, what: str) -> InfrastructureError:
    return InfrastructureError(
        f"{link.address.name}: {what}",
        hint=f"name another directory: {PREFIX}{link.address.login}:/DIRECTORY",
    )


MACHINE = Ssh()
