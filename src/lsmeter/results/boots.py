# SPDX-License-Identifier: GPL-2.0-or-later
"""One boot on disk: what came out of the guest, and what it was read as.

boot.json (what it reported), samples.parquet (every reading), results.zst (all that the guest
wrote to the result channel), console.log, and a file for each output of a plugin. With the raw
results a boot can be read again by a later parser.
"""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
import zstandard
from pydantic import TypeAdapter, ValidationError

from lsmeter import __version__
from lsmeter.base.errors import InfrastructureError
from lsmeter.base.storage import write_atomic
from lsmeter.guest.capture import Capture, Ending
from lsmeter.guest.conclude import PARSER
from lsmeter.model import Boot, Samples

FORMAT = "lsmeter-boot"
VERSION = 2
_VERSIONS = (1, 2)  # 1 has neither raw results nor delays

BOOT_FILE = "boot.json"
SAMPLES_FILE = "samples.parquet"
RESULTS_FILE = "results.zst"
CONSOLE_FILE = "console.log"
OUTPUT_SUFFIX = ".zst"  # attribution.zst

MAX_BOOT_BYTES = 64 << 20

# Readings of one benchmark at several delays follow each other; delay_ns is null without a sweep.
SAMPLES_SCHEMA = pl.Schema(
    {"benchmark": pl.String, "index": pl.UInt32, "value": pl.UInt64, "delay_ns": pl.UInt32}
)

K = TypeVar("K")


@dataclass(frozen=True)
class _Taken:
    """How a guest ended, and the digest of what it wrote."""

    results_sha256: str
    ending: Ending
    exit_code: int | None
    stderr: str


@dataclass(frozen=True)
class _Document:
    """What boot.json says."""

    boot: Boot
    format: str = FORMAT
    version: int = VERSION
    lsmeter_version: str = ""
    parser: int = 0
    capture: _Taken | None = None


_DOCUMENT = TypeAdapter(_Document)


@dataclass(frozen=True)
class StoredBoot:
    """A boot as it was read back, by which version it was written, and its raw form if kept."""

    boot: Boot
    version: str  # of lsmeter; "" before versions were written
    parser: int
    capture: Capture | None


def samples_table(boot: Boot) -> pl.DataFrame:
    """Return every reading of a boot: columns benchmark, index (from 0, in time), value, delay."""
    rows = [
        (samples.benchmark, index, value, samples.delay_ns)
        for samples in boot.samples
        for index, value in enumerate(samples.values)
    ]
    return pl.DataFrame(rows, SAMPLES_SCHEMA, orient="row")


def write_boot(directory: Path, boot: Boot, capture: Capture) -> None:
    """Write a boot to `directory`; boot.json comes last, and its presence says: all is there."""
    table = io.BytesIO()
    samples_table(boot).write_parquet(table, compression="zstd")
    light = replace(boot, samples=tuple(replace(item, values=()) for item in boot.samples))
    digest = hashlib.sha256(capture.results).hexdigest()
    taken = _Taken(digest, capture.ending, capture.exit_code, capture.stderr)
    document = _Document(light, lsmeter_version=__version__, parser=PARSER, capture=taken)
    write_atomic(directory / SAMPLES_FILE, table.getvalue())
    write_atomic(directory / CONSOLE_FILE, capture.console)
    write_atomic(directory / RESULTS_FILE, zstandard.compress(capture.results))
    for name, data in capture.outputs.items():
        write_atomic(directory / f"{name}{OUTPUT_SUFFIX}", zstandard.compress(data))
    write_atomic(directory / BOOT_FILE, _DOCUMENT.dump_json(document, indent=1))


def read_boot(directory: Path) -> StoredBoot:
    """Read a boot back; raise InfrastructureError that names the file that is old or damaged."""
    path = directory / BOOT_FILE
    found = validated(_DOCUMENT, read_document(path, FORMAT, _VERSIONS), path)
    if found.parser and found.capture is None:
        raise damaged(path, "capture: it does not say how the guest ended")
    table = _read_table(directory / SAMPLES_FILE)
    return StoredBoot(
        boot=replace(found.boot, samples=_with_values(found.boot.samples, table)),
        version=found.lsmeter_version[:40],
        parser=found.parser,
        capture=_read_capture(directory, found.capture, found.boot) if found.capture else None,
    )


def read_output(directory: Path, name: str) -> bytes | None:
    """Return what a plugin wrote in a boot; None where it wrote nothing."""
    path = directory / f"{name}{OUTPUT_SUFFIX}"
    return _unpacked(path) if path.is_file() else None


def _with_values(boot: tuple[Samples, ...], table: pl.DataFrame) -> tuple[Samples, ...]:
    """Give the readings back to the samples that they were taken from."""
    groups = table.group_by("benchmark", "delay_ns", maintain_order=True).agg("value")
    values = {(name, delay): tuple(found) for name, delay, found in groups.iter_rows()}
    return tuple(
        replace(item, values=values.get((item.benchmark, item.delay_ns), ())) for item in boot
    )


def _read_capture(directory: Path, said: _Taken, boot: Boot) -> Capture:
    """Return the raw form of a boot, once its digest is found right."""
    results = _unpacked(directory / RESULTS_FILE)
    if hashlib.sha256(results).hexdigest() != said.results_sha256:
        raise damaged(directory / RESULTS_FILE, "it is not what was written")
    try:
        console = (directory / CONSOLE_FILE).read_bytes()
    except OSError as error:
        raise damaged(directory / CONSOLE_FILE, error.strerror or str(error)) from None
    return Capture(results, console, said.ending, said.exit_code, boot.wall_s, said.stderr)


def _unpacked(path: Path) -> bytes:
    try:
        return zstandard.decompress(path.read_bytes(), max_output_size=MAX_BOOT_BYTES)
    except (OSError, zstandard.ZstdError) as error:
        raise damaged(path, str(error)) from None


def _read_table(path: Path) -> pl.DataFrame:
    try:
        table = pl.read_parquet(path, memory_map=False)
    except FileNotFoundError:
        raise damaged(path, "the file is missing") from None
    except Exception as error:  # noqa: BLE001  (polars raises many kinds for a damaged file)
        raise damaged(path, str(error).splitlines()[0][:200]) from None
    if table.schema == pl.Schema(list(SAMPLES_SCHEMA.items())[:-1]):  # version 1
        table = table.with_columns(pl.lit(None, pl.UInt32).alias("delay_ns"))
    if table.schema != SAMPLES_SCHEMA:
        raise damaged(path, f"its columns are {table.columns}, not {SAMPLES_SCHEMA.names()}")
    return table


def read_document(path: Path, name: str, versions: tuple[int, ...]) -> dict[str, Any]:
    """Read a JSON file of ours, checking its format name and version."""
    try:
        if path.stat().st_size > MAX_BOOT_BYTES:
            raise damaged(path, f"larger than {MAX_BOOT_BYTES} bytes")
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise damaged(path, "the file is missing") from None
    except OSError as error:
        raise damaged(path, error.strerror or str(error)) from None
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"not valid JSON ({error})") from None
    if not isinstance(document, dict) or document.get("format") != name:
        raise damaged(path, f"its format is not {name}")
    found = document.get("version")
    if found not in versions:
        raise InfrastructureError(
            f"{path}: format version {found!r}; this lsmeter reads version {versions[-1]}",
            hint="read it with the version of lsmeter that wrote it, or measure again",
        )
    return document


def validated(kind: TypeAdapter[K], value: object, path: Path) -> K:
    """Return a part of the document at `path` as the type that it must be."""
    try:
        return kind.validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise damaged(path, f"{key}: {first['msg']}") from None


def damaged(path: Path, reason: str) -> InfrastructureError:
    """Build the error for a file of ours that cannot be read."""
    return InfrastructureError(
        f"{path}: damaged or not a result of lsmeter: {reason}",
        hint="name a directory that `lsmeter run` wrote; running again writes a new one",
    )
