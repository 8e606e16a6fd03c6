# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots guests whose first program is a test's own: it tries things, and says what each gave."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

from lsmeter.core.model import Conditions, Kernel, Setup
from lsmeter.core.model.arch import ARCHES
from lsmeter.guest.initramfs import base
from lsmeter.machines.description import Plugin, counted_guest, kernel_cmdline, qemu_command
from tests.conftest import DEADLINE_S

FLAGS = ("-O1", "-static", "-pthread", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror")


def compiled(source: Path, folder: Path, compiler: str = "cc") -> bytes:
    target = folder / "init"
    subprocess.run([compiler, *FLAGS, str(source), "-o", str(target)], check=True)
    return target.read_bytes()


def said(
    kernel: Kernel, cmdline: str, place: Path, *, plugin: Plugin | None = None
) -> list[list[str]]:
    """Boot what `place` has as its initrd; return each line's words, without `end 0 0` at last."""
    setup = Setup(name="said", title="said", lsms=None)
    guest = replace(
        counted_guest(kernel, setup, Conditions(cpu=ARCHES[kernel.arch].cpu), seed=1),
        cmdline=cmdline,
        console=str(place / "console"),
        results=str(place / "results"),
        initrd=str(place / "initrd"),
        plugin=plugin,
    )
    subprocess.run(qemu_command(guest), check=True, timeout=DEADLINE_S)
    lines = [line.split() for line in (place / "results").read_text().splitlines()]
    assert lines, (place / "console").read_text()[-2000:]
    assert lines.pop() == ["end", "0", "0"]
    return lines


def tried(
    kernel: Kernel,
    program: bytes,
    place: Path,
    *lsms: str,
    more_files: bytes = b"",
    more_words: str = "",
) -> dict[str, tuple[str, str]]:
    """Boot a guest with these modules; return by name what each try had to give, and gave.

    The program says NAME WANTED GOT for each, every name once, and `end 0 0` at last.

    more_files: an archive of what the guest has beside the program.
    more_words: what the kernel's command line ends with.
    """
    (place / "initrd").write_bytes(base(program) + more_files)
    setup = Setup(name="tried", title="tried", lsms=lsms)
    lines = said(kernel, f"{kernel_cmdline(setup, Conditions())} {more_words}", place)
    assert len({line[0] for line in lines}) == len(lines)
    return {name: (wanted, got) for name, wanted, got in lines}
