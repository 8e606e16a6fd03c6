# SPDX-License-Identifier: GPL-2.0-or-later
"""Run directories that lack what a run writes, hold other things, or are taken away or shared."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from tests.faults.case import Case
from tests.faults.field import MAIN, REPORT, Ended, Field, until

_MANIFEST = "manifest.json"


def _then_main(change: Callable[[Path], object], field: Field) -> Ended:
    """Change a finished run directory, and type the same command again."""
    change(field.run_dir)
    return field.main("--jobs", "1")


def _written(name: str, content: bytes, run: Path) -> None:
    (run / name).write_bytes(content)


def _cut(share: float, run: Path) -> None:
    path = run / _MANIFEST
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])


def _removed(pattern: str, run: Path) -> None:
    for path in sorted(run.glob(pattern)):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def _emptied(run: Path) -> None:
    shutil.rmtree(run)
    run.mkdir()


def _file_in_place(run: Path) -> None:
    shutil.rmtree(run)
    run.write_bytes(b"")


_DAMAGED: dict[str, Callable[[Path], object]] = {
    "no manifest": partial(_removed, _MANIFEST),
    "no manifest and a part of one": lambda run: (
        _removed(_MANIFEST, run),
        _written(".lsmeter-1-1.partial", b"{", run),
    ),
    "an empty manifest": partial(_written, _MANIFEST, b""),
    "a manifest that is a list": partial(_written, _MANIFEST, b"[]"),
    "a manifest of another program": partial(_written, _MANIFEST, b'{"name": "app"}'),
    "a manifest of an empty run": partial(
        _written, _MANIFEST, b'{"format": "lsmeter-run", "version": 3, "run": {}}'
    ),
    "a manifest that is no text": partial(_written, _MANIFEST, b"\xff\x00"),
    "a manifest 50,000 deep": partial(_written, _MANIFEST, b"[" * 50_000),
    **{f"a manifest cut to {share:.0%}": partial(_cut, share) for share in (0.2, 0.5, 0.9, 0.99)},
    "no boots": partial(_removed, "boots"),
    "one boot less": partial(_removed, "boots/*-0"),
    "no boot.json": partial(_removed, "boots/*/boot.json"),
    "no samples": partial(_removed, "boots/*/samples.parquet"),
    "no raw results": partial(_removed, "boots/*/results.zst"),
    "no page": partial(_removed, "report.html"),
    "nothing at all": _emptied,
    "not there": shutil.rmtree,
}


def _taken_away(stage: str, change: Callable[[Path], object], field: Field) -> Ended:
    """Take something away while the command measures."""

    def meddle(pid: int) -> None:
        until(lambda: list(field.run_dir.glob(stage)), pid)
        try:
            os.kill(pid, signal.SIGSTOP)
            change(field.run_dir)
            os.kill(pid, signal.SIGCONT)
        except (ProcessLookupError, FileNotFoundError):
            return

    return field(*MAIN, "--jobs", "1", meddle=meddle)


_STAGES = {
    "once the manifest is there": _MANIFEST,
    "after a boot": "boots/*/boot.json",
    "after both setups": "boots/*-0/boot.json",
}
_LONG = (
    "manifest cut",
    "manifest of",
    "manifest that",
    "after both",
    "part of one",
    "no raw",
    "a file",
)
_TAKEN: dict[str, Callable[[Path], object]] = {
    "the directory": shutil.rmtree,
    "the manifest": partial(_removed, _MANIFEST),
    "the boots": partial(_removed, "boots"),
}


def _held(field: Field) -> Ended:
    field.run_dir.mkdir()
    lock = os.open(field.run_dir / ".lock", os.O_RDWR | os.O_CREAT)
    os.write(lock, b"process 4711 (lsmeter \x1b[31m\xe2\x80\xae) since yesterday\n")
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        return field.main()
    finally:
        os.close(lock)


def _together(field: Field) -> Ended:
    """Start the same command twice: one measures, the other says that it does, or follows."""
    others: list[Ended] = []

    def meddle(pid: int) -> None:
        until((field.run_dir / _MANIFEST).exists, pid)
        others.append(field(*MAIN, files=(str(field.home / ".o"), str(field.home / ".e"))))

    first = field(*MAIN, meddle=meddle)
    if first.code != 0:
        return first
    (second,) = others
    refused = second.code == 2 and "another lsmeter" in second.text
    return first if refused or second.code == 0 else second


def _below_a_file(field: Field) -> Ended:
    return field(*MAIN, "--run-dir", "kernel/run")


def _own_directory(name: str, field: Field) -> Ended:
    field.run_dir.mkdir()
    (field.run_dir / name).write_text("mine")
    ended = field.main()
    assert (field.run_dir / name).read_text() == "mine"
    shutil.rmtree(field.run_dir)
    return ended


def _damaged_then_reported(change: Callable[[Path], object], field: Field) -> Ended:
    change(field.run_dir)
    field.mend = partial(_removed, _MANIFEST, field.run_dir)
    return field(*REPORT)


_SAYS = {
    "a manifest of another program": "its format is not",
    "a manifest that is a list": "its format is not",
    "no manifest": "it has no manifest.json",
    "nothing at all": "it has no manifest.json",
    "not there": "no such run directory",
}
_FINE, _USAGE, _HOST = frozenset({0}), frozenset({2}), frozenset({7})

_ALL = [
    *(
        Case("directory", f"again with {name}", partial(_then_main, change), _FINE, measured=True)
        for name, change in _DAMAGED.items()
    ),
    *(
        Case(
            "directory",
            f"report with {name}",
            partial(_damaged_then_reported, change),
            frozenset({2, 7}) if "manifest" in name or name.startswith("n") else _FINE,
            says=_SAYS.get(name, "error:"),
            measured=True,
            sound=False,
        )
        for name, change in _DAMAGED.items()
        if "manifest" in name or name in {"nothing at all", "not there"}
    ),
    *(
        Case(
            "directory",
            f"{what} taken away {when}",
            partial(_taken_away, stage, change),
            frozenset({0, 7}),
        )
        for when, stage in _STAGES.items()
        for what, change in _TAKEN.items()
    ),
    Case("directory", "held by another", _held, _USAGE, says="process 4711"),
    Case("directory", "two commands at a time", _together, _FINE),
    Case("directory", "below a file", _below_a_file, _USAGE, says="not a directory"),
    Case(
        "directory", "a file in its place", partial(_then_main, _file_in_place), _USAGE,
        says="not a directory", measured=True, recovers=False,
    ),
    *(
        Case(
            "directory", f"somebody's {name}", partial(_own_directory, name), _USAGE,
            says="not a run directory",
        )
        for name in ("thesis.tex", "boots.txt", ".gitignore")
    ),
]  # fmt: skip
CASES = [replace(case, long=any(word in case.name for word in _LONG)) for case in _ALL]
