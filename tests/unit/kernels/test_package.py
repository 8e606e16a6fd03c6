# SPDX-License-Identifier: GPL-2.0-or-later
"""Packages: only what is wanted, and nothing outside; damaged ones are named."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
from pathlib import Path

import pytest

from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.sources.kernels import package, tree
from tests.unit.kernels.synthetic import deb, write_tree


def _packaged(path: Path, data: bytes) -> Path:
    """Make a package of what is in its archive."""
    control = io.BytesIO()
    with tarfile.open(fileobj=control, mode="w") as archive:
        text = b"Package: x\nVersion: 1\nArchitecture: amd64\n"
        member = tarfile.TarInfo("./control")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text))
    content = b"!<arch>\n"
    for name, part in (
        ("debian-binary", b"2.0\n"),
        ("control.tar", control.getvalue()),
        ("data.tar", data),
    ):
        content += f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(part):<10}`\n".encode()
        content += part + b"\n" * (len(part) % 2)
    path.write_bytes(content)
    return path


def hostile_deb(path: Path) -> Path:
    """Make a package whose paths and links try to leave the directory of extraction."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name in ("../up", "/root-file", "./boot/../../aside", "boot/vmlinuz-1"):
            member = tarfile.TarInfo(name)
            member.size = 5
            archive.addfile(member, io.BytesIO(b"bytes"))
        for name, kind in (("boot/config-1", tarfile.SYMTYPE), ("boot/fifo", tarfile.FIFOTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member)
    return _packaged(path, data.getvalue())


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE])
def test_a_name_that_would_fill_the_memory_is_refused(tmp_path: Path, kind: bytes) -> None:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        member = tarfile.TarInfo("long")
        member.type, member.size = kind, (1 << 20) + 1
        archive.addfile(member, io.BytesIO(b"n" * member.size))
    path = _packaged(tmp_path / "long.deb", data.getvalue())
    with pytest.raises(UsageError, match="a header is too long"):
        package.extract(path, tmp_path / "out", tree.is_wanted)


def test_only_wanted_files_are_taken(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "root", "6.1")
    (root / "etc").mkdir()
    (root / "etc/passwd").write_text("x")
    path = deb(root, tmp_path, "linux-image", "6.1-1")
    taken = package.extract(path, tmp_path / "out", tree.is_wanted)
    assert tmp_path / "out/boot/vmlinuz-6.1" in taken
    assert len(taken) == len([p for p in (tmp_path / "out").rglob("*") if p.is_file()]) == 8
    assert not (tmp_path / "out/etc").exists()
    assert package.version_of(path) == "6.1-1"


def test_nothing_leaves_the_directory(tmp_path: Path) -> None:
    path = hostile_deb(tmp_path / "hostile.deb")
    out = tmp_path / "deep/out"
    taken = package.extract(path, out, lambda _: True)
    assert [item.relative_to(out) for item in taken] == [Path("boot/vmlinuz-1")]
    files = {item for item in tmp_path.rglob("*") if not item.is_dir()}
    assert files == {path, out / "boot/vmlinuz-1"}


def test_a_truncated_package_is_named(tmp_path: Path) -> None:
    path = deb(write_tree(tmp_path / "root", "6.1"), tmp_path, "linux-image", "6.1-1")
    for share in (0.3, 0.9):
        cut = tmp_path / "cut.deb"
        cut.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
        with pytest.raises(UsageError, match=r"cut\.deb is not a whole package: \S"):
            package.extract(cut, tmp_path / "out", tree.is_wanted)


def test_a_file_too_large_for_a_kernel_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = deb(write_tree(tmp_path / "root", "6.1"), tmp_path, "linux-image", "6.1-1")
    monkeypatch.setattr(package, "_MOST_FILE_BYTES", 10)
    with pytest.raises(UsageError, match="is too large for a kernel's file"):
        package.extract(path, tmp_path / "out", tree.is_wanted)


def test_no_dpkg_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.deb").write_bytes(b"x")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InfrastructureError, match="dpkg-deb not found"):
        package.extract(tmp_path / "x.deb", tmp_path, tree.is_wanted)


def test_a_child_of_the_unpacker_that_holds_the_pipe_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = deb(write_tree(tmp_path / "root", "6.1"), tmp_path, "linux-image", "6.1-1")
    real = shutil.which("dpkg-deb")
    slow = tmp_path / "bin" / "dpkg-deb"
    slow.parent.mkdir()
    # The flood on its errors would stop a program whose other pipe nobody reads.
    slow.write_text(f'#!/bin/sh\nsleep 600 &\nhead -c 300000 /dev/zero >&2\nexec {real} "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")
    assert len(package.extract(path, tmp_path / "out", tree.is_wanted)) == 8


def test_an_unpacker_that_hangs_has_a_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dpkg-deb").write_text("#!/bin/sh\nsleep 600\n")
    (tmp_path / "dpkg-deb").chmod(0o755)
    (tmp_path / "x.deb").write_bytes(b"x")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(package, "_SILENCE_S", 1.0)
    with pytest.raises(InfrastructureError, match="dpkg-deb did nothing for 1 s"):
        package.extract(tmp_path / "x.deb", tmp_path / "out", tree.is_wanted)
