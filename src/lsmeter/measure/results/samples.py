# SPDX-License-Identifier: GPL-2.0-or-later
"""Every reading of a boot as a Parquet file, which anybody may have made.

It is read in a process of its own, with a bound on memory, processor time and rows: what is damaged
or made on purpose may unpack to any size, and may end the process that reads it. One that may end
(`read_here`) reads itself. This module is what such a process runs, so it imports little; polars
only where a file is read or written.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import struct
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from multiprocessing.util import Finalize
from threading import Event
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import polars as pl

MAX_VALUE = 1 << 53  # beyond it a float is not exact
MAX_ROWS = 8_000_000  # of a boot; all that a guest may say is hardly more
_MEMORY_BYTES, _CPU_S = 4 << 30, 60
_MAX_GROUPS, _MAX_NAME, _MAX_WHY = 100_000, 1000, 200
_PIPE_BYTES = 1 << 20  # as much as anybody may have: a boot's readings go through at once
_NO_LIMIT = 1 << 64  # what resource calls -1
_SIZE = struct.Struct("<Q")
_THREADS = "POLARS_MAX_THREADS"

Values = dict[tuple[str, int | None], Sequence[int]]  # by benchmark and delay
_Parts = list[tuple[str, int | None, int]]  # benchmark, delay and number of readings
_HERE = Event()  # this process may end


class UnreadableError(Exception):
    """Why a file has no readings: one line."""


def _schema() -> pl.Schema:
    """Return the columns; readings of one benchmark have an index from 0 in time.

    Those at several delays follow each other, and delay_ns is null without a sweep.
    """
    import polars as pl

    return pl.Schema(
        {"benchmark": pl.String, "index": pl.UInt32, "value": pl.UInt64, "delay_ns": pl.UInt32}
    )


def write_values(groups: Iterable[tuple[str, Sequence[int], int | None]]) -> bytes:
    """Return a file of readings, of groups by benchmark and delay."""
    import polars as pl

    table = io.BytesIO()
    columns: tuple[list[object], ...] = ([], [], [], [])
    for benchmark, values, delay_ns in groups:
        columns[0].extend([benchmark] * len(values))
        columns[1].extend(range(len(values)))
        columns[2].extend(values)
        columns[3].extend([delay_ns] * len(values))
    schema = _schema()
    frame = pl.DataFrame(dict(zip(schema, columns, strict=True)), schema)
    frame.write_parquet(table, compression="zstd")
    return table.getvalue()


def read_values(data: bytes) -> Values:
    """Return the readings that a file holds."""
    import numpy as np

    from lsmeter.measure.results.column import Column

    head, data = _read_bounded(data) if _HERE.is_set() else _ask(data)
    if isinstance(head, str):
        raise UnreadableError(head)
    values = np.frombuffer(data, "<i8")
    found: dict[tuple[str, int | None], list[npt.NDArray[np.int64]]] = {}
    at = 0
    for name, delay_ns, count in head:
        found.setdefault((name, delay_ns), []).append(values[at : at + count])
        at += count
    # Mostly one part: no copy is made of it.
    joined = {key: one[0] if len(one) == 1 else np.concatenate(one) for key, one in found.items()}
    return {key: Column(each) for key, each in joined.items()}


def _ask(data: bytes) -> tuple[_Parts | str, bytes]:
    """Have another process read a file; return what `_read_bounded` does."""
    child = start_reader()
    assert child.stdin and child.stdout  # noqa: S101, PT018  (pipes)
    try:
        child.stdin.write(_SIZE.pack(len(data)) + data)
        child.stdin.flush()
        head, size = json.loads(child.stdout.readline()), child.stdout.read(_SIZE.size)
        return head, child.stdout.read(*_SIZE.unpack(size))
    except (OSError, ValueError, struct.error):
        start_reader.cache_clear()
        _end(child)
        raise UnreadableError("the process that reads it ends") from None


def read_here() -> None:
    """Have this process read files from now on: a damaged one may end it, as the bounds may."""
    os.environ[_THREADS] = "1"
    _bound_memory()
    _HERE.set()


@cache
def start_reader() -> subprocess.Popen[bytes]:
    """Start the process that reads, which takes half a second; it ends when this one does."""
    # -P: nothing of the working directory is run, which may be a stranger's.
    words = [sys.executable, "-P", "-m", __name__]
    env = {**os.environ, _THREADS: "1"}
    child = subprocess.Popen(
        words,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        pipesize=_PIPE_BYTES,
    )
    Finalize(None, _end, (child,), exitpriority=0)  # at the end of a forked process as well
    return child


def _end(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    for pipe in filter(None, (child.stdin, child.stdout)):
        with contextlib.suppress(OSError):  # what nobody takes any more
            pipe.close()
    child.wait()


def _read(data: bytes) -> tuple[_Parts, bytes]:
    """Return which readings follow each other, and all as bytes.

    Of a boot that we wrote, these are its groups; of others' they may come in several parts.
    """
    import polars as pl

    file, schema = io.BytesIO(data), _schema()
    table = pl.read_parquet(file, n_rows=MAX_ROWS + 1, parallel="none", use_statistics=False)
    if len(table) > MAX_ROWS:
        rows = pl.scan_parquet(file).select(pl.len()).collect().item()
        raise UnreadableError(f"it has {rows} rows; at most {MAX_ROWS}")
    if table.schema != schema:
        kinds = (f"{name} {kind}" for name, kind in table.schema.items())
        raise UnreadableError(f"its columns are {', '.join(kinds)}, not {', '.join(schema)}")
    if table["benchmark"].null_count() or table["value"].null_count():
        raise UnreadableError("a reading is null")
    values = table["value"].to_numpy()
    if values.max(initial=0) > MAX_VALUE:
        raise UnreadableError(f"a reading beyond {MAX_VALUE}")
    runs = table.select(pl.struct("benchmark", "delay_ns").rle().struct.unnest())
    parts = runs.select(pl.col("value").struct.unnest(), "len")
    longest = parts.select(pl.col("benchmark").str.len_bytes().max()).item() or 0
    if len(parts) > _MAX_GROUPS or longest > _MAX_NAME:
        raise UnreadableError("too many benchmarks, or one with too long a name")
    return parts.rows(), values.astype("<u8").tobytes()


def _bound_memory() -> None:
    _schema()  # polars is loaded before there is a limit
    most = min(_MEMORY_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1] % _NO_LIMIT)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _read_bounded(data: bytes) -> tuple[_Parts | str, bytes]:
    """Return what `_read` does within a bound on time, or why it cannot."""
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = round(used.ru_utime + used.ru_stime) + _CPU_S
    resource.setrlimit(resource.RLIMIT_CPU, (min(limit, hard % _NO_LIMIT), hard))
    try:
        return _read(data)
    except BaseException as error:  # noqa: BLE001  (a panic of polars is no Exception)
        return (str(error).splitlines() or [""])[0][:_MAX_WHY], b""


def _serve() -> None:
    """Read one file after the other from standard input, until it ends."""
    _bound_memory()
    while size := sys.stdin.buffer.read(_SIZE.size):
        head, values = _read_bounded(sys.stdin.buffer.read(*_SIZE.unpack(size)))
        line = json.dumps(head).encode() + b"\n"
        sys.stdout.buffer.write(line + _SIZE.pack(len(values)) + values)
        sys.stdout.buffer.flush()
    os._exit(0)


if __name__ == "__main__":
    _serve()
