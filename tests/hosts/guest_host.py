# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest that stands for a host: Debian's kernel on this machine's own files, by virtiofs.

It sees all of this machine's root, writes into memory, and leaves nothing but what its script puts
into /mnt/said. What modules it runs is said by its command line; policies are those of the image
`policy`, at /mnt/policy. Its times mean nothing: it is emulated.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import lsmeter
from lsmeter.guest.initramfs import archive, base
from lsmeter.sources.kernels.resolve import Request, resolve
from tests.conftest import DEADLINE_S

VIRTIOFSD = Path("/usr/lib/qemu/virtiofsd")
KERNEL = "debian:6.12"
_MODULES = ("overlay", "virtio_blk")
_DEADLINE_S = 3600
_MIB = 2048
_INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /host /rw /new
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc p /proc && mount -t sysfs s /sys && mount -t devtmpfs d /dev
for name in {modules}; do insmod /modules/$name.ko; done
mount -t virtiofs host /host && mount -t tmpfs rw /rw && mkdir /rw/up /rw/work
mount -t overlay -o lowerdir=/host,upperdir=/rw/up,workdir=/rw/work,xino=off over /new
mkdir -p /new/mnt/policy /new/mnt/said
while [ ! -e /dev/vda ]; do sleep 0.1; done
mount -t ext4 -o ro /dev/vda /new/mnt/policy
mount --bind /host{said} /new/mnt/said && mount -o remount,bind,ro /host
for name in proc sys dev; do mount --move /$name /new/$name; done
mkdir -p /new/dev/shm && mount -t tmpfs shm /new/dev/shm
mount -t tmpfs run /new/run
mount -t securityfs s /new/sys/kernel/security
mount -t cgroup2 c /new/sys/fs/cgroup
exec switch_root /new /bin/sh /mnt/said/script
"""
_SCRIPT = """\
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb
export PYTHONPATH={paths} PYTHONDONTWRITEBYTECODE=1 NO_COLOR=1 COLUMNS=100
export LSMETER_DATA=/run/data LSMETER_CACHE=/run/cache TMPDIR=/run/tmp
exec >/mnt/said/out 2>&1
mkdir /run/tmp && cd /run
lsmeter='{python} -m lsmeter'
measure="$lsmeter run --instrument timed --machine here --boots 1 --samples 10 -b stat"
# As long as the command that was started last goes on.
wait_for() {{ while kill -0 $! && ! eval "$1"; do sleep 0.02; done; }}
{script}
sync
echo o >/proc/sysrq-trigger
sleep 60
"""


@dataclass(frozen=True)
class GuestHost:
    """Boots such guests, each with a folder of its own."""

    image: Path
    folder: Path

    def run(self, script: str, *words: str) -> str:
        """Run a shell's script as root of a guest that was booted with these words.

        Return what it printed; what it puts into /mnt/said is in `said`.
        """
        self.said.mkdir()
        source = Path(lsmeter.__file__).parent.parent
        paths = ":".join(map(str, (source, *filter(None, sys.path))))
        text = _SCRIPT.format(paths=shlex.quote(paths), python=sys.executable, script=script)
        (self.said / "script").write_text(text)
        with self._files() as socket:
            subprocess.run(self._words(socket, words), check=True, timeout=_DEADLINE_S)
        out = self.said / "out"
        console = (self.folder / "console").read_text(errors="replace")
        assert out.is_file(), console[-3000:]
        return out.read_text(errors="replace")

    @property
    def said(self) -> Path:
        """Where the script's output is, with what the script put beside it."""
        return self.folder / "said"

    @contextmanager
    def _files(self) -> Iterator[Path]:
        """Serve this machine's files."""
        socket = self.folder / "socket"
        words = [str(VIRTIOFSD), f"--socket-path={socket}"]
        words += ["-o", "source=/", "-o", "sandbox=chroot", "-o", "cache=always"]
        with (
            (self.folder / "virtiofsd").open("wb") as log,
            subprocess.Popen(words, stderr=log) as served,
        ):
            try:
                end = time.monotonic() + DEADLINE_S
                # It is bound before it listens.
                while "Waiting for vhost-user" not in (self.folder / "virtiofsd").read_text():
                    assert time.monotonic() < end, "virtiofsd does not start"
                    time.sleep(0.1)
                yield socket
            finally:
                served.kill()

    def _words(self, socket: Path, words: tuple[str, ...]) -> list[str]:
        kernel = resolve(KERNEL, Request(modules=_MODULES))
        names = [module.name for module in kernel.modules]
        init = _INIT.format(modules=" ".join(names), said=shlex.quote(str(self.said)))
        files = {f"modules/{item.name}.ko": item.file.read_bytes() for item in kernel.modules}
        files["bin/busybox"] = self._busybox()
        initrd = self.folder / "initrd"
        initrd.write_bytes(base(init.encode()) + archive(files))
        return [
            *("qemu-system-x86_64", "-machine", "pc,accel=tcg", "-cpu", "max", "-smp", "2"),
            *("-m", str(_MIB), "-nodefaults", "-no-reboot", "-display", "none"),
            *("-object", f"memory-backend-memfd,id=m,size={_MIB}M,share=on"),
            *("-numa", "node,memdev=m", "-serial", f"file:{self.folder / 'console'}"),
            *("-chardev", f"socket,id=c,path={socket}"),
            *("-device", "vhost-user-fs-pci,chardev=c,tag=host"),
            *("-drive", f"file={self.image},if=none,id=d,format=raw,readonly=on"),
            *("-device", "virtio-blk-pci,drive=d"),
            *("-kernel", str(kernel.image), "-initrd", str(initrd)),
            *("-append", " ".join(("console=ttyS0 mitigations=off", *words))),
        ]

    def _busybox(self) -> bytes:
        target = self.folder / "busybox"
        asked = f"dump /usr/bin/busybox {target}"
        subprocess.run(["debugfs", "-R", asked, str(self.image)], check=True, capture_output=True)
        return target.read_bytes()
