# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a Debian root file system as an archive: one call of mmdebstrap.

As root it works in a chroot, otherwise in a user namespace; the archive is the same. Packages
come from where this machine's own apt gets them, and are kept for the next build.
"""

from __future__ import annotations

import io
import os
import pwd
import re
import shlex
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path, PurePosixPath

from lsmeter.core import process
from lsmeter.core.errors import BuildError, InfrastructureError
from lsmeter.core.host import text_of
from lsmeter.core.model.arch import X86_64, Arch, arch_of_host
from lsmeter.core.progress import Progress
from lsmeter.core.storage import cache_dir, make_dir, write_atomic, writing
from lsmeter.sources.images import ext4
from lsmeter.sources.images.definition import BUILDS, FilePart, ImageDefinition
from lsmeter.sources.kernels import apt

_ROOTLESS = ("newuidmap", "newgidmap")
_DOCUMENTATION = ("doc", "man", "locale", "info")  # below /usr/share
_SILENCE_S = 1800.0  # compiling the policy takes minutes without a word
_STOP_WAIT_S = 30.0
# How qemu-user runs what an image's packages bring. It lacks an instruction of later processors
# (`dc cvap`, 7.2), with which MariaDB writes back persistent memory; and it keeps a table of all
# that a program reserves, which of MariaDB's 8 TiB (from 10.11.12 on) takes more than 24 GiB: with
# less to be had, MariaDB makes do.
_BY_QEMU = ("env", "QEMU_CPU=cortex-a57", "prlimit", f"--as={64 << 30}", "--")
_TAIL_LINES = 12
# All of mmdebstrap is asked to end: also when lsmeter itself is killed, which the shell notices
# (its parent is gone) and passes on to the group. What is left then of the directory $0, if that
# is not "", is removed.
_STOP_ALL = """\
end() {
    trap "" TERM
    kill -TERM 0
    wait
    [ -z "$0" ] || rm -rf --one-file-system -- "$0"
    exit 143
}
trap end TERM
"$@" & wait $!
"""
# mmdebstrap 1.3.5 does not unmount what it has mounted as root when it is ended while a hook
# runs. The mounts of a namespace of its own are gone with its last process.
_APART = ("unshare", "--mount", "--")
# What mmdebstrap says when a step begins.
_STAGES = {
    "running apt-get update": "fetching package lists",
    "downloading packages": "fetching packages",
    "extracting archives": "unpacking packages",
    "installing essential": "installing the base",
    "installing remaining": "installing packages",
    "running --customize-hook": "preparing",
    "cleaning package lists": "cleaning up",
    "creating tarball": "writing the archive",
}
UNPACK, COPY, LABEL = "unpacking the archive", "making the file system", "labelling files"
_STEPS = ("starting mmdebstrap", *_STAGES.values(), UNPACK, COPY, LABEL)
_HINTS = {
    "No space left": "free some space (TMPDIR and LSMETER_CACHE), then build again",
    "Unable to locate package|has no installation candidate": "is the package's name right, "
    "and is it in this suite's main archive?",
    "Failed to fetch|Could not resolve|Temporary failure": "check the network and the proxy, "
    "then build again",
    "NO_PUBKEY|not signed": "install debian-archive-keyring, then build again",
}


class Steps:
    """Shows which step of an image's build is under way, and how many there are."""

    def __init__(self, name: str, progress: Progress) -> None:
        self._name, self._progress, self._task = name, progress, ""
        self.begin(_STEPS[0])

    def begin(self, step: str) -> None:
        """Show the step that begins now."""
        self.end()
        self._task = f"{self._name}: {step}"
        self._progress.update(self._task, _STEPS.index(step) + 1, len(_STEPS), unit="steps")

    def end(self) -> None:
        """Show nothing more."""
        self._progress.finish(self._task)


class Bootstrap:
    """Where one bootstrap reads and writes: in a directory of its own, but for the log."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.archive = home / "root.tar"  # the root file system
        self.overlay = home / "files.tar"  # the definition's own files
        self.sources = home / "debian.sources"  # missing where mmdebstrap's own are used
        self.paths = home / "paths"  # whose labels were looked up, each ended by a zero
        self.contexts = home / "contexts.raw"  # of those paths, one a line
        self.log = home.parent / "build.log"  # the whole output


def need_to_build(arch: Arch) -> None:
    """Raise InfrastructureError if this machine cannot build an image, with the reason."""
    process.need(BUILDS, "an image is built with it")
    if arch is not arch_of_host():
        process.need(("arch-test",), f"an image of {arch.name} is built with it")
        if process.run(["arch-test", arch.debian]).returncode:
            raise InfrastructureError(
                f"cannot build an image of {arch.name}: its programs do not run here",
                hint="apt-get install qemu-user-static; lsmeter help images has what it registers",
            )
    if os.geteuid() == 0:
        return
    process.need(_ROOTLESS, "without root, an image is built in a user namespace")
    without = "cannot build an image without root"
    for path in (Path("/etc/subuid"), Path("/etc/subgid")):
        if not _has_range(path):
            raise InfrastructureError(
                f"{without}: {path} has no range for this user",
                hint="usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER "
                "(as root), or build as root",
            )
    done = process.run(["unshare", "--user", "true"])
    if done.returncode:
        raise InfrastructureError(
            f"{without}: no user namespaces: {done.stderr.strip()}",
            hint="allow them (sysctl kernel.unprivileged_userns_clone=1; on Ubuntu also "
            "kernel.apparmor_restrict_unprivileged_userns=0), or build as root",
        )


def can_mount_apart() -> bool:
    """Say whether programs can be given mounts of their own, which this machine does not see."""
    can = process.find("unshare") is not None
    return can and process.run(["unshare", "--mount", "true"]).returncode == 0


def _has_range(path: Path) -> bool:
    user = os.geteuid()
    names = {str(user)}
    with suppress(KeyError):
        names.add(pwd.getpwuid(user).pw_name)
    return any(line.split(":")[0] in names for line in text_of(path).splitlines())


def overlay_tar(parts: tuple[FilePart, ...]) -> bytes:
    """Write the files of a definition as an archive: root's, with one time; pure."""
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for part in parts:
            member = tarfile.TarInfo(part.path.lstrip("/"))
            member.size, member.mtime = len(part.data), ext4.TIME_S
            member.mode = 0o755 if part.executable else 0o644
            archive.addfile(member, io.BytesIO(part.data))
    return memory.getvalue()


def sources_for(suite: str, machine: tuple[apt.Source, ...]) -> str:
    """Return deb822 sources of `suite` on this machine's mirrors, "" where it has none; pure."""
    debian = apt.debian_sources(machine)
    suites = (suite, f"{suite}-updates", f"{suite}-security")
    return apt.render(apt.packages_of(debian, suites))


def command(
    definition: ImageDefinition,
    places: Bootstrap,
    arch: Arch = X86_64,
    *,
    packages: Path,
    root: bool,
    sources: bool,
) -> list[str]:
    """Return the mmdebstrap command; pure."""
    words = [
        *("mmdebstrap", f"--mode={'root' if root else 'unshare'}", "--variant=minbase"),
        *(f"--architectures={arch.debian}", "--format=tar", "--verbose"),
        *(f"--include={','.join(definition.packages)}",) * bool(definition.packages),
        '--aptopt=APT::Install-Recommends "false"',
        '--aptopt=Acquire::Languages "none"',
        '--aptopt=Acquire::Retries "2"',
        "--dpkgopt=force-unsafe-io",  # a build that is cut off is thrown away whole
        *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in _DOCUMENTATION),
        *(f"--dpkgopt=path-include={path}" for path in with_parents(definition.keep)),
        "--skip=download/empty,essential/unlink",
        '--setup-hook=mkdir -p "$1/var/cache/apt/archives"',
        f"--setup-hook=sync-in {shlex.quote(str(packages))} /var/cache/apt/archives",
        *(f"--customize-hook={hook}" for hook in _after(definition, places, packages)),
        *(definition.suite, str(places.archive)),
    ]
    return [*words, str(places.sources)] if sources else words


def with_parents(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Return patterns of paths to keep with the directories above them: dpkg needs both; pure."""
    found: list[str] = []
    for pattern in patterns:
        # What is left out are directories of three levels, such as /usr/share/doc.
        above = [str(path) for path in PurePosixPath(pattern).parents][:-4]
        found += [*reversed(above), pattern]
    return tuple(dict.fromkeys(found))


def _after(definition: ImageDefinition, places: Bootstrap, packages: Path) -> list[str]:
    hooks = [
        'rm -rf "$1/var/cache/apt/archives/partial" "$1/var/cache/apt/archives/lock"',
        f"sync-out /var/cache/apt/archives {shlex.quote(str(packages))}",
        # apt makes them anew when it cleans up, after the labels have been looked up.
        'mkdir "$1/var/cache/apt/archives/partial" && touch "$1/var/cache/apt/archives/lock"',
        # The machine's own must not get into the image.
        'rm -f "$1/etc/resolv.conf" && echo lsmeter > "$1/etc/hostname"',
    ]
    if definition.parts:
        hooks.append(f"tar-in {shlex.quote(str(places.overlay))} /")
    scripts = (*definition.prepare_before, *(definition.prepare,) * bool(definition.prepare))
    hooks += [f'chroot "$1" /bin/sh -eu {shlex.quote(script)}' for script in scripts]
    if definition.labels:
        hooks += [
            f'chroot "$1" /bin/sh -euc {shlex.quote(ext4.LOOKUP)}',
            f"download {ext4.PATHS} {shlex.quote(str(places.paths))}",
            f"download {ext4.CONTEXTS} {shlex.quote(str(places.contexts))}",
        ]
    return hooks


def bootstrap(definition: ImageDefinition, arch: Arch, places: Bootstrap, steps: Steps) -> None:
    """Make the archive of a definition's root file system, and look its labels up."""
    need_to_build(arch)
    packages = make_dir(cache_dir() / "images" / f".packages{arch.suffix}")
    write_atomic(places.overlay, overlay_tar(definition.parts))
    sources = sources_for(definition.suite, apt.machine_sources())
    if sources:
        write_atomic(places.sources, sources.encode())
    root = os.geteuid() == 0
    words = command(definition, places, arch, packages=packages, root=root, sources=bool(sources))
    if arch is not arch_of_host():
        words = [*_BY_QEMU, *words]
    if root and can_mount_apart():
        with _scratch(definition.name) as scratch:
            _run([*_APART, *words], places, steps, scratch)
    else:
        # A user namespace has its own mounts, and may not enter the cache; without the right
        # to mount, nothing is mounted.
        _run(words, places, steps)


@contextmanager
def _scratch(name: str) -> Iterator[Path]:
    """Give a directory for mmdebstrap; remove what killed builds left. Hold the image's lock."""
    ours = cache_dir() / "images" / ".scratch"
    prefix = f"mmdebstrap.{name}-"
    for left in ours.glob(f"{prefix}{'?' * 8}"):  # as mkdtemp names them
        _remove(left)
    base = Path(os.environ.get("TMPDIR") or make_dir(ours))
    with writing(base):
        scratch = Path(tempfile.mkdtemp(prefix=prefix, dir=base.absolute()))
    try:
        scratch.chmod(0o755)  # apt fetches as a user of its own
        yield scratch
    finally:
        _remove(scratch)


def _remove(scratch: Path) -> None:
    process.run(["rm", "-rf", "--one-file-system", "--", str(scratch)])


def _run(words: list[str], places: Bootstrap, steps: Steps, scratch: Path | None = None) -> None:
    shell = ["sh", "-c", _STOP_ALL, str(scratch or "")]
    tied = ["setpriv", "--pdeathsig", "TERM", "--", *shell, *words]
    extra = {"SOURCE_DATE_EPOCH": str(ext4.TIME_S), "DEBIAN_FRONTEND": "noninteractive"}
    extra |= {"TMPDIR": str(scratch)} if scratch else {}
    with (
        places.log.open("w", buffering=1, encoding="utf-8") as log,
        process.started(tied, env=process.environment(extra), grace_s=_STOP_WAIT_S) as child,
    ):
        output = process.output_of(child, _SILENCE_S)
        for line in io.TextIOWrapper(output, errors="replace"):
            log.write(line)
            if step := step_of(line):
                steps.begin(step)
    if child.returncode:
        log_text = places.log.read_text(encoding="utf-8", errors="replace")
        raise failed(log_text, child.returncode)


def step_of(line: str) -> str | None:
    """Return the step that a line of mmdebstrap's output begins; pure."""
    said = line if line.startswith("I: ") else ""
    return next((step for text, step in _STAGES.items() if text in said), None)


def failed(log: str, code: int) -> BuildError:
    """Build the error for a bootstrap that failed: the first reason that the log gives; pure."""
    lines = [line.rstrip() for line in log.splitlines() if line.strip()]
    reasons = [line for line in lines if line.startswith(("E: ", "Err:", "W: Failed to fetch"))]
    own = [line for line in lines if line.startswith("lsmeter: ")]
    # dpkg names the archive, and says what is wrong with it on the line after.
    own += [
        f"{line} {after.strip(' -')}"
        for line, after in pairwise([*lines, ""])
        if line.startswith("dpkg: error")
    ]
    shown = (own or [line for line in reasons if "run_chroot" not in line] or lines[-1:] or [""])[0]
    if reason := apt.no_network(log):
        shown, reasons, lines = reason, [], []
    told = (hint for pattern, hint in _HINTS.items() if re.search(pattern, log))
    return BuildError(
        f"the image cannot be built (mmdebstrap, status {code}): {shown.removeprefix('E: ')}",
        hint=next(told, "the lines above say why; nothing was kept"),
        log_tail=tuple((reasons or lines)[-_TAIL_LINES:]),
    )
