# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads what `hooks count --format json` and `slopes --format json` wrote: strict and bounded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lsmeter.errors import UsageError
from lsmeter.hooks.agreement.gather import CountedBenchmark, SlopedBenchmark
from lsmeter.hooks.agreement.model import CountedRuns, SlopeReading

MAX_BYTES = 64 * 1024 * 1024
_MAX_RUNS = 10**9

Name = Annotated[str, Field(min_length=1, max_length=200)]
_STRICT = ConfigDict(strict=True, frozen=True, extra="ignore", allow_inf_nan=False)
Document = TypeVar("Document", bound=BaseModel)


class _Count(BaseModel):
    model_config = _STRICT
    kernel: Name
    setup: Name
    benchmark: Name
    hook: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,99}$")]
    runs: Annotated[int, Field(ge=0, le=_MAX_RUNS)]
    steady: bool


class _Counts(BaseModel):
    model_config = _STRICT
    format_version: Literal[1]
    counts: list[_Count]


class _Slope(BaseModel):
    model_config = _STRICT
    kernel: Name
    setup: Name
    benchmark: Name
    params: dict[Name, int | Name]
    slope: float
    authorisations: int | None
    authorisations_reason: Annotated[str, Field(max_length=2000)]


class _Slopes(BaseModel):
    model_config = _STRICT
    format: Literal["lsmeter-slopes"]
    version: Literal[1]
    slopes: list[_Slope]


def read_counts(path: Path) -> tuple[CountedBenchmark, ...]:
    """Read the counts of hooks; UsageError says what is wrong with the file."""
    document = _read(path, _Counts, "--counts", "lsmeter hooks count --format json")
    found: dict[tuple[str, str, str], dict[str, CountedRuns]] = {}
    for item in document.counts:
        hooks = found.setdefault((item.kernel, item.setup, item.benchmark), {})
        name = item.hook if item.hook.startswith("security_") else f"security_{item.hook}"
        if name in hooks:
            raise UsageError(
                f"--counts {path}: {name} stands twice for {item.benchmark} "
                f"({item.setup} on {item.kernel})"
            )
        hooks[name] = CountedRuns(item.runs, item.steady)
    return tuple(CountedBenchmark(*key, hooks) for key, hooks in found.items())


def read_slopes(path: Path) -> tuple[SlopedBenchmark, ...]:
    """Read the slopes of a sweep; UsageError says what is wrong with the file."""
    document = _read(path, _Slopes, "--slopes", "lsmeter slopes --format json -o FILE")
    return tuple(
        SlopedBenchmark(
            item.kernel,
            " ".join((item.benchmark, *(f"{key}={value}" for key, value in item.params.items()))),
            SlopeReading(item.setup, item.slope, item.authorisations, item.authorisations_reason),
        )
        for item in document.slopes
    )


def _read(path: Path, form: type[Document], option: str, command: str) -> Document:
    hint = f"make it: {command}"
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.strerror or error}", hint=hint) from error
    if len(data) > MAX_BYTES:
        raise UsageError(f"{option} {path}: larger than {MAX_BYTES} bytes", hint=hint)
    try:
        return form.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        where = f"{option} {path}: {key}: " if key else f"{option} {path}: "
        raise UsageError(f"{where}{first['msg']}", hint=hint) from None
