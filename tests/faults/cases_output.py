# SPDX-License-Identifier: GPL-2.0-or-later
"""Outputs that are full, of another alphabet or no file; limits of the shell; odd inputs."""

from __future__ import annotations

import os
import resource
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.faults.case import Case
from tests.faults.field import MAIN, REPORT, Ended, Field

_MIB = 1 << 20
_FULL = "/dev/full"


def _streams(words: tuple[str, ...], out: str, err: str, field: Field) -> Ended:
    files = tuple(name or str(field.home / kept) for name, kept in ((out, ".out"), (err, ".err")))
    return field(*words, files=(files[0], files[1]))


def _limited(kind: int, most: int, field: Field) -> Ended:
    return field(*MAIN, own=True, limits={kind: most})


def _page_limited(kind: int, most: int, field: Field) -> Ended:
    """Measure and make the page, which has no room for the plot library."""
    ended = field(*MAIN, own=True, limits={kind: most})
    page = (field.run_dir / "report.html").read_text(encoding="utf-8")
    assert "stat" in ended.out
    return Ended(ended.words, ended.code, ended.out + page, ended.err)


def _alphabet(env: dict[str, str], field: Field) -> Ended:
    field.env |= env
    field.mend = lambda: [field.env.pop(name) for name in env]
    ended = field(*MAIN, own=True)
    assert ended.text.isascii()
    return ended


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _full_device(path: Path) -> None:
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 7))


def _link(path: Path) -> None:
    (path.parent / "there").mkdir()
    path.symlink_to("there/file")


def _to(make: Callable[[Path], object], form: str, field: Field) -> Ended:
    """Show the run to what is no regular file, and hold that it is the same afterwards."""
    path = field.home / "target"
    make(path)
    before = stat.S_IFMT(path.lstat().st_mode)
    ended = field("report", "run", "--format", form, "-o", "target")
    assert stat.S_IFMT(path.lstat().st_mode) == before
    return ended


def _nowhere(field: Field) -> Ended:
    ended = field("report", "run", "-o", "none/deep/file")
    assert not (field.home / "none").exists()
    return ended


def _read_only(field: Field) -> Ended:
    """Write to a directory that takes no file, even from root."""
    return field("report", "run", "-o", "/proc/lsmeter-report")


def _odd(make: Callable[[Path], object], words: tuple[str, ...], field: Field) -> Ended:
    make(field.home / "odd")
    return field(*words)


def _probe(make: Callable[[Path], object], field: Field) -> Ended:
    make(field.home / "odd")
    field.env["LSMETER_PROBE"] = str(field.home / "odd")
    field.mend = lambda: field.env.pop("LSMETER_PROBE")
    return field.main()


def _zero(path: Path) -> None:
    path.symlink_to("/dev/zero")


_ALPHABETS = {
    "ASCII": {"PYTHONIOENCODING": "ascii"},
    "ASCII, strict": {"PYTHONIOENCODING": "ascii:strict"},
    "the C locale": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "POSIX": {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}
_ODD = {"a FIFO": _fifo, "/dev/zero": _zero}
_ODD_WORDS = {
    "experiment": ("run", "./odd"),
    "kernel": (*MAIN, "--kernel", "./odd"),
    "image": (*MAIN, "--setup", "selinux-enforcing", "--image", "./odd"),
    "image to add": ("image", "add", "./odd"),
    "run": ("report", "./odd"),
    "fragment": ("kernel", "build", ".", "--config", "./odd"),
    "source": ("kernel", "build", "./odd"),
    "tree": ("hooks", "source", "./odd"),
}
_HURT = frozenset({7})
_WRONG = frozenset({2})

CASES = [
    Case("output", "results of a run are full", partial(_streams, MAIN, _FULL, ""), _HURT, kept=4),
    Case(
        "output", "messages of a run are full", partial(_streams, MAIN, "", _FULL), frozenset({0})
    ),
    Case("output", "both are full", partial(_streams, MAIN, _FULL, _FULL), _HURT, kept=4),
    *(
        Case(
            "output",
            f"a report as {form} is full",
            partial(_streams, (*REPORT[:-1], form), _FULL, ""),
            _HURT,
            "cannot write to standard output",
            measured=True,
        )
        for form in ("table", "text", "markdown", "csv", "json", "html")
    ),
    *(
        Case("output", f"its alphabet is {name}", partial(_alphabet, env), frozenset({0}))
        for name, env in _ALPHABETS.items()
    ),
    *(
        Case("output", f"{name} as {form}", partial(_to, make, form), codes, says, measured=True)
        for form in ("table", "json", "html")
        for name, make, codes, says in (
            ("a FIFO that nobody reads", _fifo, _WRONG, "nobody reads this fifo"),
            ("a device that is full", _full_device, _HURT, "no space left"),
            ("a link", _link, frozenset({0}), "written to"),
        )
    ),
    Case("output", "a directory that is not there", _nowhere, _WRONG, "no such dir", measured=True),
    Case("output", "where no file can be made", _read_only, _HURT, "cannot write", measured=True),
    *(
        Case(
            "limits",
            f"{mib} MiB of address space",
            partial(_limited, resource.RLIMIT_AS, mib * _MIB),
            _HURT,
            "memory is limited to",
        )
        for mib in (200, 300, 400, 500, 600, 700, 800)
    ),
    *(
        Case(
            "limits",
            f"{mib} MiB of {what}, and a page without plots",
            partial(_page_limited, kind, mib * _MIB),
            frozenset({0}),
            says,
        )
        for kind, what, says, sizes in (
            (resource.RLIMIT_AS, "address space", "ulimit -v leaves", (3000, 4000, 12_000, 64_000)),
            (resource.RLIMIT_DATA, "data", "open depth=1", (2600, 4000)),
        )
        for mib in sizes
    ),
    *(
        Case(
            "limits",
            f"{number} open files",
            partial(_limited, resource.RLIMIT_NOFILE, number),
            _HURT,
            "files may be open",
        )
        for number in (16, 32, 48)
    ),
    *(
        Case("inputs", f"{what} is {name}", partial(_odd, make, words), frozenset({2, 3, 7}))
        for what, words in _ODD_WORDS.items()
        for name, make in _ODD.items()
    ),
    *(
        Case("inputs", f"the probe is {name}", partial(_probe, make), frozenset({2, 3}))
        for name, make in _ODD.items()
    ),
]
