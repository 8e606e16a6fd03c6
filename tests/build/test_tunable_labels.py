# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tunable module promises of its labels, tried in a guest with a kernel that has it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lsmeter.guest.initramfs import base
from lsmeter.kernels.build.builder import build_kernel
from lsmeter.model import Conditions, Kernel, Setup
from lsmeter.qemu.command import Channels, GuestStart, exact_arguments, kernel_cmdline

pytestmark = pytest.mark.build

SOURCE = "debian-source:6.1"
# The name is of the tests' own: kernels of the user's stay as they are.
NAME = "test-tiny-tunable"
PROGRAM = Path(__file__).with_name("tunable_labels.c")
Promise = tuple[str, str]


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return build_kernel(SOURCE, ["tiny", "tunable"], name=NAME)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    target = tmp_path_factory.mktemp("labels") / "init"
    flags = ("-O1", "-static", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror")
    subprocess.run(["cc", *flags, str(PROGRAM), "-o", str(target)], check=True)
    return target.read_bytes()


def promises(kernel: Kernel, program: bytes, place: Path, *lsms: str) -> dict[str, Promise]:
    """Boot a guest that tries every promise; return what each had to give, and gave."""
    (place / "initrd").write_bytes(base(program))
    start = GuestStart(
        boot_protocol=kernel.boot_protocol,
        image=str(kernel.image),
        cmdline=kernel_cmdline(Setup(name="labels", title="labels", lsms=lsms), Conditions()),
        conditions=Conditions(),
        seed=1,
    )
    channels = Channels(
        console=str(place / "console"),
        results=str(place / "results"),
        initrd=str(place / "initrd"),
    )
    subprocess.run(exact_arguments(start, channels), check=True, timeout=120)
    lines = [line.split() for line in (place / "results").read_text().splitlines()]
    assert lines, (place / "console").read_text()[-2000:]
    assert lines.pop() == ["end", "0", "0"]
    assert len({line[0] for line in lines}) == len(lines)
    return {name: (wanted, got) for name, wanted, got in lines}


def test_labels_are_set_read_and_inherited(kernel: Kernel, program: bytes, tmp_path: Path) -> None:
    found = promises(kernel, program, tmp_path, "capability", "tunable")
    assert {name: both for name, both in found.items() if both[0] != both[1]} == {}
    inherited = {name for name in found if "-by-" in name}
    assert len(inherited) == 9
    assert {"set-unknown", "remove", "user-sets", "delay-beyond-limit"} <= found.keys()


def test_without_the_module_no_promise_is_kept_by_chance(
    kernel: Kernel, program: bytes, tmp_path: Path
) -> None:
    """Shows that the test can fail: there is no label then, but for one that was set by hand."""
    found = promises(kernel, program, tmp_path, "capability")
    assert found["new-file"] == ("ignored", "ENODATA")
    assert found["create-by-trusted"] == ("trusted", "ENODATA")
    assert found["set-unknown"] == ("EINVAL", "0")
    assert found["remove"] == ("EACCES", "0")
    assert found["creation-is-counted"] == ("1", "0")
