# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels of two architectures: named, told apart, and never compared as numbers of one."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.cli.arches import check_arches
from lsmeter.core.errors import BuildError, InfrastructureError, UsageError
from lsmeter.core.model import BootProtocol, Conditions, Image, Kernel, KernelModule
from lsmeter.core.model.arch import (
    ARM64,
    X86_64,
    arch_of,
    arch_of_host,
    find_arch,
    with_arch,
)
from lsmeter.guest import probe
from lsmeter.guest.boot_image import make_request
from lsmeter.machines import find_machine, identity_for
from lsmeter.machines.description import guest_of, in_real_time, qemu_command
from lsmeter.machines.qemu import qemu_version
from lsmeter.measure.experiment.options import Experiment, build_experiment
from lsmeter.measure.experiment.plan import Plan, make_plan
from lsmeter.measure.results.directory import read_run
from lsmeter.questions.cells.frame import conditions_of
from lsmeter.questions.cells.verify import refuse_arches
from lsmeter.sources.kernels import vmlinux
from tests.unit.model_builders import benchmark, cell, kernel

EXAMPLE = Path(__file__).parents[3] / "examples/main.lsmeter"
# As it was before kernels had an architecture: what is stored is found by it.
X86_HASH = "27f41b241809c0cd"
COMMAND = (
    "qemu-system-aarch64 -M virt,gic-version=3 -rtc base=2024-01-01T00:00:00,clock=vm "
    "-accel tcg,thread=single -icount shift=3,sleep=off -seed 0 "
    "-cpu neoverse-n1,cntfrq=1000000000 -m 256 -nodefaults -no-user-config -no-reboot "
    "-display none -chardev file,id=console,path=CONSOLE -serial chardev:console "
    "-chardev file,id=results,path=RESULTS -device pci-serial,chardev=results "
    "-kernel Image -initrd INITRD -append"
)


def arm64_kernel(name: str = "debian:6.1:arm64") -> Kernel:
    protocol = BootProtocol.IMAGE
    return replace(kernel(name), boot_protocol=protocol, image=Path("Image"), arch="arm64")


def asked(**keys: object) -> Experiment:
    return build_experiment({"setups": ["selinux"], **keys}, where="a test")


def planned(experiment: Experiment, of: Kernel) -> Plan:
    images = {"policy": Image("policy", Path("IMAGE"), "0")}
    programs = {"lsmeter-bpf": "0"}
    return make_plan(experiment, [of], [benchmark("open")], {}, ["tmpfs"], images, programs)


def test_a_kernel_is_named_with_its_architecture() -> None:
    assert with_arch("debian:6.1", ARM64) == "debian:6.1:arm64"
    assert with_arch("debian:6.1", X86_64) == "debian:6.1"
    assert with_arch("./Image", ARM64) == "./Image"
    assert [arch_of(name) for name in ("debian:6.1:arm64", "debian:6.1", "built:a")] == [
        *(ARM64, X86_64, X86_64)
    ]
    assert find_arch("aarch64", where="") is ARM64
    with pytest.raises(UsageError, match="unknown architecture 'arm46'; did you mean arm64"):
        find_arch("arm46", where="--arch")


def test_each_kernel_is_measured_on_each_architecture() -> None:
    both = asked(kernels=["debian:6.1", "./Image"], arches=["arm64", "amd64"])
    assert both.kernels == ["debian:6.1:arm64", "debian:6.1", "./Image"]
    assert both.arches == ["arm64", "x86_64"]
    again = asked(**both.model_dump(include={"kernels", "arches"}))
    assert again.kernels == both.kernels


def test_results_of_x86_64_keep_their_hash_and_those_of_arm64_have_another() -> None:
    found = cell(parse_setup("selinux"))
    assert found.hash == X86_HASH
    assert replace(found, kernel=replace(found.kernel, arch="arm64")).hash != X86_HASH


def test_a_guest_of_arm64_is_started_word_for_word() -> None:
    (first, *_) = planned(asked(), arm64_kernel()).cells
    command = qemu_command(guest_of(first))
    assert " ".join(command[:-1]) == COMMAND
    words = command[-1].split()
    assert words[0] == "console=ttyAMA0"
    assert "reboot=t" not in words and "tsc=reliable" not in words


def test_the_processor_is_that_of_the_architecture_unless_one_is_named() -> None:
    named = asked(conditions={"cpu": "max"})
    assert {item.conditions.cpu for item in planned(named, arm64_kernel()).cells} == {"max"}
    assert {item.conditions.cpu for item in planned(asked(), kernel()).cells} == {X86_64.cpu}


def test_a_report_names_the_processors_that_were_measured_on() -> None:
    manifest = read_run(EXAMPLE).manifest
    (cell, *rest) = manifest.cells
    assert conditions_of(manifest)["cpu"] == X86_64.cpu
    arm = replace(cell, conditions=Conditions(cpu=ARM64.cpu))
    assert conditions_of(replace(manifest, cells=(arm,)))["cpu"] == ARM64.cpu
    both = conditions_of(replace(manifest, cells=(*rest, arm)))["cpu"]
    assert both == f"{X86_64.cpu} or {ARM64.cpu}"


def test_conditions_that_only_the_other_has_are_refused() -> None:
    with pytest.raises(UsageError, match=r"debian:6\.1:arm64 has no 'retpoline'"):
        planned(asked(conditions={"mitigations": "retpoline"}), arm64_kernel())


def test_a_kernel_without_direct_calls_is_named_before_it_boots() -> None:
    config = {"SECURITY": "y", "BPF_LSM": "y", "DEBUG_INFO_BTF": "y", "DYNAMIC_FTRACE": "y"}
    plan = planned(asked(setups=["lomac"]), replace(arm64_kernel(), config=config))
    (problem,) = (item for item in plan.problems if item.setup == "lomac")
    assert problem.title.endswith("built without CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS")


def test_a_kernel_without_a_disk_is_named_before_an_image_boots() -> None:
    config = {"SECURITY": "y", "SECURITY_SELINUX": "y", "SECURITY_SELINUX_DEVELOP": "y"}
    config |= {"AUDIT": "y", "VIRTIO_BLK": "m", "VIRTIO_MMIO": "m"}
    lacking = replace(arm64_kernel(), config=config)
    plan = planned(asked(setups=["selinux", "selinux-enforcing"]), lacking)
    (problem,) = (item for item in plan.problems if item.setup == "selinux-enforcing")
    assert problem.title.endswith("built without CONFIG_VIRTIO_PCI")
    assert {item.setup.name for item in plan.cells} == {"capability", "selinux"}


def test_a_guest_with_an_image_loads_the_drivers_of_its_board() -> None:
    names = ("virtio_mmio", "virtio_pci", "virtio_blk")
    modules = tuple(KernelModule(name, Path(name), "0") for name in names)
    found = {}
    for of in (kernel(), arm64_kernel()):
        plan = planned(asked(setups=["selinux-enforcing"]), replace(of, config={}, modules=modules))
        (made,) = (item for item in plan.cells if item.setup.name == "selinux-enforcing")
        found[of.arch] = [path for path, _ in make_request(made, 0).modules]
    assert found == {
        "x86_64": ["/modules/virtio_mmio.ko", "/modules/virtio_blk.ko"],
        "arm64": ["/modules/virtio_pci.ko", "/modules/virtio_blk.ko"],
    }


def test_guests_in_real_time_start_from_an_image_that_the_board_has() -> None:
    (first, *_) = planned(asked(), arm64_kernel()).cells
    command = " ".join(qemu_command(in_real_time(guest_of(first), "kvm", ARM64.host_cpu)))
    assert "-M virt,gic-version=3 " in command and "-accel kvm -cpu host " in command.replace(
        "-seed 0 ", ""
    )


def test_programs_of_guests_are_those_of_their_architecture() -> None:
    assert probe.find_program("lsmeter-bpf", X86_64).path.name == "lsmeter-bpf"
    assert probe.packages_for("lsmeter-bpf", arch_of_host()).startswith("clang libbpf-dev ")
    (other,) = (of for of in (X86_64, ARM64) if of is not arch_of_host())
    assert f"libbpf-dev:{other.debian}" in probe.packages_for("lsmeter-bpf", other)


def test_what_no_plugin_sees_there_is_refused_before_it_boots() -> None:
    known = {"debian:6.1:arm64": arm64_kernel()}
    for task in ("attribute", "events", "exec"):
        check_arches([asked(task=task, arches=["arm64"])], known)


def test_a_policy_for_a_command_needs_a_disk_in_memory() -> None:
    needs = ("SECURITY", *parse_setup("selinux-enforcing").needs_config)
    needs += ARM64.disk_in_memory.disk_needs
    able = replace(arm64_kernel(), config=dict.fromkeys(needs, "y"))
    asks = asked(task="exec", setups=["selinux-enforcing"])
    assert planned(asks, able).problems == ()
    lacks = replace(able, config={**able.config, "OF_PMEM": "n"})
    (problem, *_) = planned(asks, lacks).problems
    assert "was built without CONFIG_OF_PMEM" in str(problem)


def test_a_file_of_another_architecture_than_asked_for_is_refused() -> None:
    wrong = asked(kernels=["./vmlinux"], arches=["arm64"])
    with pytest.raises(UsageError, match=r"the kernel \./vmlinux is of x86_64"):
        check_arches([wrong], {"./vmlinux": kernel("./vmlinux")})


def test_real_time_has_no_guests_of_another_architecture() -> None:
    with pytest.raises(UsageError, match="--machine tcg has no guests of arm64"):
        identity_for(find_machine("tcg"), ARM64)


def test_runs_of_two_architectures_are_not_compared() -> None:
    one = read_run(EXAMPLE)
    refuse_arches(one, one)
    arms = tuple(replace(item, arch="arm64") for item in one.manifest.kernels)
    other = replace(one, manifest=replace(one.manifest, kernels=arms))
    with pytest.raises(UsageError, match="one run is of x86_64, the other of arm64"):
        refuse_arches(one, other)


def test_without_its_qemu_or_probe_the_package_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    qemu_version.cache_clear()
    with pytest.raises(InfrastructureError, match="qemu-system-aarch64 is not") as caught:
        qemu_version(ARM64)
    assert "apt-get install qemu-system-arm" in caught.value.hint
    qemu_version.cache_clear()
    monkeypatch.setattr(probe, "SHIPPED", tmp_path)
    with pytest.raises(BuildError, match="no probe for arm64") as missing:
        probe.find_probe(ARM64)
    assert "apt-get install gcc-aarch64-linux-gnu" in missing.value.hint


def image(pages: int, banner: bytes = b"Linux version 6.1.0-arm64 (a)") -> bytes:
    head = bytearray(0x400)
    struct.pack_into("<QQ", head, 0x10, 1 << 20, pages << 1)
    head[0x38:0x3C] = b"ARM\x64"
    return bytes(head) + banner


def test_an_image_of_arm64_tells_its_architecture(tmp_path: Path) -> None:
    path = tmp_path / "Image"
    path.write_bytes(image(1))
    found = vmlinux.prepare(path, tmp_path / "elf")
    assert (found.arch, found.boot_protocol, found.release) == (
        *(ARM64, BootProtocol.IMAGE, "6.1.0-arm64"),
    )


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (image(2), "an arm64 Image with pages of 16 KiB; guests have 4 KiB"),
        (image(3), "an arm64 Image with pages of 64 KiB; guests have 4 KiB"),
        (image(1, b""), "a truncated or packed arm64 Image"),
        (image(1)[:0x10] + b"\xff" * 8 + image(1)[0x18:], "an arm64 Image that says it needs"),
    ],
)
def test_images_that_no_guest_boots(tmp_path: Path, data: bytes, what: str) -> None:
    path = tmp_path / "Image"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=what):
        vmlinux.prepare(path, tmp_path / "elf")
