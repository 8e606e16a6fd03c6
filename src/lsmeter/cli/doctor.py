# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of this machine, one function each: what is missing, and how to get it."""

from __future__ import annotations

import functools
import os
import platform
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from lsmeter.core import host, process, storage
from lsmeter.core.errors import InfrastructureError, LsmeterError, UsageError
from lsmeter.core.model.arch import ARCHES, Arch, arch_of_host
from lsmeter.core.model.filesystems import FILESYSTEMS
from lsmeter.core.scratch import scratch
from lsmeter.guest.probe import catalogue, find_probe
from lsmeter.machines import Spreads, find_machine
from lsmeter.machines.kvm import Proof, cached_kernel, prove_kvm
from lsmeter.machines.qemu import qemu_version
from lsmeter.sources.images.bootstrap import need_to_build
from lsmeter.sources.kernels import apt
from lsmeter.tables.fields import Field, named, tabled
from lsmeter.tables.model import Document, Kind, Section, Shown, Tone

_NEEDED_MEMORY_MIB = 1024
_NEEDED_DISK_MIB = 2048
_OLDEST_QEMU = (7, 2)
_PROGRAMS = ("apt-get", "dpkg-deb", "mke2fs", "setpriv")
_FOREIGN = "qemu-user-static arch-test"  # that run programs of other architectures
_NO_KVM = "only --machine kvm needs it"


class State(StrEnum):
    """How a check went: what is missing stops lsmeter, what is limited only narrows it."""

    OK = "ok"
    LIMITED = "limited"
    MISSING = "missing"


@dataclass(frozen=True)
class Finding:
    """One line of doctor: what was looked at, how it is, and how to get what is missing."""

    name: str
    state: State
    text: str
    hint: str = ""


class _LimitedError(LsmeterError):
    """What a check ends with when lsmeter works all the same, if not for everything."""


def _machine() -> str:
    machine = platform.machine()
    known = [arch.uname for arch in ARCHES.values()]
    if machine in known:
        return f"{host.processor()}, {host.cores()} core(s)"
    raise InfrastructureError(f"{machine}: only {', '.join(known)} are supported")


def _qemu() -> str:
    """Look for QEMU, and for a version that the exact instrument was measured with."""
    version = qemu_version()
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < _OLDEST_QEMU:
        raise _LimitedError(f"{version} is older than 7.2", hint="results may not repeat")
    return version


def _other_arches() -> str:
    """Look for what guests of other architectures need; only --arch asks for them.

    What lacks is named all at once, with the packages that have it.
    """
    others = [arch for arch in ARCHES.values() if arch is not arch_of_host()]
    if lacking := dict(pair for arch in others for pair in _lacking(arch)):
        again = "; then install lsmeter again" if any("probe" in said for said in lacking) else ""
        packages = " ".join(dict.fromkeys(lacking.values()))
        raise _LimitedError("; ".join(lacking), hint=f"apt-get install {packages}{again}")
    return ", ".join(f"{arch.name}: QEMU {qemu_version(arch).split()[0]}" for arch in others)


def _lacking(arch: Arch) -> Iterator[tuple[str, str]]:
    """Give what this machine lacks for an architecture, each with the packages that have it."""
    if process.find(arch.program) is None:
        yield f"no guests of {arch.name}: no {arch.program}", arch.package
    try:
        find_probe(arch)
    except LsmeterError as error:
        yield error.title, arch.compiler_packages
    if process.find(arch.compiler) is None:
        yield (
            f"no attribution and no builds of kernels of {arch.name}: no {arch.compiler}",
            arch.compiler_packages,
        )
    if process.find("arch-test") is None or process.run(["arch-test", arch.debian]).returncode:
        yield f"no images of {arch.name}: its programs do not run here", _FOREIGN


def _programs() -> str:
    process.need(_PROGRAMS, "kernels and guests are prepared with it")
    return ", ".join(_PROGRAMS)


def _filesystems() -> str:
    """Look for what makes file systems; only guests that work on one need its program."""
    made = [item for item in FILESYSTEMS.values() if item.on_disk]
    if lacking := [item for item in made if process.find(item.make[0]) is None]:
        names = ", ".join(item.name for item in lacking)
        error = process.missing(*(item.make[0] for item in lacking), why=f"no guest has {names}")
        raise _LimitedError(error.title, hint=error.hint)
    return ", ".join(FILESYSTEMS)


def _compiler() -> str:
    """Look for a C compiler; only building (the probe, kernels) needs it."""
    if path := process.find("cc"):
        return path
    said = "no cc: the probe and kernels cannot be built"
    raise _LimitedError(said, hint="apt-get install gcc libc6-dev make")


def _images() -> str:
    """Look for what builds guest images; only setups with a policy need them."""
    try:
        need_to_build(arch_of_host())
    except LsmeterError as error:
        raise _LimitedError(error.title, hint=error.hint) from error
    return "can be built, " + ("as root" if os.geteuid() == 0 else "in a user namespace")


def _memory() -> str:
    """Look whether a guest for each core fits into memory."""
    free = host.memory_bytes() >> 20
    return _enough(free, _NEEDED_MEMORY_MIB, f"{free} MiB available", "use --jobs 1")


def _disk() -> str:
    """Look whether kernels and results fit where they are kept."""
    free = min(host.free_bytes(path) for path in (storage.cache_dir(), storage.data_dir())) >> 20
    hint = "set LSMETER_CACHE and LSMETER_DATA to a larger disk"
    return _enough(free, _NEEDED_DISK_MIB, f"{free} MiB free for the cache", hint)


def _enough(found: int, needed: int, text: str, hint: str) -> str:
    if found < needed:
        raise _LimitedError(text, hint=hint)
    return text


def _kernel() -> str:
    """Look for a kernel, and where there is none, whether one can be fetched."""
    kernel = cached_kernel()
    if kernel is not None:
        return f"{kernel.name} is here ({kernel.release})"
    hint = "or name one of your own: --kernel ./vmlinux"
    sources = apt.debian_sources(apt.machine_sources())
    if not sources:
        said = "none is cached, and this machine's apt has no archive of Debian's"
        raise _LimitedError(said, hint=f"add one, {hint}")
    uri, suite = sources[0]["URIs"].split()[0], sources[0]["Suites"].split()[0]
    with scratch("doctor") as directory:
        # apt's own, so that its proxies are used.
        options = ("-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=5")
        words = ["/usr/lib/apt/apt-helper", *options, "download-file"]
        done = process.run([*words, f"{uri}/dists/{suite}/Release", f"{directory}/Release"])
    if done.returncode:
        said = f"none is cached, and {uri} cannot be reached"
        raise _LimitedError(said, hint=f"connect it, see to the proxy of apt, {hint}")
    return f"none is cached; {uri} answers, so one is fetched when it is needed"


def _kvm(*, fresh: bool) -> str:
    """Look whether guests on KVM end; only the timed instrument needs them."""
    proof = prove_kvm(fresh=fresh)
    said = proof.said + (f" (seen {_ago(proof)}; --fresh looks again)" if proof.known else "")
    if not proof.works:
        raise _LimitedError(said, hint="; ".join(filter(None, (proof.hint, _NO_KVM))))
    return f"{said}: --machine kvm can be used"


def _ago(proof: Proof) -> str:
    """Say how long ago a proof was taken."""
    minutes = int(time.time() - proof.taken_s) // 60
    return f"{minutes // 60} h ago" if minutes >= 60 else f"{minutes} min ago"


_CHECKS: dict[str, Callable[[], str]] = {
    "machine": _machine,
    "QEMU": _qemu,
    "probe": lambda: f"{len(catalogue(find_probe()))} benchmarks",
    "other architectures": _other_arches,
    "programs": _programs,
    "file systems": _filesystems,
    "compiler": _compiler,
    "images": _images,
    "memory": _memory,
    "disk": _disk,
    "kernel": _kernel,
}


def findings(*, fresh: bool = False) -> Iterator[Finding]:
    """Check this machine, one thing after the other; fresh: prove KVM again, if it is known."""
    kvm: dict[str, Callable[[], str]] = {"KVM": functools.partial(_kvm, fresh=fresh)}
    for name, look in (_CHECKS | kvm).items():
        try:
            yield Finding(name, State.OK, look())
        except _LimitedError as error:
            yield Finding(name, State.LIMITED, error.title, error.hint)
        except LsmeterError as error:
            yield Finding(name, State.MISSING, error.title, error.hint)


def worker_findings(name: str, *, insecure: bool) -> Iterator[Finding]:
    """Check the workers of a machine, one after the other."""
    machine = find_machine(name, insecure=insecure)
    if not isinstance(machine, Spreads):
        raise UsageError(
            f"--machine {name[:80]}: doctor asks the workers of dask:ADDRESS only",
            hint="leave --machine out, and it checks this machine",
        )
    hint = "lsmeter help many-machines says what workers need"
    for worker, text, why in machine.check():
        state = State.MISSING if why else State.OK
        yield Finding(worker, state, f"{text}: {why}" if why else text, hint if why else "")


def doctor_document(found: Iterable[Finding], title: str = "This machine") -> Document:
    """Make the table of what was found; pure."""
    tones = {State.OK: Tone.BETTER, State.LIMITED: Tone.WARNING, State.MISSING: Tone.WORSE}
    fields = (
        named("state", lambda one: Shown(one.state.value, one.state.value, tones[one.state])),
        named("what", "name"),
        Field("found", "found", "text", Kind.PROSE),
        Field("what_to_do", "what to do", "hint", Kind.PROSE),
    )
    section = Section("", tables=(tabled("checks", "", fields, found),))
    return Document("lsmeter-doctor", 1, title, sections=(section,))
