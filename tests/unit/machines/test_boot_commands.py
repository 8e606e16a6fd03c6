# SPDX-License-Identifier: GPL-2.0-or-later
"""The printed commands, typed into a shell; programs of boot loaders write down what they hear."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.machines.boot_commands import Way, boot_command, impossible, ways, words_for

RELEASE = "6.1.0-1-amd64"
PROGRAMS = ("probe", "mkrelpath", "reboot", "editenv")
STUB = """#!/bin/sh
case "$(basename "$0") $*" in
*-t\\ fs_uuid*) echo 1234-5678 ;;
*-t\\ fs\\ *) echo ${FS:-ext2} ;;
*-t\\ abstraction*) printf "$ABSTRACTION" ;;
*mkrelpath*) echo "/@$1" ;;
"bootctl -x") echo ROOT/boot ;;
*) echo "$(basename "$0") $*" >>ROOT/ran ;;
esac
"""
ENTRY = """\
title      Debian GNU/Linux
version    6.1.0-1-amd64
options    root=/dev/vda ro
linux      /0123/6.1.0-1-amd64/linux
initrd     /0123/6.1.0-1-amd64/microcode
options    quiet
"""
SELINUX = "root=/dev/vda ro quiet lsm=selinux selinux=1 enforcing=0 panic=30"


@dataclass(frozen=True)
class Machine:
    root: Path
    grub: str = "grub"

    def way(self, name: str) -> Way:
        return next(way for way in ways(RELEASE, self.root) if way.name == name)

    def boot(self, way: str, **extra: str) -> int:
        """Type what boots this way under SELinux."""
        words = boot_command(parse_setup("selinux"), self.root)
        return self.type(f"{words}\n{self.way(way).commands}", **extra)

    def type(self, script: str, **extra: str) -> int:
        environment = {"PATH": f"{self.root}/bin:/usr/bin:/bin", **extra}
        here = script.replace("/boot", f"{self.root}/boot").encode()
        return subprocess.run(["/bin/sh"], check=False, input=here, env=environment).returncode

    @property
    def ran(self) -> list[str]:
        """Return the commands that change what is booted, as typed, and forget them."""
        said = self.root / "ran"
        lines = said.read_text().splitlines() if said.exists() else []
        said.unlink(missing_ok=True)
        return [line.replace(str(self.root), "") for line in lines]


@pytest.fixture(params=["grub", "grub2"])
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Machine:
    grub = str(request.param)
    files = {
        "proc/cmdline": "BOOT_IMAGE=/vmlinuz root=/dev/vda ro quiet panic=0",
        f"boot/vmlinuz-{RELEASE}": "",
        f"boot/initrd.img-{RELEASE}": "",
        f"boot/{grub}/grubenv": "",
        "boot/loader/entries/0122.conf": ENTRY.replace("6.1.0-1-amd64", "6.1.0-1-amd645"),
        "boot/loader/entries/0123.conf": ENTRY,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "bin").mkdir()
    for name in (
        *(f"{grub}-{name}" for name in PROGRAMS),
        *("bootctl", "kexec", "reboot", "systemctl"),
    ):
        (tmp_path / "bin" / name).write_text(STUB.replace("ROOT", str(tmp_path)))
        (tmp_path / "bin" / name).chmod(0o755)
    return Machine(tmp_path, grub)


@pytest.mark.parametrize(
    ("setup", "cmdline", "words"),
    [
        ("capability", "ro quiet", "ro quiet lsm=capability panic=30"),
        ("capability", "ro lsm=yama,selinux security=x q", "ro q lsm=capability panic=30"),
        ("yama", "ro", "ro lsm=yama sysctl.kernel.yama.ptrace_scope=1 panic=30"),
        ("distribution", "BOOT_IMAGE=/x ro lsm=yama panic=0", "ro panic=30"),
        ("lockdown", "ro -- -i x", "ro lsm=lockdown lockdown=integrity panic=30 -- -i x"),
        ("distribution", 'a="b  lsm=c" ro', 'a="b  lsm=c" ro panic=30'),
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


def test_grub_boots_an_entry_once(machine: Machine) -> None:
    assert machine.boot("GRUB") == 0
    own = machine.root / "boot" / machine.grub / "custom.cfg"
    words = " ".join(f"'{word}'" for word in SELINUX.split())
    assert own.read_text().replace(str(machine.root), "").splitlines() == [
        "menuentry lsmeter {",
        "search --no-floppy --fs-uuid --set=root 1234-5678",
        f"linux /@/boot/vmlinuz-{RELEASE} {words}",
        f"initrd /@/boot/initrd.img-{RELEASE}",
        "}",
    ]
    assert machine.ran == [f"{machine.grub}-reboot lsmeter", "reboot "]
    assert machine.type(machine.way("GRUB").back) == 0
    assert machine.ran == [f"{machine.grub}-editenv /boot/{machine.grub}/grubenv unset next_entry"]
    assert not own.exists()


@pytest.mark.parametrize("extra", [{"FS": "btrfs"}, {"ABSTRACTION": "lvm"}])
def test_grub_boots_nothing_where_one_boot_would_be_every_boot(
    machine: Machine, extra: dict[str, str]
) -> None:
    assert machine.boot("GRUB", **extra) != 0
    assert (machine.ran, (machine.root / "boot" / machine.grub / "custom.cfg").exists()) == (
        *([], False),
    )


def test_systemd_boot_boots_an_entry_once(machine: Machine) -> None:
    assert machine.boot("systemd-boot") == 0
    own = machine.root / "boot/loader/entries/lsmeter.conf"
    assert own.read_text().splitlines() == [
        *(line for line in ENTRY.splitlines() if line.split()[0] not in {"title", "options"}),
        "title lsmeter",
        f"options {SELINUX}",
    ]
    assert machine.ran == ["bootctl set-oneshot lsmeter.conf", "reboot "]
    assert machine.type(machine.way("systemd-boot").back) == 0
    assert (machine.ran, own.exists()) == (["bootctl set-oneshot "], False)


def test_kexec_starts_what_it_loads(machine: Machine) -> None:
    assert machine.boot("kexec") == 0
    files = f"/boot/vmlinuz-{RELEASE} --initrd=/boot/initrd.img-{RELEASE}"
    assert machine.ran == [f"kexec -l {files} --command-line={SELINUX}", "systemctl kexec"]


@pytest.mark.parametrize("way", ["GRUB", "systemd-boot", "kexec"])
def test_nothing_is_booted_without_words_nor_over_an_entry_of_the_users(
    machine: Machine, way: str
) -> None:
    entries = {
        "GRUB": machine.root / "boot" / machine.grub / "custom.cfg",
        "systemd-boot": machine.root / "boot/loader/entries/lsmeter.conf",
    }
    assert machine.type(machine.way(way).commands) != 0
    if own := entries.get(way):
        assert not own.exists()
        own.write_text("mine")
        assert (machine.boot(way) == 0, own.read_text()) == (False, "mine")
    assert machine.ran == []


def test_an_entry_of_another_kernel_is_not_taken(machine: Machine) -> None:
    (machine.root / "boot/loader/entries/0123.conf").unlink()
    assert machine.boot("systemd-boot") != 0
    assert not (machine.root / "boot/loader/entries/lsmeter.conf").exists()
