# SPDX-License-Identifier: GPL-2.0-or-later
"""Workloads: real services under load, one TOML file each; a user's own is named by its path.

Nothing in a file is run on this machine. `lsmeter help workloads` lists the keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from lsmeter.core.errors import UsageError
from lsmeter.core.inputs import beside
from lsmeter.core.model import Benchmark, Metric, ParamValue, Sampling
from lsmeter.core.model.workload import Batch, Denial, Service, Workload
from lsmeter.core.registry import unknown
from lsmeter.core.toml_file import checked, read_toml

SUFFIX = ".toml"
_HOME = Path(__file__).parent
_HINT = "every key: lsmeter help workloads"
_PLACE = re.compile(r"\{([a-z][a-z0-9_-]{0,49})\}")
_MOST_BENCHMARKS = 128  # of one workload, as probe/protocol/limits.h has it
_MOST_UNITS = 1_000_000  # of a batch

_Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,49}$")]
_Word = Annotated[str, Field(pattern=r"^[ -~]{1,500}$")]
_Words = Annotated[tuple[_Word, ...], Field(min_length=1, max_length=40, strict=False)]
_Text = Annotated[str, Field(min_length=1, max_length=200)]
_Value = Annotated[int, Field(ge=0, le=10**9)] | _Name


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class _Service(_Table):
    name: _Name
    process: Annotated[str, Field(pattern=r"^[!-.0-~]{1,15}$")]
    start: _Words
    ready: _Words
    selinux: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,99}$")] | Literal[""] = ""
    apparmor: Annotated[str, Field(pattern=r"^[!-~]{1,200}$")] | Literal[""] = ""


class _Denial(_Table):
    name: _Name
    ask: _Words
    allowed: _Text
    denied: _Text


class _Benchmark(_Table):
    """One benchmark, or one for each combination of the values of its parameters."""

    operation: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,30}$")]
    title: _Text
    units: int = Field(ge=1, le=_MOST_UNITS)
    client: _Words
    params: dict[_Name, Annotated[list[_Value], Field(min_length=1, max_length=50)] | _Value] = {}
    account: Literal["client", "service"] = "client"


class _File(_Table):
    title: _Text
    unit: Annotated[str, Field(pattern=r"^[a-z][a-z -]{0,29}$")]
    image: Annotated[str, Field(pattern=r"^[!-~]{1,200}$")] = "servers"
    origin: _Text = "lsmeter"
    memory_mib: int = Field(512, ge=256, le=1472)  # with the image, below QEMU's hole at 3 GiB
    settle_ms: int = Field(40, ge=0, le=10_000)
    disk_us: int = Field(0, ge=0, le=100_000)
    warmup: int = Field(1, ge=1, le=1000)
    batches: int = Field(4, ge=2, le=1000)
    place: Annotated[tuple[_Name, ...], Field(max_length=8, strict=False)] = ()
    services: Annotated[list[_Service], Field(max_length=8)] = []
    checks: Annotated[list[_Denial], Field(max_length=16)] = []
    benchmarks: Annotated[list[_Benchmark], Field(min_length=1, max_length=_MOST_BENCHMARKS)]


@dataclass(frozen=True)
class Offer:
    """A workload as its file offers it: with all of its benchmarks, and how to sample them."""

    title: str
    workload: Workload
    benchmarks: tuple[Benchmark, ...]
    sampling: Sampling


def workload_names() -> tuple[str, ...]:
    """Return the names of the workloads that come with lsmeter."""
    return tuple(sorted(path.stem for path in _HOME.glob(f"*{SUFFIX}")))


def is_workload(word: str) -> bool:
    """Tell whether a suite's name is that of a workload: one of lsmeter's, or a user's file."""
    return word.endswith(SUFFIX) or word in workload_names()


def load_workload(word: str) -> Offer:
    """Return the workload that `word` names, or the user's own file (`./mine.toml`)."""
    own = word.endswith(SUFFIX)
    if not own and word not in workload_names():
        raise unknown("workload", word, workload_names(), where="--suite")
    path = Path(word).expanduser() if own else _HOME / f"{word}{SUFFIX}"
    data = read_toml(path, "a workload file", hint=_HINT, where="--suite")
    table = checked(_File, data, where=str(path), hint=_HINT)
    name = path.name.removesuffix(SUFFIX)
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,49}", name):
        raise UsageError(
            f"{path}: '{name[:60]}' cannot name a workload",
            hint="call the file by small letters, digits and '-': my-service.toml",
        )
    return _offer(name, table, path)


def _offer(name: str, table: _File, path: Path) -> Offer:
    benchmarks: dict[str, Benchmark] = {}
    batches: list[Batch] = []
    for item in table.benchmarks:
        for params in _combinations(item.params):
            benchmark = Benchmark(
                suite=name,
                operation=item.operation,
                params=params,
                metric=Metric("instructions"),
                title=item.title,
                origin=table.origin,
            )
            if benchmarks.setdefault(benchmark.id, benchmark) is not benchmark:
                raise UsageError(f"{path}: two benchmarks are '{benchmark.id}'", hint=_HINT)
            values = dict(params)
            units = max(item.units, _at_once(values, path))
            client = tuple(_filled(item.client, units, values, path))
            batches.append(Batch(benchmark.id, units, client, item.account))
    if len(batches) > _MOST_BENCHMARKS:
        raise UsageError(f"{path}: {len(batches)} benchmarks, at most {_MOST_BENCHMARKS}")
    workload = Workload(
        name=name,
        unit=table.unit,
        image=_image(path, table.image),
        memory_mib=table.memory_mib,
        settle_ms=table.settle_ms,
        disk_us=table.disk_us,
        place=table.place,
        services=tuple(Service(**item.model_dump()) for item in table.services),
        denials=tuple(Denial(**item.model_dump()) for item in table.checks),
        batches=tuple(batches),
    )
    sampling = Sampling(samples=table.batches, warmup=table.warmup, whole_ppm=0)
    return Offer(table.title, workload, tuple(benchmarks.values()), sampling)


def _combinations(
    params: Mapping[str, list[int | str] | int | str],
) -> Iterator[tuple[tuple[str, ParamValue], ...]]:
    values = [value if isinstance(value, list) else [value] for value in params.values()]
    for chosen in product(*values):
        yield tuple(zip(params, chosen, strict=True))


def _at_once(params: Mapping[str, ParamValue], path: Path) -> int:
    """Return how many units are asked for at once, which a batch has at least; 0: not said."""
    value = params.get("concurrency", 0)
    if not isinstance(value, int):
        return 0
    if value > _MOST_UNITS:
        raise UsageError(f"{path}: concurrency: {value} at once, at most {_MOST_UNITS}", hint=_HINT)
    return value


def _image(path: Path, name: str) -> str:
    """Return what an image is asked for by: a name, or a path, which has a slash."""
    found = str(beside(path, name, f"{path}: image")) if "/" in name else name
    return found if "/" in found or found == name else f"./{found}"


def _filled(
    words: tuple[str, ...], units: int, params: Mapping[str, ParamValue], path: Path
) -> Iterator[str]:
    """Put the number of units and the parameters where a client's words ask for them."""
    known = {"units": units, **params}
    for word in words:
        for name in _PLACE.findall(word):
            if name not in known:
                raise unknown(f"value in '{word[:40]}'", name, known, where=f"{path}: client")
        yield _PLACE.sub(lambda found: str(known[found[1]]), word)
