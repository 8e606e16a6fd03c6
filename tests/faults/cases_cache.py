# SPDX-License-Identifier: GPL-2.0-or-later
"""A cache that is damaged, held by others, or cannot be written."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.faults.case import Case
from tests.faults.field import MAIN, Ended, Field, until

Damage = Callable[[Path], object]


def _flip(path: Path, place: float = 0.5) -> None:
    """Turn one bit, with the times of the file as they were."""
    content, status = bytearray(path.read_bytes()), path.stat()
    content[min(int(len(content) * place), len(content) - 1)] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _replace_by_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _entry(field: Field) -> Path:
    (entry,) = (field.home / "cache" / "kernels").glob("[!.]*")
    return entry


def _damaged(name: str, damage: Damage, field: Field) -> Ended:
    """Measure, damage a file of the kernel in the cache, and measure again."""
    field.main()
    damage(_entry(field) / name)
    field.mend = lambda: shutil.rmtree(_entry(field))
    return field.main()


_CONTENT: dict[str, Damage] = {
    "first bit flipped": partial(_flip, place=0),
    "a bit flipped": _flip,
    "last bit flipped": partial(_flip, place=1),
}
_SHAPE: dict[str, Damage] = {
    "cut": _cut,
    "empty": lambda path: path.write_bytes(b""),
    "gone": Path.unlink,
    "a directory": _replace_by_directory,
}
CASES = [
    Case(
        "cache",
        f"vmlinux {how}",
        partial(_damaged, "vmlinux", damage),
        frozenset({7}),
        "vmlinux is damaged or was changed",
        kept=4,
    )
    for how, damage in _CONTENT.items()
]
# What is seen to be no whole entry is made again, from the file that it was made of.
CASES += [
    Case("cache", f"{name} {how}", partial(_damaged, name, damage), frozenset({0}), kept=4)
    for name in ("vmlinux", "kernel.json")
    for how, damage in _SHAPE.items()
]
CASES += [
    Case("cache", f"kernel.json {how}", partial(_damaged, "kernel.json", damage), frozenset({0, 7}))
    for how, damage in _CONTENT.items()
]


def _notes(damage: Damage, field: Field) -> Ended:
    """Damage the notes of what was read before; they are never the last word."""
    field.main()
    for path in (field.home / "cache" / "digests").glob("*"):
        damage(path)
    return field.main()


CASES += [
    Case("cache", f"notes of digests: {how}", partial(_notes, damage), frozenset({0}), kept=4)
    for how, damage in (_CONTENT | _SHAPE).items()
]


def _no_directory(name: str, field: Field) -> Ended:
    """Put a file where a directory of the cache has to be."""
    place = field.home / "cache" / name
    if not name:
        place.rmdir()
    place.write_text("x")

    def mend() -> None:
        place.unlink()
        place.mkdir()

    field.mend = mend
    return field.main()


CASES += [
    Case("cache", f"{name or 'the cache'} is a file", partial(_no_directory, name), codes, says)
    for name, codes, says in (
        ("", frozenset({7}), "cannot write"),
        ("kernels", frozenset({7}), "cannot write"),
        ("locks", frozenset({7}), "cannot write"),
        ("digests", frozenset({0}), ""),
    )
]


def _held(number: signal.Signals | None, field: Field) -> Ended:
    """Hold every lock of the cache; send a signal to who waits for it, or let it go."""
    field.main()
    files = [path.open("r+") for path in (field.home / "cache" / "locks").iterdir()]
    for file in files:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write("process 1 (init \x1b[31m\u202e) since yesterday")
        file.flush()

    def let_go() -> None:
        for file in files:
            file.close()

    def meddle(pid: int) -> None:
        until(lambda: "waiting for process 1" in (field.home / ".err").read_text(), pid)
        if number is None:
            let_go()
        else:
            os.kill(pid, number)

    (field.home / ".err").touch()
    field.mend = let_go
    return field(*MAIN, meddle=meddle)


CASES += [
    Case(
        "cache",
        f"lock held, {number.name if number else 'let go'}",
        partial(_held, number),
        frozenset(codes),
        "" if number is signal.SIGKILL else "waiting for process 1 (init",
        kept=4,
    )
    for number, codes in (
        (None, {0}),
        (signal.SIGINT, {130}),
        (signal.SIGTERM, {130, -15}),
        (signal.SIGKILL, {-9}),
    )
]


def _killed_unpacking(number: signal.Signals, field: Field) -> Ended:
    """End the command while it fills an entry of the cache."""

    def meddle(pid: int) -> None:
        until(lambda: list(field.home.glob("cache/kernels/.*.partial")), pid)
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return

    return field(*MAIN, meddle=meddle)


CASES += [
    Case(
        "cache",
        f"{number.name} while a kernel is unpacked",
        partial(_killed_unpacking, number),
        frozenset({0, 130, -number.value}),
    )
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
]


def _left(field: Field) -> Ended:
    """Leave what a machine that crashed leaves."""
    left = field.home / "cache" / "kernels" / ".file-of-another.partial"
    (left / "deep").mkdir(parents=True)
    (left / "deep" / "vmlinux").write_bytes(bytes(1 << 20))
    return field.main()


CASES.append(Case("cache", "an entry that a crash left half made", _left, frozenset({0})))


def _other(words: tuple[str, ...], make: Callable[[Path], object], field: Field) -> Ended:
    """Give a kernel or an image that is none."""
    make(field.home / "given")
    return field(*words)


def _large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(5 << 40)  # to hash it would take hours


_RUN = tuple("./given" if word == "./kernel" else word for word in MAIN)
_GIVEN: dict[str, tuple[Damage, str]] = {
    "is a FIFO": (os.mkfifo, "is no regular file"),
    "is /dev/zero": (lambda path: path.symlink_to("/dev/zero"), "is no regular file"),
    "is a directory": (Path.mkdir, "is a directory"),
    "is 5 TiB of zeros": (_large, "is not a kernel that lsmeter can boot"),
    "is a link to itself": (lambda path: path.symlink_to("given"), "error"),
    "is named with control characters": (lambda _: None, "does not exist"),
}
CASES += [
    Case("cache", f"kernel {how}", partial(_other, _RUN, make), frozenset({2}), says)
    for how, (make, says) in _GIVEN.items()
]
