# SPDX-License-Identifier: GPL-2.0-or-later
"""What a host behind ssh is, as it says itself: kernel, processor, user, and where it may write."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from lsmeter.core.errors import InfrastructureError
from lsmeter.core.model import Kernel
from lsmeter.core.model.arch import GUEST
from lsmeter.machines.remote import PREFIX, Link, quoted
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
    if machine != GUEST.name:
        raise InfrastructureError(
            f"{link.address.name}: its processor is {machine[:40] or 'not told'}, and the probe is "
            f"for {GUEST.name}",
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
