# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

import subprocess
from pathlib import Path

from lsmeter.guest.initramfs import archive, base


def test_cpio_reads_it(tmp_path: Path) -> None:
    data = archive({"request": b"version=1\n", "/modules/a/x.ko": b"elf", "fs.img": b"image"})
    listing = subprocess.run(["cpio", "-i", "--quiet"], input=data, cwd=tmp_path, check=True)
    assert listing.returncode == 0
    found = {
        str(p.relative_to(tmp_path)): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()
    }
    assert found == {"request": b"version=1\n", "modules/a/x.ko": b"elf", "fs.img": b"image"}


def test_base_has_init_and_console() -> None:
    listing = subprocess.run(
        ["cpio", "-tv", "--quiet"], input=base(b"probe"), capture_output=True, check=True
    ).stdout.decode()
    modes = {line.split()[-1]: line.split()[0] for line in listing.splitlines()}
    assert modes == {"dev": "drwxr-xr-x", "dev/console": "crw-------", "init": "-rwxr-xr-x"}
    assert "5,   1" in listing


def test_the_same_files_give_the_same_bytes() -> None:
    assert base(b"probe") == base(b"probe")
    assert len(base(b"pro")) % 4 == 0
