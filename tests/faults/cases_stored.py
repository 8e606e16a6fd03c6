# SPDX-License-Identifier: GPL-2.0-or-later
"""Damage to what is stored: single bits of every file of a run and of the store, and whole files.

What is damaged is no result, is named, and is measured again. Each case starts with a finished run
of four boots, and damages its manifest or one boot: in the run, in the store, or in both.
"""

from __future__ import annotations

import io
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import polars as pl

from tests.faults.case import Case
from tests.faults.field import REPORT, Ended, Field

Damage = Callable[[Path], object]  # of one file
Inject = Callable[[Field], Ended]

MANIFEST = "manifest.json"
FILES = ("boot.json", "samples.parquet", "results.zst", "console.log")
# Of each file in which a bit is flipped: its first byte, its last, and some between.
PLACES, MORE_PLACES = 4, 20
_HEAD_BYTES = 150  # of a document: its format, version and digest
_SEEN = "its digest is not the one"
_KIND = "no regular file"
_SPECIAL = ("a FIFO", "a directory", "a link to /dev/zero")


def _boots(home: Path) -> list[Path]:
    return sorted(path.parent for path in home.rglob("boot.json"))


def _in_run(field: Field) -> Path:
    return _boots(field.run_dir)[1]


def _in_store(field: Field) -> Path:
    """Return the entry of the store that the boot of the run is a copy of."""
    wanted = (_in_run(field) / "boot.json").read_bytes()
    (found,) = (path for path in _boots(field.store) if (path / "boot.json").read_bytes() == wanted)
    return found


def _flipped(number: int, path: Path) -> None:
    """Flip a bit that nothing but a digest sees: a document stays one."""
    data = path.read_bytes()
    first = _HEAD_BYTES if path.suffix == ".json" else 0
    draw = random.Random(f"{path.name} {number}")
    drawn = draw.randrange(first, len(data))
    place = {0: first, 1: len(data) - 1}.get(number, drawn)
    places = (*range(place, len(data)), *range(first, place))
    bits = draw.sample(range(8), 8)
    flips = (_with(data, at, 1 << bit) for at in places for bit in bits)
    found = next(item for item in flips if first == 0 or _is_json(item))
    path.write_bytes(found)


def _with(data: bytes, at: int, bit: int) -> bytes:
    return data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :]


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except ValueError:
        return False
    return True


def _replaced(content: Callable[[bytes], bytes], path: Path) -> None:
    path.write_bytes(content(path.read_bytes()))


def _special(make: Callable[[Path], object], path: Path) -> None:
    path.unlink()
    make(path)


def _rows(change: Callable[[pl.DataFrame], pl.DataFrame], path: Path) -> None:
    table = io.BytesIO()
    change(pl.read_parquet(path.read_bytes())).write_parquet(table)
    path.write_bytes(table.getvalue())


def _third(new: pl.Expr) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Put something in the place of the third value."""
    here = pl.int_range(pl.len()) == 2
    value = pl.when(here).then(new).otherwise(pl.col("value")).cast(pl.UInt64)
    return lambda table: table.with_columns(value=value)


ROWS: dict[str, Damage] = {
    name: partial(_rows, change)
    for name, change in {
        "a row null": _third(pl.lit(None)),
        "a row changed": _third(pl.lit(7)),
        "a row removed": lambda table: table[1:],
        "a row doubled": lambda table: pl.concat([table[:1], table]),
        "rows turned round": lambda table: table.reverse(),
        "no rows": lambda table: table[:0],
    }.items()
}
WHOLE: dict[str, Damage] = {
    "gone": Path.unlink,
    "empty": partial(_replaced, lambda _: b""),
    "cut in the middle": partial(_replaced, lambda data: data[: len(data) // 2]),
    "without its last byte": partial(_replaced, lambda data: data[:-1]),
    "with one byte more": partial(_replaced, lambda data: data + b"\n"),
    "all zeros": partial(_replaced, lambda data: bytes(len(data))),
    "a FIFO": partial(_special, os.mkfifo),
    "a directory": partial(_special, Path.mkdir),
    "a link to /dev/zero": partial(_special, partial(Path.symlink_to, target="/dev/zero")),
}


def _damaged(
    homes: tuple[Callable[[Field], Path], ...], file: str, damage: Damage, field: Field
) -> Ended:
    """Damage a file in some places; the command after is that which meets them."""
    for path in [home(field) / file for home in homes]:
        damage(path)
    return field.main() if homes[0] is _in_store else field(*REPORT)


def _swapped(file: str, field: Field) -> Ended:
    """Put files, or whole folders (""), of two boots in each other's place."""
    one, two = (folder / file for folder in _boots(field.run_dir)[:2])
    aside = field.home / "aside"
    for path, target in ((one, aside), (two, one), (aside, two)):
        path.rename(target)
    return field(*REPORT)


def _store_swapped(field: Field) -> Ended:
    one, two = _boots(field.store)[:2]
    aside = field.home / "aside"
    for path, target in ((one, aside), (two, one), (aside, two)):
        path.rename(target)
    return field.main()


def _no_boots(field: Field) -> Ended:
    shutil.rmtree(field.run_dir / "boots")
    return field(*REPORT)


def _cases() -> Iterator[Case]:
    flips: dict[str, Damage] = {f"bit {n}": partial(_flipped, n) for n in range(MORE_PLACES)}
    short = {*list(flips)[:PLACES], *ROWS}
    where = {"run": (_in_run,), "store": (_in_store,), "run and store": (_in_store, _in_run)}
    for number, file in enumerate(FILES):
        # What may befall any file befalls a part of them in the short campaign.
        some = short | {*list(WHOLE)[number::4]}
        rows = ROWS if file == "samples.parquet" else {}
        for name, homes in where.items():
            for what, damage in {**flips, **WHOLE, **rows}.items():
                lost = (file, what) == ("boot.json", "gone")  # then there is no boot at all
                says = file if not lost else "missing" if name == "run" else ""
                says = _SEEN if what in flips else _KIND if what in _SPECIAL else says
                inject = partial(_damaged, homes, file, damage)
                long = len(homes) > 1 or what not in some or (name == "store" and what in ROWS)
                # The command measures again what the store has not; a report has it not.
                code = 1 if name == "run" and not lost else 0
                yield _case(f"{file} of {name}: {what}", inject, says, code=code, long=long)
    for what, damage in {**flips, **WHOLE}.items():
        inject = partial(_damaged, (lambda field: field.run_dir,), MANIFEST, damage)
        code = 2 if what == "gone" else 7
        long = what not in {*short, "gone", "empty", "a directory"}
        says = _SEEN if what in flips else _KIND if what in _SPECIAL else MANIFEST
        yield _case(f"{MANIFEST}: {what}", inject, says, code=code, kept=4, long=long)
    for file in ("", *FILES):
        yield _case(
            f"{file or 'folders'} swapped", partial(_swapped, file), "damaged", code=1, kept=4
        )
    yield _case("store swapped", _store_swapped, "damaged")
    yield _case("no boots", _no_boots, "missing", kept=4)


def _case(
    name: str, inject: Inject, says: str, *, code: int = 0, kept: int = 0, long: bool = False
) -> Case:
    codes = frozenset({code})
    return Case("stored", name, inject, codes, says, kept=kept, measured=True, long=long)


CASES = list(_cases())
