# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel that runs on this machine, as an entry that nobody boots."""

from __future__ import annotations

import gzip
import hashlib
import os
from contextlib import suppress
from pathlib import Path

from lsmeter.core.model import BootProtocol, Kernel
from lsmeter.sources.kernels.tree import parse_config

NAME = "running"
_MOST_BYTES = 4 << 20


def running_kernel(root: Path = Path("/")) -> Kernel:
    """Describe the kernel of this machine: release, build, and options where they can be read."""
    told = os.uname()
    return described(told.release, told.version, _config(root, told.release))


def described(release: str, build: str, config: str) -> Kernel:
    """Describe a kernel that runs somewhere, which is named by all that is known of it."""
    digest = hashlib.sha256("\0".join((release, build, config)).encode()).hexdigest()
    return Kernel(
        name=NAME,
        release=release,
        version="",
        origin=f"running, {build}",
        image=Path(release),
        image_sha256=digest,
        boot_protocol=BootProtocol.RUNNING,
        config=parse_config(config),
    )


def _config(root: Path, release: str) -> str:
    """Return the options that it was built with, "" where they are nowhere to be read."""
    for name in ("proc/config.gz", f"boot/config-{release}", f"lib/modules/{release}/config"):
        with suppress(OSError, EOFError, ValueError):
            opened = gzip.open if name.endswith(".gz") else open
            with opened(root / name, "rb") as file:
                return file.read(_MOST_BYTES).decode("utf-8", "replace")
    return ""
