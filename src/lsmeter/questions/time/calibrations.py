# SPDX-License-Identifier: GPL-2.0-or-later
"""Calibrations as files that people share: written with a digest, read strictly and bounded."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from pydantic import TypeAdapter

from lsmeter.core.errors import LsmeterError, UsageError
from lsmeter.core.host import microcode, processor, vulnerabilities
from lsmeter.core.inputs import check_shape, open_file
from lsmeter.core.registry import nearest
from lsmeter.core.storage import data_dir, write_atomic
from lsmeter.measure.results.documents import (
    SEALED,
    DamagedResultError,
    read_document,
    sealed,
    texts_of,
    validated,
)
from lsmeter.questions.time.calibration import Calibration, Host
from lsmeter.questions.time.expected import CYCLES
from lsmeter.questions.time.fit import LEAST_OPERATIONS
from lsmeter.tables.data import plain

FORMAT = "lsmeter-calibration"
# Since 3 it carries a digest as all files of results do, since 4 the error of overheads.
_FIRST, VERSION = SEALED, 4
_MOST_TEXT = 200
_MOST_NS = 1e12
_KIND = TypeAdapter(Calibration)


def folder() -> Path:
    """Return where calibrations are kept; it may not exist yet."""
    return data_dir() / "calibrations"


def to_bytes(item: Calibration) -> bytes:
    """Write a calibration as its file has it."""
    content = plain(item)
    assert isinstance(content, dict)  # noqa: S101  (what a dataclass becomes)
    return sealed(FORMAT, VERSION, content)


def keep(item: Calibration) -> Path:
    """Store a calibration of this host, and return where."""
    path = folder() / f"{item.name}.json"
    write_atomic(path, to_bytes(item))
    return path


def read_calibration(path: Path) -> Calibration:
    """Read a calibration that anybody may have made; what is wrong is said in one line."""
    try:
        open_file(path, "--calibration").close()
    except OSError as error:
        raise UsageError(f"--calibration: cannot read {path}: {error.strerror}") from error
    document = read_document(path, FORMAT, (_FIRST, VERSION))
    check_shape(document, str(path))
    content = {key: value for key, value in document.items() if key not in _SEAL}
    if unknown := sorted(content.keys() - _FIELDS):
        raise DamagedResultError(path, f"unknown key {unknown[0]!r:.60}")
    found = validated(_KIND, content, path)
    if why := next(_wrong(found), ""):
        raise DamagedResultError(path, why)
    return found


_SEAL = frozenset({"format", "version", "sha256"})
_FIELDS = frozenset(Calibration.__dataclass_fields__)


def find_calibration(named: str) -> Calibration:
    """Return the calibration in a file, or of this host by its name."""
    path = folder() / f"{named}.json"
    if "/" in named or named.endswith(".json") or not path.is_file():
        if Path(named).exists() or "/" in named:
            return read_calibration(Path(named))
        known = [item.stem for item in _files()]
        raise UsageError(
            f"--calibration: no file and no calibration is called {named!r}{nearest(named, known)}",
            hint="lsmeter calibrate show lists those of this host",
        )
    return read_calibration(path)


def kept() -> tuple[Calibration, ...]:
    """Return the calibrations that are stored here, the newest first; damaged ones are left out."""
    found = []
    for path in _files():
        with suppress(LsmeterError):
            found.append(read_calibration(path))
    return tuple(sorted(found, key=lambda item: item.created, reverse=True))


def of_host(host: Host) -> Calibration | None:
    """Return the newest calibration of a host: same processor, microcode and kernel."""
    return next((item for item in kept() if item.host.like(host)), None)


def this_host() -> Host:
    """Return the machine that lsmeter itself runs on."""
    return Host(processor(), microcode(), platform.release(), vulnerabilities())


def _files() -> Iterable[Path]:
    return sorted(folder().glob("*.json"))


def _wrong(item: Calibration) -> Iterator[str]:
    """Say what no type can: numbers that are none, events that nothing counts, too little."""
    if stray := sorted({*item.weights_ns, *item.seen} - CYCLES.keys()):
        yield f"there is no event {stray[0]!r:.60}"
    if not item.weights_ns:
        yield "it has no weights"
    pairs = [(part.measured_ns, part.predicted_ns) for part in item.left_out]
    ranges = [(seen.least, seen.most) for seen in (item.insns, *item.seen.values())]
    numbers = [*item.weights_ns.values(), item.stiffness, *(x for pair in pairs for x in pair)]
    if item.overheads is not None:
        numbers += [item.overheads.changed, item.overheads.median, item.overheads.most]
    numbers += [x for pair in ranges for x in pair]
    if not all(math.isfinite(x) and 0 <= x <= _MOST_NS for x in numbers):
        yield "a number is below 0, too large or none"
    if any(least > most for least, most in ranges):
        yield "a range ends before it begins"
    if any(measured <= 0 for measured, _ in pairs):
        yield "a benchmark that takes no time"
    if len(item.operations) < LEAST_OPERATIONS:
        yield f"it covers {len(item.operations)} operations; at least {LEAST_OPERATIONS} are needed"
    if item.blocks < 1:
        yield "it was made of no block"
    if any(len(text) > _MOST_TEXT or not text.isprintable() for text in texts_of(plain(item))):
        yield f"a text of more than {_MOST_TEXT} letters, or one that cannot be printed"
