# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

from pathlib import Path

import pytest

from lsmeter.base import process
from lsmeter.base.errors import InfrastructureError, UsageError
from lsmeter.machines import boot_entries
from lsmeter.machines.boot_entries import (
    booted,
    impossible,
    remove_entries,
    words_for,
    write_entry,
)
from lsmeter.setups import parse_setup

MENU = """\
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
fi
set timeout=5
menuentry 'Debian GNU/Linux' --class debian $menuentry_id_option 'gnulinux-simple' {
\tinsmod ext2
\tsearch --no-floppy --fs-uuid --set=root 1234-5678
\techo 'Loading Linux 6.1.0-1 ...'
\tlinux /boot/vmlinuz-6.1.0-1 root=UUID=1234-5678 ro quiet
\tinitrd /boot/initrd.img-6.1.0-1
}
submenu 'Advanced options' {
\tmenuentry 'Debian, with Linux 6.1.0-2' {
\t\tlinux /boot/vmlinuz-6.1.0-2 root=UUID=1234-5678 ro quiet
\t}
}
source ${config_directory}/custom.cfg
"""
ENTRY = """\
title      Debian GNU/Linux
version    6.1.0-1
machine-id 0123
options    root=/dev/vda ro
linux      /0123/6.1.0-1/linux
initrd     /0123/6.1.0-1/microcode
initrd     /0123/6.1.0-1/initrd.img-6.1.0-1
"""


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return the commands that would have been run."""
    found: list[list[str]] = []

    def run(words: list[str]) -> None:
        found.append(words)

    monkeypatch.setattr(boot_entries, "_run", run)
    return found


def machine(root: Path, cmdline: str = "BOOT_IMAGE=/vmlinuz root=/dev/vda ro quiet") -> Path:
    files = {
        "proc/cmdline": cmdline,
        "boot/vmlinuz-6.1.0-1": "",
        "boot/vmlinuz-6.1.0-2": "",
        "boot/initrd.img-6.1.0-1": "",
        "boot/grub/grub.cfg": MENU,
        "boot/loader/entries/0122-6.1.0.conf": ENTRY.replace("6.1.0-1", "6.1.0"),
        "boot/loader/entries/0123-6.1.0-1.conf": ENTRY,
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize(
    ("setup", "cmdline", "words"),
    [
        ("capability", "ro quiet", "ro quiet lsm=capability"),
        ("capability", "ro lsm=yama,selinux security=x quiet", "ro quiet lsm=capability"),
        ("yama", "ro quiet", "ro quiet lsm=yama sysctl.kernel.yama.ptrace_scope=1"),
        ("distribution", "BOOT_IMAGE=/x ro lsm=yama", "ro"),
        (
            "lockdown",
            "ro lockdown=none -- --init x",
            "ro lsm=lockdown lockdown=integrity -- --init x",
        ),
    ],
)
def test_words_of_the_setup_stand_in_the_place_of_todays(
    setup: str, cmdline: str, words: str
) -> None:
    assert " ".join(words_for(parse_setup(setup), cmdline)) == words


def test_what_no_boot_brings_about_is_said() -> None:
    assert not impossible(parse_setup("selinux"))
    assert "CONFIG_SECURITY" in impossible(parse_setup("dac"))
    assert "policy" in impossible(parse_setup("selinux-enforcing"))


def test_grubs_entry_is_that_of_the_running_kernel_with_other_words(
    tmp_path: Path, ran: list[list[str]]
) -> None:
    root = machine(tmp_path)
    found = booted(parse_setup("selinux"), "6.1.0-2", root)
    assert write_entry("grub", found, root) == "systemctl reboot"
    text = (root / "boot/grub/custom.cfg").read_text()
    assert "linux /boot/vmlinuz-6.1.0-2 root=/dev/vda ro quiet lsm=selinux" in text
    assert "6.1.0-1" not in text
    assert text.count("menuentry") == text.count("}") == 1
    assert ran == [["grub-reboot", f"--boot-directory={root}/boot", "lsmeter"]]
    # Written again it is the same one, and it goes.
    write_entry("grub", found, root)
    environment = root / "boot/grub/grubenv"
    environment.write_text("# GRUB Environment Block\nnext_entry=lsmeter\n####")
    assert remove_entries(root) == ["/boot/grub/custom.cfg", "next_entry of /boot/grub/grubenv"]
    assert ran[2:] == [["grub-editenv", str(environment), "unset", "next_entry"]]
    environment.write_text("# GRUB Environment Block\nnext_entry=lsmeter-2\n####")
    assert remove_entries(root) == []


def test_other_distributions_call_it_grub2(tmp_path: Path, ran: list[list[str]]) -> None:
    root = machine(tmp_path)
    (root / "boot/grub").rename(root / "boot/grub2")
    write_entry("grub", booted(parse_setup("selinux"), "6.1.0-2", root), root)
    assert ran == [["grub2-reboot", f"--boot-directory={root}/boot", "lsmeter"]]
    assert remove_entries(root) == ["/boot/grub2/custom.cfg"]


@pytest.mark.parametrize("word", ["custom.cfg", "next_entry"])
def test_a_menu_that_would_not_boot_the_entry_is_refused(
    tmp_path: Path, ran: list[list[str]], word: str
) -> None:
    root = machine(tmp_path)
    menu = root / "boot/grub/grub.cfg"
    menu.write_text(menu.read_text().replace(word, "other"))
    with pytest.raises(UsageError, match=word):
        write_entry("grub", booted(parse_setup("selinux"), "6.1.0-2", root), root)
    assert (ran, (root / "boot/grub/custom.cfg").exists()) == ([], False)


@pytest.mark.parametrize("way", ["grub", "systemd-boot"])
def test_an_entry_that_the_boot_loader_was_not_told_of_does_not_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    root = machine(tmp_path)

    def fails(_words: list[str]) -> None:
        raise InfrastructureError("Not booted with UEFI")

    monkeypatch.setattr(boot_entries, "_run", fails)
    before = sorted((root / "boot").rglob("*"))
    with pytest.raises(InfrastructureError):
        write_entry(way, booted(parse_setup("selinux"), "6.1.0-1", root), root)
    assert sorted((root / "boot").rglob("*")) == before


def test_an_entry_of_the_users_own_is_neither_overwritten_nor_removed(
    tmp_path: Path, ran: list[list[str]]
) -> None:
    root = machine(tmp_path)
    own = root / "boot/grub/custom.cfg"
    own.write_text("menuentry 'mine' {\n}\n")
    with pytest.raises(UsageError, match="is not lsmeter's"):
        write_entry("grub", booted(parse_setup("selinux"), "6.1.0-2", root), root)
    assert remove_entries(root) == []
    assert (own.read_text(), ran) == ("menuentry 'mine' {\n}\n", [])


def test_the_loaders_entry_is_for_one_boot(tmp_path: Path, ran: list[list[str]]) -> None:
    root = machine(tmp_path)
    write_entry("systemd-boot", booted(parse_setup("selinux"), "6.1.0-1", root), root)
    lines = (root / "boot/loader/entries/lsmeter.conf").read_text().splitlines()
    assert lines[1:5] == [
        "title lsmeter",
        "linux /0123/6.1.0-1/linux",
        "initrd /0123/6.1.0-1/microcode",
        "initrd /0123/6.1.0-1/initrd.img-6.1.0-1",
    ]
    assert lines[5].startswith("options root=/dev/vda ro quiet lsm=selinux")
    assert ran == [["bootctl", "set-oneshot", "lsmeter.conf"]]
    assert remove_entries(root) == ["/boot/loader/entries/lsmeter.conf"]
    assert ran[1:] == [["bootctl", "set-oneshot", ""]]
    with pytest.raises(UsageError, match=r"has none for 6\.1\.0-2"):
        write_entry("systemd-boot", booted(parse_setup("selinux"), "6.1.0-2", root), root)


def test_kexec_loads_and_does_not_start(tmp_path: Path, ran: list[list[str]]) -> None:
    root = machine(tmp_path)
    found = booted(parse_setup("capability"), "6.1.0-1", root)
    assert write_entry("kexec", found, root) == "systemctl kexec (kexec -u unloads it)"
    assert ran == [
        [
            *("kexec", "-l", "/boot/vmlinuz-6.1.0-1", "--initrd=/boot/initrd.img-6.1.0-1"),
            "--command-line=root=/dev/vda ro quiet lsm=capability",
        ]
    ]


def test_what_this_machine_lacks_is_named(
    tmp_path: Path, ran: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = machine(tmp_path)
    setup = parse_setup("selinux")
    with pytest.raises(UsageError, match="unknown way"):
        write_entry("lilo", booted(setup, "6.1.0-1", root), root)
    with pytest.raises(InfrastructureError, match="not in /boot"):
        write_entry("kexec", booted(setup, "6.9", root), root)
    (root / "boot/grub/grub.cfg").write_text("set timeout=5 # next_entry custom.cfg\n")
    with pytest.raises(UsageError, match="no entry"):
        write_entry("grub", booted(setup, "6.1.0-1", root), root)
    monkeypatch.undo()
    monkeypatch.setattr(process, "find", lambda _name: None)
    with pytest.raises(InfrastructureError, match="kexec is not installed"):
        write_entry("kexec", booted(setup, "6.1.0-1", root), root)
    assert ran == []
