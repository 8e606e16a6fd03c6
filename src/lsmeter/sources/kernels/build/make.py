# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a kernel is built, and the run of its own make there.

Objects remember the path that they were built from, so a changed copy of a tree would compile
everything again, and a user's tree must not be touched. So every build has, beside its objects,
a farm of links to the source; only the directories on the way to a changed file are real. Files
that are our own are written only when their content changes, so that make, which goes by time,
compiles what changed and nothing else.
"""

from __future__ import annotations

import io
import os
import re
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from lsmeter.core import host, process
from lsmeter.core.errors import BuildError, InfrastructureError
from lsmeter.core.model.arch import X86_64, Arch, BootProtocol
from lsmeter.core.storage import cache_dir, make_dir, write_atomic, writing

# Threads of pahole number types in an order of chance, and gain nothing on a kernel of this size.
_SERIAL_PAHOLE = """\
#!/bin/sh
for word; do
	shift
	case $word in
	-j | -j[0-9]* | --jobs | --jobs=*) ;;
	*) set -- "$@" "$word" ;;
	esac
done
exec pahole "$@"
"""

Entry = Path | bytes  # of a farm: a link to that path, or a file with that content

_LEFT_OUT = frozenset({".git"})  # the build would name the kernel after the state of the tree
_NEEDED = ("make", "gcc", "ld", "objcopy", "flex", "bison", "bc", "perl")
_CCACHE_SIZE = "5G"
_MAX_LINE_CHARS = 4000
_SILENCE_S = 3600.0  # the last link with BTF takes minutes without a word
_MAX_KEPT_LINES = 100_000
_MAX_SHOWN_LINES = 20
_COMPILED = re.compile(r"^  (CC|AS|LD|AR|HOSTCC|VDSO|OBJCOPY|GEN|UPD|BTF|KSYMS|NM|SYSMAP|LTO)\b")
_FIRST_ERROR = re.compile(
    r"(: (fatal )?error: |: undefined reference to |^ld: |^make(\[\d+\])?: \*\*\* |: not found$"
    r"|^FAILED|^error: |: error, |No space left on device)"
)
# What would change the kernel.
_SWEPT = re.compile(
    r"(KCONFIG|KBUILD|CCACHE)_.*|ARCH|CROSS_COMPILE|CC|LD|LLVM|(KC|C|LD|MAKE|M)FLAGS|O|W"
    r"|LOCALVERSION|KERNELRELEASE"
)
_OF_HOST = re.compile(
    r"No space left on device|Disk quota exceeded|Cannot allocate memory|Input/output error"
    r"|Read-only file system|virtual memory exhausted|Killed signal|: Killed$|Too many open files"
)
_MAKE_STOPS = re.compile(r"^make(\[\d+\])?: \*\*\* ")


class Slot:
    """Where one configuration of one source is built; all of it side by side for ccache."""

    def __init__(self, home: Path, arch: Arch = X86_64) -> None:
        self.home = home
        self.arch = arch
        self.tree = home / "tree"  # the farm of links that make sees as the kernel's tree
        self.objects = home / "obj"  # O=
        self.pahole = home / "pahole"  # what make calls for pahole
        self.log = home / "build.log"  # of the last build

    @property
    def product(self) -> Path:
        """Return what make makes of it: the file that QEMU starts, or is made of."""
        if BootProtocol.IMAGE in self.arch.boards:
            return self.objects / f"arch/{self.arch.tree}/boot/Image"
        return self.objects / "vmlinux"


def plan(source: Path, files: Sequence[str] | None, own: Mapping[str, bytes]) -> dict[str, Entry]:
    """Plan a farm of `source` with the files `own`; files: all of `source` that belong to it."""
    if files is not None:
        return {**{path: source / path for path in files}, **own}
    entries: dict[str, Entry] = dict(own)
    real = {str(parent) for path in own for parent in PurePosixPath(path).parents}
    for folder in sorted(real | {"."}):
        home = source / folder
        for entry in home.iterdir() if home.is_dir() else ():
            path = entry.relative_to(source).as_posix()
            if path not in real and path not in own and path not in _LEFT_OUT:
                entries[path] = source / path
    return entries


def sync(farm: Path, entries: Mapping[str, Entry]) -> None:
    """Make the directory `farm` hold exactly `entries`, changing only what differs."""
    folders = {str(parent) for path in entries for parent in PurePosixPath(path).parents}
    with writing(farm):
        _remove_others(farm, entries, folders)
        for folder in sorted(folders):
            (farm / folder).mkdir(parents=True, exist_ok=True)
        for path, entry in entries.items():
            _put(farm / path, entry)


def _remove_others(farm: Path, entries: Mapping[str, Entry], folders: set[str]) -> None:
    for home, subfolders, names in os.walk(farm):
        for name in [*subfolders, *names]:
            path = Path(home, name)
            relative = path.relative_to(farm).as_posix()
            if path.is_symlink() or not path.is_dir():
                if relative not in entries:
                    path.unlink()
            elif relative not in folders:
                shutil.rmtree(path)
                subfolders.remove(name)


def _put(path: Path, entry: Entry) -> None:
    if isinstance(entry, Path):
        if not path.is_symlink() or path.readlink() != entry:
            path.unlink(missing_ok=True)
            path.symlink_to(entry)
    elif path.is_symlink() or not path.is_file() or path.read_bytes() != entry:
        path.unlink(missing_ok=True)
        path.write_bytes(entry)


def check_tools(arch: Arch) -> None:
    """Raise InfrastructureError if a program that every kernel build calls is missing."""
    if arch.cross and process.find(arch.compiler) is None:
        raise InfrastructureError(
            f"cannot build a kernel of {arch.name} without {arch.compiler}",
            hint=f"Debian: apt install {arch.compiler_packages}",
        )
    if missing := [program for program in _NEEDED if process.find(program) is None]:
        raise InfrastructureError(
            f"cannot build a kernel without {', '.join(missing)}",
            hint="Debian: apt install build-essential flex bison bc libelf-dev libssl-dev dwarves "
            "ccache",
        )


def version_of(program: str) -> str:
    """Return the first line of `program --version`, "" when the program is missing."""
    there = process.find(program) is not None
    said = process.run([program, "--version"], deadline_s=20).stdout if there else ""
    return said.partition("\n")[0].strip()


def command(slot: Slot, targets: Sequence[str]) -> list[str]:
    """Return the make command for `targets`; the same for every build of a slot."""
    arch, cached = slot.arch, "ccache " * bool(process.find("ccache"))
    flags = f"-ffile-prefix-map={slot.tree}=/linux -ffile-prefix-map={slot.objects}=/build"
    # Where variables live in optimised code is a sixth of compile time, and BTF does not hold it.
    flags += " -fno-var-tracking -fno-var-tracking-assignments"
    return [
        *("make", "-C", str(slot.tree), f"O={slot.objects}", f"-j{host.cores()}"),
        *(f"ARCH={arch.name}", *([f"CROSS_COMPILE={arch.cross}"] if arch.cross else [])),
        *(f"CC={cached}{arch.cross}gcc", f"HOSTCC={cached}gcc", f"KCFLAGS={flags}"),
        *([f"PAHOLE={slot.pahole}"] if process.find("pahole") else []),
        *targets,
    ]


def environment(slot: Slot) -> dict[str, str]:
    """Return the environment of a build: the user's, without what would change the kernel."""
    kept = {name: value for name, value in os.environ.items() if not _SWEPT.fullmatch(name)}
    return kept | {
        "LC_ALL": "C",  # errors are searched for in what the compiler prints
        # One moment for every build: a kernel's image must depend on its source alone.
        "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 2026",
        "KBUILD_BUILD_USER": "lsmeter",
        "KBUILD_BUILD_HOST": "lsmeter",
        "KBUILD_BUILD_VERSION": "1",
        "CCACHE_DIR": str(make_dir(cache_dir() / "ccache")),
        "CCACHE_BASEDIR": str(slot.home),  # so that slots share objects, whatever their path
        "CCACHE_NOHASHDIR": "1",
        # The preprocessor runs once for a file, not twice: a quarter of a first build. The price
        # is that files are found again only under the same configuration.
        "CCACHE_DEPEND": "1",
        "CCACHE_MAXSIZE": _CCACHE_SIZE,
    }


def run_make(
    slot: Slot,
    targets: Sequence[str],
    show: Callable[[int], None] = lambda _: None,
    extra: Mapping[str, str] | None = None,
) -> None:
    """Run make into the slot's log, telling `show` its steps; once stopped, the next goes on."""
    steps = 0
    lines: deque[str] = deque(maxlen=_MAX_KEPT_LINES)
    env = environment(slot) | dict(extra or {})
    write_pahole(slot)
    with (
        slot.log.open("a", buffering=1, encoding="utf-8") as log,
        process.started(command(slot, targets), env=env) as child,
    ):
        output = io.TextIOWrapper(process.output_of(child, _SILENCE_S), errors="replace")
        while line := output.readline(_MAX_LINE_CHARS):
            log.write(line)
            lines.append(line.rstrip("\n"))
            if _COMPILED.match(line):
                steps += 1
                show(steps)
    if child.returncode:
        first, shown = error_lines(lines)
        if lack := next((line for line in lines if _OF_HOST.search(line)), ""):
            raise InfrastructureError(
                f"the kernel is not built: {lack.strip()[:200]}",
                hint="free some space or memory, and type the command once more",
                log_tail=shown,
            )
        where = re.sub(r"^(/linux/|\.\./tree/|.*/tree/)", "", first) or "make failed"
        raise BuildError(f"the kernel does not build: {where}", log_tail=shown)


def write_pahole(slot: Slot) -> None:
    """Write the program that stands in for pahole."""
    write_atomic(slot.pahole, _SERIAL_PAHOLE.encode())
    slot.pahole.chmod(0o755)


def error_lines(output: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """Return a build's first error, rather the compiler's than make's, and its lines; pure."""
    lines = list(output)
    errors = [at for at, line in enumerate(lines) if _FIRST_ERROR.search(line)]
    said = [at for at in errors if not _MAKE_STOPS.match(lines[at])]
    at = (said or errors or [len(lines)])[0]
    shown = lines[max(at - 3, 0) : at + _MAX_SHOWN_LINES - 3]
    kept = tuple(line for line in shown if line.strip() and not _COMPILED.match(line))
    return ("".join(lines[at : at + 1]), kept)
