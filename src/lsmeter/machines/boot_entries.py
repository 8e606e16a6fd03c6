# SPDX-License-Identifier: GPL-2.0-or-later
"""What this machine has to be booted with for a setup, and entries that boot it so once.

Entries are written only when that is asked for, one at a time, and each way takes it back again
after the boot or when nothing is to be left.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lsmeter.base import process
from lsmeter.base.errors import InfrastructureError, UsageError
from lsmeter.base.storage import write_atomic
from lsmeter.machines.journal import value_of
from lsmeter.model import Setup

_MARK = "# written by lsmeter, for one boot\n"
_TITLE = "lsmeter"
_GRUB, _GRUB_OWN = "boot/grub/grub.cfg", "boot/grub/custom.cfg"
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
    initrd = _first(root, f"boot/initrd.img-{release}", f"boot/initramfs-{release}.img")
    return Booted(release, image, initrd, words)


def _first(root: Path, *names: str) -> str:
    return next((f"/{name}" for name in names if (root / name).is_file()), "")


def write_entry(way: str, found: Booted, root: Path) -> str:
    """Have the next boot, and only that, be this one; return what boots it.

    UsageError for a way that this machine does not have.
    """
    if way not in WAYS:
        raise UsageError(f"--write: unknown way '{way[:40]}'", hint=f"known: {', '.join(WAYS)}")
    if not found.image:
        raise InfrastructureError(
            f"the image of {found.release} is not in /boot", hint="boot it by hand"
        )
    return WAYS[way](found, root)


def _kexec(found: Booted, root: Path) -> str:  # noqa: ARG001
    initrd = [f"--initrd={found.initrd}"] if found.initrd else []
    _run(["kexec", "-l", found.image, *initrd, f"--command-line={' '.join(found.words)}"])
    return "systemctl kexec"


def _systemd_boot(found: Booted, root: Path) -> str:
    if not (root / _LOADER).parent.is_dir():
        raise UsageError("--write systemd-boot: there is no /boot/loader/entries")
    initrd = f"initrd {found.initrd.removeprefix('/boot')}\n" if found.initrd else ""
    text = (
        f"{_MARK}title {_TITLE}\nlinux {found.image.removeprefix('/boot')}\n{initrd}"
        f"options {' '.join(found.words)}\n"
    )
    write_atomic(root / _LOADER, text.encode())
    _run(["bootctl", "set-oneshot", Path(_LOADER).name])
    return "systemctl reboot"


def _grub(found: Booted, root: Path) -> str:
    own = root / _GRUB_OWN
    if own.exists() and not _ours(own):
        raise UsageError(f"--write grub: /{_GRUB_OWN} is there already, and is not lsmeter's")
    try:
        menu = (root / _GRUB).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"--write grub: cannot read /{_GRUB}: {error.strerror}") from error
    write_atomic(own, grub_entry(menu, found).encode())
    _run(["grub-reboot", _TITLE])
    return "systemctl reboot"


def grub_entry(menu: str, found: Booted) -> str:
    """Return an entry like that of the running kernel in GRUB's menu, with other words."""
    name = Path(found.image).name
    for block in re.findall(r"^[ \t]*menuentry [^\n]*\{\n(.*?)^[ \t]*\}", menu, re.M | re.S):
        line = re.search(rf"^([ \t]*linux\w*[ \t]+\S*{re.escape(name)})[ \t]*.*$", block, re.M)
        if line is None:
            continue
        # The root device is named by GRUB's own words for it, which today's boot has as well.
        words = " ".join(map(_quoted, found.words))
        body = block.replace(line[0], f"{line[1]} {words}", 1)
        return f"{_MARK}menuentry '{_TITLE}' {{\n{body}}}\n"
    raise UsageError(f"--write grub: /{_GRUB} has no entry for {name}")


def _quoted(word: str) -> str:
    return word if re.fullmatch(r"[\w@%+=:,./-]+", word) else shlex.quote(word)


def remove_entries(root: Path) -> list[str]:
    """Remove the entries that lsmeter wrote; return their paths."""
    gone = []
    for name in (_LOADER, _GRUB_OWN):
        path = root / name
        if path.is_file() and _ours(path):
            path.unlink()
            gone.append(f"/{name}")
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
