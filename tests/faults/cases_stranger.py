# SPDX-License-Identifier: GPL-2.0-or-later
"""A run directory that a stranger made, all of its digests right: it is read as what it is.

What no run can hold is refused in one line, before it fills the memory; what could be is shown.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import zstandard

from lsmeter.measure.results.documents import digest_of, sealed
from tests.faults.case import Case
from tests.faults.field import REPORT, Ended, Field

Change = Callable[[dict[str, Any]], object]  # of what a document says
_ROWS, _RESULTS = "samples.parquet", "results.zst"


def _resealed(path: Path, change: Change) -> None:
    document = json.loads(path.read_bytes())
    change(document)
    head = {key: document.pop(key) for key in ("format", "version", "sha256")}
    path.write_bytes(sealed(head["format"], head["version"], document))


def _boot(field: Field) -> Path:
    return sorted((field.run_dir / "boots").iterdir())[1] / "boot.json"


def _put(field: Field, name: str, data: bytes, raw: bytes = b"") -> None:
    """Put a file into a boot, with the digest that it has to have."""
    path = _boot(field)
    (path.parent / name).write_bytes(data)

    def change(document: dict[str, Any]) -> None:
        document["files"][name] = digest_of(data)
        if raw:
            document["capture"]["results_sha256"] = digest_of(raw)

    _resealed(path, change)


def _rows(count: int = 10, **columns: pl.Expr) -> bytes:
    names = ("benchmark", "index", "value", "delay_ns")
    usual: dict[str, str | int | None] = {
        "benchmark": "getppid",
        "index": 0,
        "value": 5,
        "delay_ns": None,
    }
    types = (pl.String, pl.UInt32, pl.UInt64, pl.UInt32)
    made = pl.DataFrame(
        {
            name: pl.repeat(usual[name], count, dtype=kind, eager=True)
            for name, kind in zip(names, types, strict=True)
        }
    )
    file = io.BytesIO()
    made.with_columns(**columns).write_parquet(file, compression="zstd")
    return file.getvalue()


def _unsized(data: bytes) -> bytes:
    """Compress without saying how much it is."""
    return zstandard.ZstdCompressor(write_content_size=False).compress(data)


def _then(change: Callable[[Field], object], form: str, field: Field) -> Ended:
    change(field)
    return field(*REPORT[:2], "--format", form)


def _of_run(key: str, value: object) -> Callable[[Field], None]:
    return lambda field: _resealed(
        field.run_dir / "manifest.json", lambda document: document["run"].update({key: value})
    )


def _of_boot(change: Change) -> Callable[[Field], None]:
    return lambda field: _resealed(_boot(field), lambda document: change(document["boot"]))


def _of_whole(change: Change) -> Callable[[Field], None]:
    return _of_boot(lambda boot: change(boot["samples"][0]["whole"]["rounds"][0]))


def _named(name: str) -> Callable[[Field], None]:
    """Call a setup so wherever it is named."""

    def change(document: dict[str, Any]) -> None:
        text = json.dumps(document["run"]).replace('"selinux"', json.dumps(name))
        document["run"] = json.loads(text)

    return lambda field: _resealed(field.run_dir / "manifest.json", change)


_MANIFEST: dict[str, tuple[Callable[[Field], None], str]] = {
    **{
        f"margin {value!r}": (_of_run("margin", value), "margin")
        for value in (-0.5, 1e9, None, "1", [0.01])
    },
    "margin nan": (_of_run("margin", float("nan")), "beyond all numbers"),
    "margin inf": (_of_run("margin", float("inf")), "beyond all numbers"),
    "a seed of 400 digits": (
        _of_run("boots", [{"cell_hash": "x", "index": 0, "seed": 10**400}]),
        "401 digits",
    ),
    "an index below 0": (_of_run("boots", [{"cell_hash": "x", "index": -1, "seed": 1}]), "index"),
    "no cells": (_of_run("cells", []), "of no cell"),
    "cells null": (_of_run("cells", None), "cells"),
    "nine million parts": (_of_run("question", [0] * 9_000_000), "parts"),
}
_BOOTS: dict[str, tuple[Callable[[Field], None], str]] = {
    "30 million rows": (
        lambda field: _put(field, _ROWS, _rows(30_000_000)),
        "it has 30000000 rows; at most 8000000",
    ),
    "a name of a gigabyte": (
        lambda field: _put(field, _ROWS, _rows(20, benchmark=pl.lit("x" * 50_000_000))),
        "too long a name",
    ),
    "a reading null": (
        lambda field: _put(field, _ROWS, _rows(value=pl.lit(None, pl.UInt64))),
        "a reading is null",
    ),
    "a reading beyond all": (
        lambda field: _put(field, _ROWS, _rows(value=pl.lit(2**63, pl.UInt64))),
        "a reading beyond",
    ),
    "rows of floats": (lambda field: _put(field, _ROWS, _rows(value=pl.lit(1.5))), "value Float64"),
    "rows that are none": (lambda field: _put(field, _ROWS, b"PAR1" * 100), "out of specification"),
    "results of a gigabyte": (
        lambda field: _put(field, _RESULTS, zstandard.compress(bytes(1 << 30)), b"x"),
        "unpacks to more than",
    ),
    "results of a gigabyte that do not say so": (
        lambda field: _put(field, _RESULTS, _unsized(bytes(1 << 30)), b"x"),
        "results.zst",
    ),
    "windows of no cycle": (_of_whole(lambda item: item.update(operations=0)), "cannot be"),
    "a window below nothing": (_of_whole(lambda item: item.update(bulk=-5)), "cannot be"),
    "windows of other lengths": (_of_whole(lambda item: item.update(taken=[1])), "cannot be"),
    "a boot of less than no time": (_of_boot(lambda boot: boot.update(wall_s=-1.0)), "below 0"),
    "a tick before all readings": (
        _of_boot(lambda boot: boot["samples"][0].update(ticked=[-1])),
        "cannot be",
    ),
}
_NAMES = {
    "of a character that no font has": "\U0010fffd\U000e0001\ufdd0",
    "beyond the basic plane": "\U0001f600" * 60,
    "of a hundred thousand letters": "x" * 100_000,
    "of marks": "a\u0300" * 500 + "\u202e\u2066",
    "that ends a text": "a\x00b\uffff",
}


def _case(kind: str, name: str, change: Callable[[Field], None], code: int, says: str) -> Case:
    inject = partial(_then, change, "html" if kind == "a name" else "json")
    sound = kind != "a name"
    return Case(
        *("stranger", f"{kind}: {name}", inject, frozenset({code}), says),
        sound=sound,
        recovers=False,
        measured=True,
    )


CASES = [
    *(_case("manifest", name, change, 7, says) for name, (change, says) in _MANIFEST.items()),
    *(_case("boot", name, change, 1, says) for name, (change, says) in _BOOTS.items()),
    *(_case("a name", name, _named(text), 0, "<svg") for name, text in _NAMES.items()),
]
