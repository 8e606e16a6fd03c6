# SPDX-License-Identifier: GPL-2.0-or-later
"""How guests are started: word for word as ever, and what a description can say besides."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.catalogue.workloads import load_workload
from lsmeter.core.errors import InfrastructureError
from lsmeter.core.model import BootProtocol, Conditions, Image, Setup, Task
from lsmeter.machines import qemu
from lsmeter.machines.description import (
    Description,
    Network,
    Plugin,
    counted_guest,
    guest_of,
    kernel_cmdline,
    qemu_command,
)
from lsmeter.machines.emulation import MACHINE
from lsmeter.machines.qemu import command_here
from lsmeter.measure.tasks.serve import serving
from tests.unit.model_builders import cell

COMMANDS = Path(__file__).parents[2] / "data/machines/commands.txt"
BASE = cell(parse_setup("capability"))
PVH = replace(BASE, kernel=replace(BASE.kernel, image=Path("KERNEL")))
BZIMAGE = replace(PVH, kernel=replace(PVH.kernel, boot_protocol=BootProtocol.BZIMAGE))
IMAGE = Image("policy", Path("/images/a,b/policy.ext4"), "0" * 64)
PLUGIN = Plugin("PLUGIN")
COMMAS = {"console": "/a,b/c", "results": "/a,b/r", "initrd": "/a,b/i"}


def under(**conditions: str | int | bool) -> Description:
    return guest_of(replace(PVH, conditions=Conditions(**conditions)))  # type: ignore[arg-type]


def of(setup: str) -> Description:
    return guest_of(replace(PVH, setup=parse_setup(setup)))


GUESTS = {
    "pvh": guest_of(PVH),
    "bzimage": guest_of(BZIMAGE),
    "pvh-image": guest_of(replace(PVH, image=IMAGE)),
    "bzimage-image": guest_of(replace(BZIMAGE, image=IMAGE)),
    "stack": of("selinux+bpf"),
    **{name: of(name) for name in ("dac", "distribution", "audit", "ima")},
    "forced": under(mitigations="forced", init_on_alloc=True),
    "auto": under(mitigations="auto", tick="periodic"),
    "other": under(slabs="single", icount_shift=4, cpu="max", memory_mib=512),
    "seed": guest_of(PVH, 42),
    "attributed": replace(guest_of(PVH), plugin=PLUGIN),
    "attributed-bzimage-image": replace(guest_of(replace(BZIMAGE, image=IMAGE), 7), plugin=PLUGIN),
    "commas": replace(guest_of(PVH), **COMMAS),  # type: ignore[arg-type]
    "symbols": replace(guest_of(PVH, 1), bulk=True),
    "start": counted_guest(PVH.kernel, Setup("", "", None), Conditions()),
}


def commands() -> dict[str, tuple[str, ...]]:
    lines = (line.partition(": ") for line in COMMANDS.read_text().splitlines())
    return {name: tuple(shlex.split(words)) for name, _, words in lines}


def test_every_recorded_command_is_compared() -> None:
    assert GUESTS.keys() == commands().keys()


@pytest.mark.parametrize("name", GUESTS)
def test_guests_are_started_word_for_word_as_ever(name: str) -> None:
    """Another word may be another number; what was measured was measured with these."""
    assert qemu_command(GUESTS[name]) == commands()[name]


def test_the_identity_of_the_machine_is_that_of_what_was_measured() -> None:
    assert qemu_command(MACHINE.plain_guest()) == commands()["start"]


@pytest.mark.parametrize(
    ("version", "board"),
    [
        ("7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)", "microvm,x-option-roms=off,rtc=on"),
        ("8.2.2 (Debian 1:8.2.2+ds-0ubuntu1)", "microvm,rtc=on,pic=off"),
        ("10.0.13 (Debian 1:10.0.13+ds-0+deb13u1)", "microvm,rtc=on,pic=off"),
    ],
)
def test_a_qemu_whose_small_firmware_starts_no_kernel_gets_the_other(
    monkeypatch: pytest.MonkeyPatch, version: str, board: str
) -> None:
    monkeypatch.setattr(qemu, "qemu_version", lambda _arch: version)
    program, option, found, *others = command_here(guest_of(PVH))
    assert found == board
    first, second, _, *rest = qemu_command(guest_of(PVH))
    assert (program, option, others) == (first, second, rest)


def test_guests_with_a_link_wait_for_each_other(tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(bytes(1 << 20))
    workload = replace(load_workload("web").workload, client="guest")
    found = replace(
        PVH,
        image=Image("servers", image, "0" * 64),
        task=Task("workload", workload=workload),
    )
    ends = [guest_of(cell).networks[0].end for cell in (found, serving(found))]
    assert ends == [0, 1]
    assert "shift=3,sleep=on" in qemu_command(guest_of(found))
    alone = replace(found, task=Task("workload", workload=replace(workload, client="namespace")))
    assert "shift=3,sleep=off" in qemu_command(guest_of(alone))
    assert not guest_of(alone).networks


def test_what_is_shown_is_what_is_run() -> None:
    assert MACHINE.command(PVH) == commands()["pvh"]
    attributed = replace(PVH, task=Task("attribute"))
    assert MACHINE.command(attributed) == commands()["attributed"]


def test_a_guest_that_restarts_ends_at_once() -> None:
    """Without a way to reset, 7.2 ran the firmware in place and hung there."""
    assert "reboot=t" in kernel_cmdline(parse_setup("capability"), Conditions()).split()
    assert "-no-reboot" in qemu_command(guest_of(PVH))


@pytest.mark.parametrize(
    ("release", "config", "off"),
    [
        ("6.16.12+deb13-cloud-amd64", {}, False),
        ("6.17.13+deb13-cloud-amd64", {}, True),
        ("7.1.13+deb13-cloud-amd64", {}, True),
        ("7.1.13", {"DAMON": "y"}, False),
        ("6.16.12", {"DAMON_STAT_ENABLED_DEFAULT": "y"}, True),
        ("", {}, False),
    ],
)
def test_a_kernel_that_watches_its_memory_is_told_not_to(
    release: str, config: dict[str, str], *, off: bool
) -> None:
    cell = replace(PVH, kernel=replace(PVH.kernel, release=release, config=config))
    assert ("damon_stat.enabled=N" in guest_of(cell).cmdline.split()) is off
    assert (cell.hash != replace(PVH, kernel=replace(cell.kernel, config={"HZ": "1"})).hash) is off


@pytest.mark.parametrize("driver", ["y", "m"])
@pytest.mark.parametrize(
    ("filesystem", "populous", "own_kib", "mib"),
    [
        ("tmpfs", False, "4096", 0),
        ("ext4", False, "65536", 0),
        ("ext4", False, "4096", 64),
        ("ext4", False, "", 64),
        ("ext4", True, "65536", 320),
        ("xfs", False, "65536", 320),
        ("xfs", False, "0x50000", 320),
    ],
)
def test_a_driver_in_the_kernel_is_told_how_large_a_larger_disk_is(
    driver: str, filesystem: str, own_kib: str, mib: int, *, populous: bool
) -> None:
    config = {"BLK_DEV_RAM": driver, "BLK_DEV_RAM_SIZE": own_kib}
    kernel = replace(PVH.kernel, config=config)
    cell = replace(PVH, kernel=kernel, filesystem=filesystem, populous=populous)
    said = [word for word in guest_of(cell).cmdline.split() if word.startswith("brd.")]
    assert said == ([f"brd.rd_size={mib << 10}"] if mib and driver == "y" else [])


def test_a_kernel_that_runs_already_is_told_nothing() -> None:
    config = {"DAMON_STAT_ENABLED_DEFAULT": "y"}
    kernel = replace(PVH.kernel, config=config, boot_protocol=BootProtocol.RUNNING)
    assert kernel.parameters == ()


def test_two_guests_share_a_link() -> None:
    ends = [replace(guest_of(PVH), networks=(Network("/run/cable", end),)) for end in (0, 1)]
    one, other = (" ".join(qemu_command(guest)) for guest in ends)
    assert "local.path=/run/cable.0,remote.type=unix,remote.path=/run/cable.1" in one
    assert "local.path=/run/cable.1,remote.type=unix,remote.path=/run/cable.0" in other
    assert len({guest.networks[0].mac for guest in ends}) == 2


def test_real_time_other_accelerators_and_disks() -> None:
    guest = Description(
        arch=GUESTS["pvh"].arch,
        boot_protocol=BootProtocol.BZIMAGE,
        kernel="K",
        cmdline="",
        accelerator="kvm",
        disks=("a", "b"),
    )
    words = qemu_command(guest)
    assert "-icount" not in words
    assert {"kvm", "virtio-blk-pci,drive=disk1", guest.arch.cpu} <= set(words)
    with pytest.raises(ValueError, match="not counted with the accelerator kvm"):
        qemu_command(replace(guest, icount_shift=4))


def test_a_plugin_has_arguments_and_outputs() -> None:
    plugin = Plugin("/p.so", (("syms", "/s"),), (("attribution", "out"),), "/o")
    words = qemu_command(replace(guest_of(PVH), plugin=plugin))
    assert words[-1] == "/p.so,syms=/s,out=/o/attribution"
    comma = replace(plugin, folder="/o,x")
    with pytest.raises(InfrastructureError, match="comma: /o,x"):
        qemu_command(replace(guest_of(PVH), plugin=comma))
