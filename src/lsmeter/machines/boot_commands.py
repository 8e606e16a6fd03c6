# SPDX-License-Identifier: GPL-2.0-or-later
"""How a person boots this machine once for a setup: commands in words; none is run from here."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from lsmeter.core.model import Setup
from lsmeter.machines.journal import value_of

# A kernel that panics is followed by the boot of before.
_PANIC = "panic=30"
# A word may hold blanks between double quotes, as the kernel reads it.
_WORD = re.compile(r'(?:[^\s"]|"[^"]*"?)+')
# Words of the boot that a setup replaces, and those that a boot loader adds anew.
_REPLACED = re.compile(r"(?:lsm|security|selinux|apparmor|panic|BOOT_IMAGE|initrd)=.*")
_INITRDS = ("initrd.img-{}", "initramfs-{}.img", "initrd-{}")

# GRUB reads its root anew, and has quotes of its own. A grubenv that it cannot write would make one
# boot every boot.
_GRUB = """\
(cd /boot/{grub} && test "$*" && test ! -e custom.cfg && fs=$({grub}-probe -t fs .) &&
case $fs$({grub}-probe -t abstraction .) in ext2|fat|xfs) ;; *) false ;; esac &&
{{ echo "menuentry lsmeter {{"
echo "search --no-floppy --fs-uuid --set=root $({grub}-probe -t fs_uuid {image})"
echo "linux $({grub}-mkrelpath {image})$(printf " '%s'" "$@" | tr -d '"')"
{initrd}echo "}}"; }} >custom.cfg && {grub}-reboot lsmeter && reboot)"""
_GRUB_INITRD = 'echo "initrd $({grub}-mkrelpath {initrd})"\n'
_GRUB_BACK = """\
rm /boot/{grub}/custom.cfg
{grub}-editenv /boot/{grub}/grubenv unset next_entry"""
_LOADER = """\
(cd "$(bootctl -x)/loader/entries" && test "$*" && test ! -e lsmeter.conf &&
entry=$(grep -lwF -e {release} *.conf | head -n 1) && test "$entry" &&
{{ grep -vwE '^(title|options)' "$entry"; echo "title lsmeter"
echo "options $*"; }} >lsmeter.conf && bootctl set-oneshot lsmeter.conf && reboot)"""
_LOADER_BACK = """\
rm "$(bootctl -x)/loader/entries/lsmeter.conf"
bootctl set-oneshot ''"""
_KEXEC = 'test "$*" && kexec -l {image} {initrd}--command-line="$*" && systemctl kexec'


@dataclass(frozen=True)
class Way:
    """Commands of root's shell that boot once with the words in "$@", and what puts that back."""

    name: str
    commands: str
    back: str
    note: str = ""


def words_for(setup: Setup, cmdline: str) -> tuple[str, ...]:
    """Return the words of a boot under `setup`: those of today's, with its own in their place."""
    own = [*setup.cmdline, _PANIC]
    if setup.lsms:
        modules = [name for name in setup.lsms if name != "capability"]
        own.insert(0, "lsm=" + (",".join(modules) if modules else "capability"))
    keys = {word.partition("=")[0] for word in own}
    today = _WORD.findall(cmdline)
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


def boot_command(setup: Setup, root: Path) -> str:
    """Return the command that sets "$@" to the words of a boot under `setup`."""
    return f"set -- {shlex.join(words_for(setup, value_of(root / 'proc/cmdline')))}"


def ways(release: str, root: Path) -> tuple[Way, ...]:
    """Return each way to boot a kernel once; its files are where distributions put them."""
    images = (f"boot/vmlinuz-{release}", f"lib/modules/{release}/vmlinuz")
    image = next((name for name in images if (root / name).is_file()), images[0])
    names = [f"boot/{name.format(release)}" for name in _INITRDS]
    initrd = next((f"/{name}" for name in names if (root / name).is_file()), "")
    grub = "grub2" if (root / "boot/grub2").is_dir() else "grub"
    words = {"grub": grub, "image": shlex.quote(f"/{image}"), "release": shlex.quote(release)}
    of_grub = _GRUB_INITRD.format(grub=grub, initrd=shlex.quote(initrd)) if initrd else ""
    of_kexec = f"--initrd={shlex.quote(initrd)} " if initrd else ""
    return (
        Way(
            "GRUB",
            _GRUB.format(**words, initrd=of_grub),
            _GRUB_BACK.format(**words),
            "They stop where GRUB could not write grubenv (LVM, RAID, Btrfs), as one boot would "
            "become every boot, and where there is a custom.cfg. By hand: e in GRUB's menu.",
        ),
        Way("systemd-boot", _LOADER.format(**words), _LOADER_BACK),
        Way("kexec", _KEXEC.format(**words, initrd=of_kexec), "kexec -u"),
    )
