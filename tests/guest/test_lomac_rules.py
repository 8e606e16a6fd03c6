# SPDX-License-Identifier: GPL-2.0-or-later
"""Every rule of the LOMAC example, tried in a real guest, with and without its programs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lsmeter.guest.initramfs import archive, base, file
from lsmeter.guest.programs import find_program
from lsmeter.model import Conditions, Kernel, Setup
from lsmeter.qemu.command import Channels, GuestStart, exact_arguments, kernel_cmdline

pytestmark = pytest.mark.guest

SOURCE = Path(__file__).with_name("lomac_rules.c")
SETUP = Setup(name="lomac", title="rules", lsms=("bpf",))
Rule = tuple[str, str]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    target = tmp_path_factory.mktemp("rules") / "init"
    flags = ("-O1", "-static", "-pthread", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror")
    subprocess.run(["cc", *flags, str(SOURCE), "-o", str(target)], check=True)
    return target.read_bytes()


def rules(kernel: Kernel, program: bytes, place: Path, word: str) -> dict[str, Rule]:
    """Boot a guest that tries every rule; return what each had to give, and gave."""
    loader = find_program("lsmeter-bpf").path.read_bytes()
    (place / "initrd").write_bytes(base(program) + archive((file("lsmeter-bpf", loader, 0o755),)))
    start = GuestStart(
        boot_protocol=kernel.boot_protocol,
        image=str(kernel.image),
        cmdline=f"{kernel_cmdline(SETUP, Conditions())} {word}",
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


def test_rules_hold(debian_kernel: Kernel, program: bytes, tmp_path: Path) -> None:
    found = rules(debian_kernel, program, tmp_path, "lomac=1")
    assert len(found) > 80
    assert {name: rule for name, rule in found.items() if rule[0] != rule[1]} == {}
    denied = {name for name, (wanted, _) in found.items() if wanted == "EACCES"}
    assert {"low-writes-high", "fork-inherits", "low-rename-high", "low-truncate-high"} <= denied
    assert {"high-writes-high", "fresh-process-is-high", "low-writes-low"}.isdisjoint(denied)


def test_without_the_programs_nothing_is_denied(
    debian_kernel: Kernel, program: bytes, tmp_path: Path
) -> None:
    """Shows that it is not file modes, or a broken test, that denies."""
    found = rules(debian_kernel, program, tmp_path, "")
    assert len(found) > 80
    assert {got for _, got in found.values()} == {"0"}
