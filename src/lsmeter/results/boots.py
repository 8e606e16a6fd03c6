# SPDX-License-Identifier: GPL-2.0-or-later
"""One boot on disk: boot.json (what it said), samples.parquet (every reading), console.log."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import zstandard
from pydantic import TypeAdapter, ValidationError

from lsmeter.errors import InfrastructureError
from lsmeter.model import Boot
from lsmeter.storage import write_atomic

FORMAT = "lsmeter-boot"
VERSION = 1

BOOT_FILE = "boot.json"
SAMPLES_FILE = "samples.parquet"
CONSOLE_FILE = "console.log"
ATTRIBUTION_FILE = "attribution.zst"

MAX_BOOT_BYTES = 64 << 20

SAMPLES_SCHEMA = pl.Schema({"benchmark": pl.String, "index": pl.UInt32, "value": pl.UInt64})

_BOOT = TypeAdapter(Boot)


@dataclass(frozen=True)
class StoredBoot:
    """A boot as it was read back: its facts, with the readings as a table.

    The `samples` of boot carry status and failures; their values are in table (columns
    benchmark, index, value) only.
    """

    boot: Boot
    table: pl.DataFrame


def samples_table(boot: Boot) -> pl.DataFrame:
    """Return every reading of a boot: columns benchmark, index (from 0, in time), value."""
    parts = [
        pl.DataFrame(
            {
                "benchmark": [samples.benchmark] * len(samples.values),
                "index": range(len(samples.values)),
                "value": samples.values,
            },
            schema=SAMPLES_SCHEMA,
        )
        for samples in boot.samples
        if samples.values
    ]
    return pl.concat(parts) if parts else SAMPLES_SCHEMA.to_frame()


def write_boot(directory: Path, boot: Boot, console: bytes, attribution: bytes = b"") -> None:
    """Write a boot to `directory`; boot.json comes last, and its presence says: all is there.

    attribution is what the plugin of an attributed run wrote; it is kept compressed.
    """
    table = io.BytesIO()
    samples_table(boot).write_parquet(table, compression="zstd")
    light = replace(boot, samples=tuple(replace(item, values=()) for item in boot.samples))
    document = {"format": FORMAT, "version": VERSION, "boot": _BOOT.dump_python(light, mode="json")}
    write_atomic(directory / SAMPLES_FILE, table.getvalue())
    write_atomic(directory / CONSOLE_FILE, console)
    if attribution:
        write_atomic(directory / ATTRIBUTION_FILE, zstandard.compress(attribution))
    write_atomic(directory / BOOT_FILE, json.dumps(document, indent=1).encode())


def read_boot(directory: Path) -> StoredBoot:
    """Read a boot back; raise InfrastructureError that names the file that is old or damaged."""
    document = read_document(directory / BOOT_FILE, FORMAT, VERSION)
    try:
        boot = _BOOT.validate_json(json.dumps(document.get("boot")), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise damaged(directory / BOOT_FILE, f"{key}: {first['msg']}") from None
    return StoredBoot(boot, _read_table(directory / SAMPLES_FILE))


def _read_table(path: Path) -> pl.DataFrame:
    try:
        table = pl.read_parquet(path, memory_map=False)
    except FileNotFoundError:
        raise damaged(path, "the file is missing") from None
    except Exception as error:  # noqa: BLE001  (polars raises many kinds for a damaged file)
        raise damaged(path, str(error).splitlines()[0][:200]) from None
    if table.schema != SAMPLES_SCHEMA:
        raise damaged(path, f"its columns are {table.columns}, not {SAMPLES_SCHEMA.names()}")
    return table


def read_document(path: Path, name: str, version: int) -> dict[str, Any]:
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
    if found != version:
        raise InfrastructureError(
            f"{path}: format version {found!r}; this lsmeter reads version {version}",
            hint="read it with the version of lsmeter that wrote it, or measure again",
        )
    return document


def damaged(path: Path, reason: str) -> InfrastructureError:
    """Build the error for a file of ours that cannot be read."""
    return InfrastructureError(
        f"{path}: damaged or not a result of lsmeter: {reason}",
        hint="name a directory that `lsmeter run` wrote; running again writes a new one",
    )
