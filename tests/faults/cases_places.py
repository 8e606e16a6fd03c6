# SPDX-License-Identifier: GPL-2.0-or-later
"""Run directories, stores and outputs that are not as a command would like them."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Callable
from functools import partial

from tests.faults.case import Case
from tests.faults.field import MAIN, REPORT, Ended, Field

Fault = Callable[[Field], object]


def _then_main(fault: Fault, field: Field) -> Ended:
    fault(field)
    return field.main()


def _then_report(fault: Fault, field: Field) -> Ended:
    fault(field)
    return field(*REPORT)


def _read_only(path: str, field: Field) -> None:
    """Take a place that no user may write to: root may write to a directory of mode 0."""
    (field.home / path).parent.mkdir(parents=True, exist_ok=True)
    (field.home / path).symlink_to("/proc/1")
    field.mend = (field.home / path).unlink


def _file_at(path: str, field: Field) -> None:
    (field.home / path).parent.mkdir(parents=True, exist_ok=True)
    (field.home / path).write_text("not a directory\n")
    field.mend = (field.home / path).unlink


def _full_at(size_bytes: int, field: Field) -> Ended:
    """Let no file grow beyond a size, as on a disk that fills."""
    return field(*MAIN, limits={resource.RLIMIT_FSIZE: size_bytes})


def _gone(pattern: str, field: Field) -> None:
    for path in sorted(field.home.glob(pattern)):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def _emptied(pattern: str, field: Field) -> None:
    for path in sorted(field.home.glob(pattern))[:1]:
        path.write_bytes(b"")


def _loop(pattern: str, field: Field) -> None:
    for path in sorted(field.home.glob(pattern))[:1]:
        path.unlink()
        path.symlink_to(path.name)


def _directory(pattern: str, field: Field) -> None:
    for path in sorted(field.home.glob(pattern))[:1]:
        path.unlink()
        path.mkdir()


def _fifo(pattern: str, field: Field) -> None:
    for path in sorted(field.home.glob(pattern))[:1]:
        path.unlink()
        os.mkfifo(path)


def _case(name: str, fault: Fault, *codes: int, report: bool = False, **more: object) -> Case:
    inject = partial(_then_report if report else _then_main, fault)
    return Case("places", name, inject, frozenset(codes), **more)  # type: ignore[arg-type]


_FILES = ("boot.json", "samples.parquet", "results.zst", "console.log")
_DAMAGE = (_emptied, _loop, _directory, _fifo)

CASES = [
    _case("the store is a file", partial(_file_at, "data"), 7),
    _case("the store cannot be written", partial(_read_only, "data"), 7),
    *(
        Case("places", f"disk full at {size} bytes", partial(_full_at, size), frozenset({7}))
        for size in (100, 1000, 2000, 5000, 6500)
    ),
    *(
        _case(
            f"{fault.__name__[1:]} {file} in the {where}",
            partial(fault, f"{folder}/*/{file}"),
            0,
            measured=True,
            long=file != "boot.json",
        )
        for fault in _DAMAGE
        for file in _FILES
        for where, folder in (("run", "run/boots"), ("store", "data/boots/*"))
    ),
    *(
        _case(
            f"report with {fault.__name__[1:]} {file}",
            partial(fault, f"run/boots/*/{file}"),
            *(0, 1, 7),
            measured=True,
            report=True,
            long=file != "samples.parquet",
        )
        for fault in _DAMAGE
        for file in _FILES
    ),
    _case("store gone", partial(_gone, "data"), 0, measured=True),
]
