# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the kernel's own make: progress while it runs, the compiler's words when it fails."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lsmeter.errors import BuildError, InfrastructureError
from lsmeter.progress import Progress
from lsmeter.storage import cache_dir, make_dir, write_atomic

# One moment for every build: a kernel's image must depend on its source alone.
BUILD_TIMESTAMP = "Thu Jan  1 00:00:00 UTC 2026"
BUILD_NAME = "lsmeter"

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

_NEEDED = ("make", "gcc", "ld", "objcopy", "flex", "bison", "bc", "perl")
_CCACHE_SIZE = "5G"
_STOP_WAIT_S = 10.0
_MAX_LINE_CHARS = 4000
_MAX_SHOWN_LINES = 20
_COMPILED = re.compile(r"^  (CC|AS|LD|AR|HOSTCC|VDSO|OBJCOPY|GEN|UPD|BTF|KSYMS|NM|SYSMAP|LTO)\b")
_FIRST_ERROR = re.compile(
    r"(: (fatal )?error: |: undefined reference to |^ld: |^make(\[\d+\])?: \*\*\* |: not found$"
    r"|^FAILED|^error: |: error, |No space left on device)"
)
_MAKE_STOPS = re.compile(r"^make(\[\d+\])?: \*\*\* ")


@dataclass(frozen=True)
class Slot:
    """Where one configuration of one source is built; all three live side by side for ccache."""

    home: Path

    @property
    def tree(self) -> Path:
        """Return the farm of links that make sees as the kernel's tree."""
        return self.home / "tree"

    @property
    def objects(self) -> Path:
        """Return the directory of objects (O=)."""
        return self.home / "obj"

    @property
    def pahole(self) -> Path:
        """Return the program that make calls for pahole."""
        return self.home / "pahole"

    @property
    def log(self) -> Path:
        """Return the log of the last build."""
        return self.home / "build.log"


def check_tools() -> None:
    """Raise InfrastructureError if a program that every kernel build calls is missing."""
    missing = [program for program in _NEEDED if shutil.which(program) is None]
    if missing:
        raise InfrastructureError(
            f"cannot build a kernel without {', '.join(missing)}",
            hint="Debian: apt install build-essential flex bison bc libelf-dev libssl-dev dwarves "
            "ccache",
        )


def version_of(program: str) -> str:
    """Return the first line of `program --version`, "" when the program is missing."""
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.partition("\n")[0].strip()


def command(slot: Slot, targets: Sequence[str], *, jobs: int) -> list[str]:
    """Return the make command for `targets`; the same for every build of a slot."""
    compiler = "ccache gcc" if shutil.which("ccache") else "gcc"
    flags = f"-ffile-prefix-map={slot.tree}=/linux -ffile-prefix-map={slot.objects}=/build"
    # Where variables live in optimised code is a sixth of compile time, and BTF does not hold it.
    flags += " -fno-var-tracking -fno-var-tracking-assignments"
    return [
        "make",
        "-C",
        str(slot.tree),
        f"O={slot.objects}",
        f"-j{jobs}",
        "ARCH=x86_64",
        f"CC={compiler}",
        f"HOSTCC={compiler}",
        f"KCFLAGS={flags}",
        *([f"PAHOLE={slot.pahole}"] if shutil.which("pahole") else []),
        *targets,
    ]


def environment(slot: Slot) -> dict[str, str]:
    """Return the environment of a build: the user's, without what would change the kernel."""
    swept = ("KCONFIG_", "KBUILD_", "CCACHE_")
    exact = {"ARCH", "CROSS_COMPILE", "CC", "LD", "LLVM", "KCFLAGS", "CFLAGS", "LDFLAGS", "O", "W"}
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in exact | {"MAKEFLAGS", "MFLAGS", "LOCALVERSION", "KERNELRELEASE"}
        and not name.startswith(swept)
    }
    return kept | {
        "LC_ALL": "C",  # errors are searched for in what the compiler prints
        "KBUILD_BUILD_TIMESTAMP": BUILD_TIMESTAMP,
        "KBUILD_BUILD_USER": BUILD_NAME,
        "KBUILD_BUILD_HOST": BUILD_NAME,
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
    *,
    jobs: int,
    task: str,
    expected: int | None,
    progress: Progress,
    extra: dict[str, str] | None = None,
) -> int:
    """Run make for `targets` and return how many steps it printed.

    The output goes to the slot's log and, as a count of steps out of `expected`, to `progress`.
    Raises BuildError with the first error that the compiler reports. When interrupted, the whole
    build is stopped, and the next run goes on from its objects.
    """
    steps = 0
    write_pahole(slot)
    with slot.log.open("a", buffering=1, encoding="utf-8") as log:
        for line in _output(command(slot, targets, jobs=jobs), environment(slot) | (extra or {})):
            log.write(line)
            if _COMPILED.match(line):
                steps += 1
                progress.update(
                    task, steps, max(expected, steps) if expected else None, unit="steps"
                )
    return steps


def write_pahole(slot: Slot) -> None:
    """Write the program that stands in for pahole."""
    write_atomic(slot.pahole, _SERIAL_PAHOLE.encode())
    slot.pahole.chmod(0o755)


def _output(words: list[str], env: dict[str, str]) -> Iterator[str]:
    """Give the output of a build line by line; raise BuildError when it fails."""
    process = subprocess.Popen(
        words,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,  # so that an interrupt reaches us first, and we stop it whole
    )
    kept = ErrorLines()
    try:
        assert process.stdout is not None  # noqa: S101  (PIPE was asked for)
        while line := process.stdout.readline(_MAX_LINE_CHARS):
            kept.see(line.rstrip("\n"))
            yield line
        code = process.wait()
    finally:
        _stop(process)
    if code:
        raise _failed(kept)


def _stop(process: subprocess.Popen[str]) -> None:
    """End the process group if it still runs: first asked, so that half-made files go."""
    if process.poll() is None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_STOP_WAIT_S)
                break
    if process.stdout is not None:
        process.stdout.close()


class ErrorLines:
    """Picks from a build's output the first error and what stands around it."""

    def __init__(self) -> None:
        self._before: list[str] = []
        self._shown: list[str] = []
        self.first = ""

    def see(self, line: str) -> None:
        """Take the next line of the output."""
        if self.first and len(self._shown) < _MAX_SHOWN_LINES:
            self._shown.append(line)
        if _FIRST_ERROR.search(line) and (not self.first or self._is_better(line)):
            self.first = line
            self._shown = [*self._before, line]
        self._before = [*self._before, line][-3:]

    def _is_better(self, line: str) -> bool:
        """Prefer what the compiler says over make's remark that it failed."""
        return bool(_MAKE_STOPS.match(self.first)) and not _MAKE_STOPS.match(line)

    @property
    def lines(self) -> tuple[str, ...]:
        """Return the lines to show; the end of the output when no error was found in it."""
        shown = self._shown or self._before
        return tuple(line for line in shown if line.strip() and not _COMPILED.match(line))


def _failed(kept: ErrorLines) -> BuildError:
    first = re.sub(r"^(/linux/|\.\./tree/|.*/tree/)", "", kept.first) or "make failed"
    return BuildError(f"the kernel does not build: {first}", log_tail=kept.lines)
