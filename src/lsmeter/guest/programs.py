# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the programs that some setups run in the guest, and that were compiled at installation."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from lsmeter.errors import BuildError

HOME = Path(__file__).parent.parent / "_bin"

# Every program, with the packages (of Debian) that compiling it takes.
PACKAGES = {"lsmeter-bpf": "clang libbpf-dev libelf-dev zlib1g-dev"}


@dataclass(frozen=True)
class Program:
    """A static binary for the guest."""

    path: Path
    sha256: str


def find_program(name: str) -> Program:
    """Return the program of this name (of PACKAGES); BuildError where it was not compiled."""
    path = HOME / name
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BuildError(
            f"no {name}: lsmeter was installed on a machine without {PACKAGES[name]}",
            hint=f"apt-get install {PACKAGES[name]}, then install lsmeter again: pip install .",
        ) from error
    return Program(path, hashlib.sha256(data).hexdigest())
