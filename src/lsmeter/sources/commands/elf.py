# SPDX-License-Identifier: GPL-2.0-or-later
"""What an ELF file needs to run, read from its headers: nothing of it is run."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO

from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.segments import InterpSegment

from lsmeter.core.model.arch import Arch
from lsmeter.sources.kernels.vmlinux import elf_damage

MAGIC = b"\x7fELF"
_MOST_NEEDED = 1000


@dataclass(frozen=True)
class Needs:
    """The loader that an ELF file names ("" for none), its libraries, and where to look first."""

    loader: str
    libraries: tuple[str, ...]
    first: tuple[str, ...]


class ForeignElfError(Exception):
    """Why an ELF file cannot run in a guest: one line."""


def read_needs(data: bytes, arch: Arch) -> Needs:
    """Read the headers of an ELF file; ForeignElfError for one that no guest can run."""
    try:
        return _read(ELFFile(BytesIO(data)), arch)
    except elf_damage() as error:
        raise ForeignElfError("its ELF headers cannot be read") from error


def _read(file: ELFFile, arch: Arch) -> Needs:
    machine = file["e_machine"]
    if machine != arch.elf or file.elfclass != 64:
        raise ForeignElfError(f"it is for {machine}, of {file.elfclass} bits")
    loader, needed = "", list[str]()
    rpath, runpath = "", ""
    for segment in file.iter_segments():
        if isinstance(segment, InterpSegment):
            loader = segment.get_interp_name()
        if not isinstance(segment, DynamicSegment):
            continue
        for tag in segment.iter_tags():
            kind = tag.entry.d_tag
            needed += [str(vars(tag)["needed"])] if kind == "DT_NEEDED" else []
            rpath = str(vars(tag)["rpath"]) if kind == "DT_RPATH" else rpath
            runpath = str(vars(tag)["runpath"]) if kind == "DT_RUNPATH" else runpath
            if len(needed) > _MOST_NEEDED:
                raise ForeignElfError(f"it names more than {_MOST_NEEDED} libraries")
    first = (runpath or rpath).split(":")
    return Needs(loader, tuple(needed), tuple(item for item in first if item))
