# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads what `hooks count --format json` and `slopes --format json` wrote: strict and bounded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lsmeter.errors import UsageError
from lsmeter.hooks.agreement.gather import CountedBenchmark, SlopedBenchmark
from lsmeter.hooks.agreement.model import CountedRuns, Place, SlopeReading

MAX_BYTES = 64 * 1024 * 1024
_MAX_RUNS = 10**9

Name = Annotated[str, Field(min_length=1, max_length=200)]
_STRICT = ConfigDict(strict=True, frozen=True, extra="ignore", allow_inf_nan=False)
Document = TypeVar("Document", bound=BaseModel)


class _Counted(BaseModel):
    """A benchmark of one kernel and setup."""

    model_config = _STRICT
    kernel: Name
    setup: Name
    benchmark: Name
    params: dict[Name, int | Name]

    @property
    def key(self) -> tuple[str, str, str]:
        return self.kernel, self.setup, _id(self.benchmark, self.params)


class _Count(_Counted):
    hook: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,99}$")]
    runs: Annotated[int, Field(ge=0, le=_MAX_RUNS)]
    steady: bool


class _Problem(BaseModel):
    model_config = _STRICT
    title: Annotated[str, Field(max_length=2000)]
    detail: Annotated[str, Field(max_length=20_000)]


class CountsFile(BaseModel):
    """What `hooks count --format json` writes, as far as it is needed."""

    model_config = _STRICT
    format: Literal["lsmeter-hook-counts"]
    version: Literal[1]
    filesystem: Name
    user: Name
    benchmarks: list[_Counted]
    counts: list[_Count]
    problems: list[_Problem]


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
    filesystem: Name
    user: Name
    slopes: list[_Slope]


def read_counts(path: Path) -> tuple[tuple[CountedBenchmark, ...], tuple[str, ...]]:
    """Read the counts of hooks, and one line for each problem that counting had.

    UsageError says what is wrong with the file. A benchmark that is listed without a count of a
    hook did not run it.
    """
    document = _read(path, CountsFile, "--counts", "lsmeter hooks count --format json -o FILE")
    found: dict[tuple[str, str, str], dict[str, CountedRuns]] = {
        item.key: {} for item in document.benchmarks
    }
    for item in document.counts:
        kernel, setup, benchmark = item.key
        hooks = found.get(item.key)
        name = item.hook if item.hook.startswith("security_") else f"security_{item.hook}"
        where = f"{benchmark} ({setup} on {kernel})"
        if hooks is None:
            raise UsageError(f"--counts {path}: {name}: {where} is not among its benchmarks")
        if name in hooks:
            raise UsageError(f"--counts {path}: {name} stands twice for {where}")
        hooks[name] = CountedRuns(item.runs, item.steady)
    problems = tuple(
        f"counting: {item.title}" + (f": {item.detail}" if item.detail else "")
        for item in document.problems
    )
    counted = tuple(
        CountedBenchmark(Place(kernel, setup, document.filesystem, document.user), name, hooks)
        for (kernel, setup, name), hooks in found.items()
    )
    return counted, problems


def read_slopes(path: Path) -> tuple[SlopedBenchmark, ...]:
    """Read the slopes of a sweep; UsageError says what is wrong with the file."""
    document = _read(path, _Slopes, "--slopes", "lsmeter slopes --format json -o FILE")
    return tuple(
        SlopedBenchmark(
            Place(item.kernel, item.setup, document.filesystem, document.user),
            _id(item.benchmark, item.params),
            SlopeReading(item.setup, item.slope, item.authorisations, item.authorisations_reason),
        )
        for item in document.slopes
    )


def _id(operation: str, params: Mapping[str, int | str]) -> str:
    """Name a benchmark as its own id does."""
    return " ".join((operation, *(f"{key}={value}" for key, value in params.items())))


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
