# SPDX-License-Identifier: GPL-2.0-or-later
"""What this machine has to be booted with for a setup, and entries that boot it so once.

Entries are written only when that is asked for, one at a time, and each way takes it back again
after the boot or when nothing is to be left.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lsmeter.base import process
from lsmeter.base.errors import InfrastructureError, UsageError
from lsmeter.base.storage import write_atomic
from lsmeter.machines.journal import value_of
from lsmeter.model import Setup

_MARK = "# written by lsmeter, for one boot\n"
_TITLE = "lsmeter"
_GRUBS = ("grub", "grub2")  # Debian's name for it, and the others'
_MENU, _OWN, _ENVIRONMENT = "grub.cfg", "custom.cfg", "grubenv"
_LOADER = "boot/loader/entries/lsmeter.conf"
# Words of the boot that a setup replaces, and those that a boot loader adds anew.
_REPLACED = re.compile(r"(?:lsm|security|selinux|apparmor|BOOT_IMAGE|initrd)=.*")
_DEADLINE_S = 60


@dataclass(frozen=True)
class Booted:
    """What is to be booted: files of the running kernel, and all words of its command line."""

    release: str
    image: str
    initrd: str  # "" for none
    words: tuple[str, ...]


def words_for(setup: Setup, cmdline: str) -> tuple[str, ...]:
    """Return the words of a boot under `setup`: those of today's, with its own in their place."""
    own = list(setup.cmdline)
    if setup.lsms:
        modules = [name for name in setup.lsms if name != "capability"]
        own.insert(0, "lsm=" + (",".join(modules) if modules else "capability"))
    keys = {word.partition("=")[0] for word in own}
    today = cmdline.split()
    # What stands behind "--" is for init.
    end = today.index("--") if "--" in today else len(today)
    kept = (
        word
        for word in today[:end]
        if not _REPLACED.fullmatch(word) and word.partition("=")[0] not in keys
    )
    return (*kept, *own, *today[end:])


def impossible(setup: Setup) -> str:
    """Say why words of the boot alone do not bring a setup about; "" where they do."""
    if setup.lsms == ():
        return "it needs another kernel, built without CONFIG_SECURITY"
    if setup.image or setup.files or setup.steps or setup.guest:
        return "it has a policy or a program of its own, which lsmeter brings into guests only"
    return ""


def booted(setup: Setup, release: str, root: Path) -> Booted:
    """Return what to boot for a setup; the image is looked for where distributions put it."""
    words = words_for(setup, value_of(root / "proc/cmdline"))
    image = _first(root, f"boot/vmlinuz-{release}", f"lib/modules/{release}/vmlinuz")
    initrd = _first(
        root,
        f"boot/initrd.img-{release}",
        f"boot/initramfs-{release}.img",
        f"boot/initrd-{release}",
    )
    return Booted(release, image, initrd, words)


def _first(root: Path, *names: str) -> str:
    return next((f"/{name}" for name in names if (root / name).is_file()), "")


def write_entry(way: str, found: Booted, root: Path) -> str:
    """Have the next boot, and only that, be this one; return what boots it.

    UsageError for a way that this machine does not have.
    """
    if way not in WAYS:
        raise UsageError(f"--write: unknown way '{way[:40]}'", hint=f"known: {', '.join(WAYS)}")
    return WAYS[way](found, root)


def _kexec(found: Booted, root: Path) -> str:  # noqa: ARG001
    if not found.image:
        raise InfrastructureError(
            f"the image of {found.release} is not in /boot", hint="boot it by hand"
        )
    initrd = [f"--initrd={found.initrd}"] if found.initrd else []
    _run(["kexec", "-l", found.image, *initrd, f"--command-line={' '.join(found.words)}"])
    return "systemctl kexec (kexec -u unloads it)"


def _systemd_boot(found: Booted, root: Path) -> str:
    entries = (root / _LOADER).parent
    if not entries.is_dir():
        raise UsageError("--write systemd-boot: there is no /boot/loader/entries")
    texts = [value_of(path) for path in sorted(entries.glob("*.conf")) if not _ours(path)]
    text = loader_entry(texts, found)
    with _written(root / _LOADER, text):
        _run(["bootctl", "set-oneshot", Path(_LOADER).name])
    return "systemctl reboot"


def loader_entry(entries: Iterable[str], found: Booted) -> str:
    """Return an entry like that of the running kernel among the loader's, with other words."""
    for text in entries:
        lines = [line.split(None, 1) for line in text.splitlines()]
        said = {line[0]: line[1] for line in lines if len(line) == 2}
        if said.get("version") != found.release and found.release not in said.get("linux", ""):
            continue
        # A kernel may have several initrds, one on each line.
        files = [f"{line[0]} {line[1]}\n" for line in lines if line[:1] in (["linux"], ["initrd"])]
        return f"{_MARK}title {_TITLE}\n{''.join(files)}options {' '.join(found.words)}\n"
    raise UsageError(f"--write systemd-boot: /boot/loader/entries has none for {found.release}")


def _grub(found: Booted, root: Path) -> str:
    home = _grub_home(root)
    name = f"/boot/{home.name}"
    own = home / _OWN
    if own.exists() and not _ours(own):
        raise UsageError(f"--write grub: {name}/{_OWN} is there already, and is not lsmeter's")
    try:
        menu = (home / _MENU).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"--write grub: cannot read {name}/{_MENU}: {error.strerror}") from error
    for word, what in ((_OWN, "reads no"), ("next_entry", "knows no entry for one boot, no")):
        if word not in menu:
            raise UsageError(
                f"--write grub: {name}/{_MENU} {what} {word}",
                hint="make it again by grub-mkconfig, or boot by hand",
            )
    with _written(own, grub_entry(menu, found)):
        _run([f"{home.name}-reboot", f"--boot-directory={root / 'boot'}", _TITLE])
    return "systemctl reboot"


def _grub_home(root: Path) -> Path:
    homes = [root / "boot" / name for name in _GRUBS]
    return next((home for home in homes if (home / _MENU).is_file()), homes[0])


@contextmanager
def _written(path: Path, text: str) -> Iterator[None]:
    """Write an entry, which stays only where the boot loader is told of it in the block."""
    write_atomic(path, text.encode())
    try:
        yield
    except InfrastructureError:
        path.unlink(missing_ok=True)
        raise


def grub_entry(menu: str, found: Booted) -> str:
    """Return an entry like that of the running kernel in GRUB's menu, with other words."""
    name = f"vmlinuz-{found.release}"
    for block in re.findall(r"^[ \t]*menuentry [^\n]*\{\n(.*?)^[ \t]*\}", menu, re.M | re.S):
        line = re.search(rf"^([ \t]*linux\w*[ \t]+\S*{re.escape(name)})[ \t]*.*$", block, re.M)
        if line is None:
            continue
        # The root device is named by GRUB's own words for it, which today's boot has as well.
        words = " ".join(map(_quoted, found.words))
        body = block.replace(line[0], f"{line[1]} {words}", 1)
        return f"{_MARK}menuentry '{_TITLE}' {{\n{body}}}\n"
    raise UsageError(f"--write grub: {_MENU} has no entry for {name}")


def _quoted(word: str) -> str:
    return word if re.fullmatch(r"[\w@%+=:,./-]+", word) else shlex.quote(word)


def remove_entries(root: Path) -> list[str]:
    """Remove the entries that lsmeter wrote, and what makes them the next boot; name both."""
    gone = []
    loader, home = root / _LOADER, _grub_home(root)
    for path in (loader, *(root / "boot" / name / _OWN for name in _GRUBS)):
        if path.is_file() and _ours(path):
            path.unlink()
            gone.append(f"/{path.relative_to(root)}")
            if path == loader:
                _run(["bootctl", "set-oneshot", ""])
    environment = home / _ENVIRONMENT
    if f"next_entry={_TITLE}" in value_of(environment).splitlines():
        _run([f"{home.name}-editenv", str(environment), "unset", "next_entry"])
        gone.append(f"next_entry of /{environment.relative_to(root)}")
    return gone


def _ours(path: Path) -> bool:
    return value_of(path).startswith(_MARK.strip())


def _run(words: list[str]) -> None:
    found = process.find(words[0])
    if found is None:
        raise InfrastructureError(
            f"{words[0]} is not installed", hint="install it, or boot by hand"
        )
    done = process.run([found, *words[1:]], deadline_s=_DEADLINE_S)
    if done.returncode:
        said = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise InfrastructureError(f"{words[0]} failed: {said[0][:200]}")


WAYS: Mapping[str, Callable[[Booted, Path], str]] = {
    "grub": _grub,
    "systemd-boot": _systemd_boot,
    "kexec": _kexec,
}
