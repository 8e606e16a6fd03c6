# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels from files: by path, from a package file, of a host; and unknown names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.core.model import BootProtocol
from lsmeter.core.storage import locked
from lsmeter.sources.kernels.entry import UNUSED_S
from lsmeter.sources.kernels.resolve import Request, listings, resolve
from lsmeter.sources.kernels.sources.host import HostSource
from tests.conftest import DEADLINE_S
from tests.unit.kernels.synthetic import bzimage, deb, elf, write_tree


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path / "cache"))


class TestPath:
    def test_an_image_with_its_files_beside(self, tmp_path: Path) -> None:
        write_tree(tmp_path, "6.1.0-9")
        spec = str(tmp_path / "boot/vmlinuz-6.1.0-9")
        kernel = resolve(spec)
        assert (kernel.name, kernel.release) == (spec, "6.1.0-9")
        assert kernel.config["LSM"] == "yama,bpf"
        assert [module.name for module in kernel.modules] == ["brd", "libcrc32c", "xfs"]
        assert kernel.boot_protocol is BootProtocol.PVH
        assert kernel.image.is_relative_to(tmp_path / "cache")
        assert resolve(spec) == kernel

    def test_what_nobody_used_for_long_is_removed(self, tmp_path: Path) -> None:
        kernels = []
        for number in range(5):
            image = tmp_path / f"bzImage-{number}"
            image.write_bytes(bzimage(elf() + b"%d" % number))
            kernels.append(resolve(str(image)))
        old, used, held, fresh, other = (kernel.image.parent for kernel in kernels)
        kept = other.rename(other.parent / "debian-6.1-6.1.192-2")
        for home in (old, used, held, kept):
            os.utime(home, (0, time.time() - UNUSED_S - 60))
        os.utime(fresh, (0, time.time() - UNUSED_S + 3600))
        resolve(str(tmp_path / "bzImage-1"))
        assert old.exists(), "nothing new was stored"
        (tmp_path / "new").write_bytes(bzimage(elf() + b"new"))
        with locked(held.name):
            new = resolve(str(tmp_path / "new")).image.parent
        left = {path.name for path in new.parent.iterdir()}
        assert left == {path.name for path in (used, held, fresh, kept, new)}
        assert resolve(str(tmp_path / "bzImage-0")) == kernels[0]

    def test_a_build_tree(self, tmp_path: Path) -> None:
        image = tmp_path / "linux/arch/x86/boot/bzImage"
        image.parent.mkdir(parents=True)
        image.write_bytes(bzimage(elf()))
        (tmp_path / "linux/.config").write_text("CONFIG_HZ=1000\n")
        (tmp_path / "linux/System.map").write_text("ffffffff81000000 T _text\n" * 500)
        kernel = resolve(str(image))
        assert kernel.config == {"HZ": "1000"}
        assert kernel.system_map is not None

    def test_a_changed_image_is_another_kernel(self, tmp_path: Path) -> None:
        image = tmp_path / "bzImage"
        image.write_bytes(bzimage(elf()))
        before = resolve(str(image))
        image.write_bytes(bzimage(elf() + b"changed"))
        assert resolve(str(image)).image_sha256 != before.image_sha256

    def test_an_image_without_pvh_is_used_where_it_is(self, tmp_path: Path) -> None:
        image = tmp_path / "bzImage"
        image.write_bytes(bzimage(elf(pvh=False)))
        kernel = resolve(str(image))
        assert (kernel.boot_protocol, kernel.image) == (BootProtocol.BZIMAGE, image)

    def test_a_package_file(self, tmp_path: Path) -> None:
        path = deb(write_tree(tmp_path / "r", "6.1"), tmp_path, "linux-image-x", "6.1.2-3")
        kernel = resolve(str(path), Request(("9pnet",)))
        assert (kernel.release, kernel.version) == ("6.1", "6.1.2-3")
        assert [module.name for module in kernel.modules] == ["9pnet"]
        left = sorted(item.name for item in kernel.image.parent.iterdir())
        assert left == ["config", "kernel.json", "modules", "vmlinux"]

    def test_a_module_asked_for_later_is_added(self, tmp_path: Path) -> None:
        path = deb(write_tree(tmp_path / "r", "6.1"), tmp_path, "linux-image-x", "6.1.2-3")
        assert [m.name for m in resolve(str(path), Request(("brd",))).modules] == ["brd"]
        later = resolve(str(path), Request(("9pnet", "brd")))
        assert [m.name for m in later.modules] == ["9pnet", "brd"]

    def test_a_package_without_a_kernel(self, tmp_path: Path) -> None:
        (tmp_path / "r/usr").mkdir(parents=True)
        path = deb(tmp_path / "r", tmp_path, "linux-base", "1")
        with pytest.raises(UsageError, match=r"linux-base_1_amd64\.deb has no kernel image"):
            resolve(str(path))
        assert not list((tmp_path / "cache/kernels").glob("[!.]*"))

    def test_damage_in_the_cache_is_repaired(self, tmp_path: Path) -> None:
        image = tmp_path / "bzImage"
        image.write_bytes(bzimage(elf()))
        kernel = resolve(str(image))
        for damage in (b"", b"{}", b'{"format": 2}', b"\xff"):
            (kernel.image.parent / "kernel.json").write_bytes(damage)
            assert resolve(str(image)) == kernel
        kernel.image.write_bytes(b"short")
        assert resolve(str(image)) == kernel
        assert kernel.image.read_bytes() == elf()

    @pytest.mark.parametrize("name", ["vmlinux", "config", "System.map", "modules/brd.ko"])
    def test_a_flipped_bit_in_the_cache_is_no_kernel(self, tmp_path: Path, name: str) -> None:
        write_tree(tmp_path, "6.1.0-9")
        spec = str(tmp_path / "boot/vmlinuz-6.1.0-9")
        (tmp_path / "boot/System.map-6.1.0-9").write_text("ffffffff81000000 T _text\n" * 500)
        kernel = resolve(spec)
        path = kernel.image.parent / name
        status, content = path.stat(), path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 4]))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        for _ in range(2):
            with pytest.raises(InfrastructureError, match=f"{name} is damaged") as caught:
                resolve(spec)
            assert f"rm -r {kernel.image.parent};" in caught.value.hint
        shutil.rmtree(kernel.image.parent)
        assert resolve(spec) == kernel

    @pytest.mark.parametrize("name", ["film.mp4", "boot/vmlinuz-9", "x.deb"])
    def test_a_large_file_that_is_no_kernel_is_not_read(self, tmp_path: Path, name: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        with path.open("wb") as file:
            file.truncate(5 << 40)  # it would take an hour
        with pytest.raises(UsageError, match="is not a kernel that lsmeter can boot"):
            resolve(str(path))

    def test_what_is_too_large_for_a_kernel_is_not_read(self, tmp_path: Path) -> None:
        with (tmp_path / "vmlinux").open("wb") as file:
            file.write(elf())
            file.truncate(5 << 40)
        with pytest.raises(UsageError, match="larger than 4 GiB"):
            resolve(str(tmp_path / "vmlinux"))

    def test_a_damaged_elf_inside_is_told_by_the_name_of_the_image(self, tmp_path: Path) -> None:
        (tmp_path / "bzImage").write_bytes(bzimage(elf()[:100]))
        with pytest.raises(UsageError, match=f"{tmp_path}/bzImage is not a kernel"):
            resolve(str(tmp_path / "bzImage"))

    def test_a_disk_that_takes_no_more(self, tmp_path: Path) -> None:
        image = tmp_path / "bzImage"
        image.write_bytes(bzimage(elf() + bytes(4 << 20)))
        # A limit on the size of files fails a write as a full disk does, without being root.
        program = (
            "import resource, sys\n"
            "from lsmeter.core.errors import InfrastructureError\n"
            "from lsmeter.sources.kernels.resolve import resolve\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n"
            "try:\n"
            "    resolve(sys.argv[1])\n"
            "except InfrastructureError as error:\n"
            "    print(error.title)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, str(image)],
            capture_output=True,
            text=True,
            check=True,
            timeout=DEADLINE_S,
        )
        assert re.fullmatch(r"cannot write .*/vmlinux: File too large\n", done.stdout)
        assert not list((tmp_path / "cache/kernels").iterdir())

    @pytest.mark.parametrize(
        ("spec", "what"), [("./nonesuch", "does not exist"), ("/", "is a directory")]
    )
    def test_no_file(self, spec: str, what: str) -> None:
        with pytest.raises(UsageError, match=f"kernel {spec} {what}"):
            resolve(spec)


class TestHost:
    def test_the_running_kernel(self, tmp_path: Path) -> None:
        source = HostSource(write_tree(tmp_path, "6.1.0-9"), "6.1.0-9")
        kernel = source.resolve("host", Request())
        assert (kernel.name, kernel.release) == ("host", "6.1.0-9")
        assert [module.name for module in kernel.modules] == ["brd", "libcrc32c", "xfs"]

    def test_no_image(self, tmp_path: Path) -> None:
        with pytest.raises(InfrastructureError, match=r"kernel 6\.1 has no image in") as caught:
            HostSource(tmp_path, "6.1").resolve("host", Request())
        assert "container" in caught.value.hint

    def test_an_unreadable_image(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        source = HostSource(write_tree(tmp_path, "6.1"), "6.1")
        # Root reads everything, so the answer of the system call is all that can be replaced.
        monkeypatch.setattr("lsmeter.sources.kernels.sources.host.os.access", lambda *_: False)
        with pytest.raises(InfrastructureError, match="readable only by root") as caught:
            source.resolve("host", Request())
        assert "sudo install" in caught.value.hint

    def test_nothing_follows_the_name(self) -> None:
        with pytest.raises(UsageError, match="takes nothing after the name; did you mean host"):
            resolve("host:6.1")


def test_an_unknown_name_has_its_nearest() -> None:
    with pytest.raises(UsageError, match=r"unknown kernel 'debian6\.1'; did you mean debian:6\.1"):
        resolve("debian6.1")


def test_listings_need_no_network() -> None:
    names = [listing.name for listing in listings()]
    assert {"debian:6.1", "debian:6.12", "debian:7.2", "host", "PATH"} <= set(names)
    assert not any(listing.cached for listing in listings())
