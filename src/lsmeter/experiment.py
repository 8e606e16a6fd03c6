# SPDX-License-Identifier: GPL-2.0-or-later
"""What a person asks for: an experiment as a TOML file, with the command line's words over it.

Names are checked here for their form only; kernels, setups and benchmarks are looked up by the
plan. Every error names the file, the key, what was expected and the nearest valid name.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lsmeter.errors import UsageError
from lsmeter.model import Conditions, Instrument, Sampling
from lsmeter.registry import nearest
from lsmeter.toml_file import read_toml

Name = Annotated[str, Field(min_length=1, max_length=400)]
Names = Annotated[list[Name], Field(min_length=1, max_length=200)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class SamplingTable(_Strict):
    """The `[sampling]` table."""

    samples: int = Field(Sampling.samples, ge=1, le=100_000)
    warmup: int = Field(Sampling.warmup, ge=0, le=100_000)
    cold: bool = Sampling.cold
    whole_ppm: int = Field(Sampling.whole_ppm, ge=0, le=1_000_000)


class ConditionsTable(_Strict):
    """The `[conditions]` table: what changes counts without being the security setup."""

    mitigations: Literal["off", "auto", "forced"] = "off"
    init_on_alloc: bool = Conditions.init_on_alloc
    tick: Literal["nohz", "periodic"] = "nohz"
    slabs: Literal["default", "single"] = "default"
    icount_shift: int = Field(Conditions.icount_shift, ge=0, le=10)
    cpu: str = Field(Conditions.cpu, pattern=r"^[A-Za-z0-9_.,+=-]{1,200}$")
    memory_mib: int = Field(Conditions.memory_mib, ge=128, le=65536)


class Experiment(_Strict):
    """One experiment: factors (kernels, setups, file systems, users), and how to measure.

    margin is the overhead, as a fraction, below which two costs count as equivalent.
    """

    title: str = Field("", max_length=200)
    question: str = Field("", max_length=4000)
    kernels: Names = ["debian:6.1"]
    setups: Names = ["capability", "selinux", "apparmor", "tomoyo", "landlock", "bpf"]
    baseline: Name | None = None
    suites: Names = ["file"]
    benchmarks: Names = ["*"]
    filesystems: Names = ["tmpfs"]
    users: Annotated[list[Literal["root", "user"]], Field(min_length=1)] = ["root"]
    image: Name | None = None
    instrument: Literal["exact"] = "exact"
    boots: int = Field(2, ge=1, le=1000)
    seed: int = Field(42, ge=0, le=2**31)
    margin: float = Field(0.01, ge=0.0, le=10.0, strict=False)
    sampling: SamplingTable = SamplingTable()
    conditions: ConditionsTable = ConditionsTable()

    @property
    def baseline_setup(self) -> str:
        """The setup that the others are compared with: dac, else capability, else the first."""
        if self.baseline is not None:
            return self.baseline
        for name in ("dac", "capability"):
            if name in self.setups:
                return name
        return self.setups[0]

    def sampling_model(self) -> Sampling:
        """Return the sampling as the model's type."""
        return Sampling(**self.sampling.model_dump())

    def conditions_model(self) -> Conditions:
        """Return the conditions as the model's type."""
        return Conditions(**self.conditions.model_dump())

    def instrument_model(self) -> Instrument:
        """Return the instrument as the model's type."""
        return Instrument(self.instrument)


def read_experiment(path: Path) -> dict[str, Any]:
    """Read a TOML file into plain data; raise UsageError that names the file and the place."""
    return read_toml(
        path,
        "an experiment file",
        hint="examples are in experiments/; without a file the main experiment is run",
        missing="no such experiment file",
    )


def build_experiment(data: dict[str, Any], *, where: str) -> Experiment:
    """Check plain data (a file's, with the command line's words over it) into an Experiment."""
    try:
        return Experiment.model_validate(data)
    except ValidationError as error:
        raise _first_error(error, where) from None


def merge(data: dict[str, Any], words: dict[str, Any]) -> dict[str, Any]:
    """Lay the command line's words over a file's data; None means: not said."""
    merged = dict(data)
    for key, value in words.items():
        if isinstance(value, dict):
            table = merged.get(key, {})
            merged[key] = merge(table if isinstance(table, dict) else {}, value)
        elif value is not None:
            merged[key] = value
    return merged


def _first_error(error: ValidationError, where: str) -> UsageError:
    first = error.errors()[0]
    place = [str(part) for part in first["loc"]]
    key = ".".join(place) or "(top level)"
    if first["type"] == "extra_forbidden":
        return _unknown_key(place, where)
    expected = first["msg"].replace("Input should be", "expected").replace("Value error, ", "")
    given = str(first.get("input"))[:60]
    return UsageError(
        f"{where}: {key}: {expected[0].lower()}{expected[1:]}, not {given!r}",
        hint="docs/experiments.md lists every key with its type",
    )


def _unknown_key(place: list[str], where: str) -> UsageError:
    tables: dict[str, type[BaseModel]] = {"sampling": SamplingTable, "conditions": ConditionsTable}
    table = tables.get(place[0], Experiment) if len(place) > 1 else Experiment
    known = sorted(table.model_fields)
    return UsageError(
        f"{where}: unknown key '{'.'.join(place)[:80]}'{nearest(place[-1], known)}",
        hint=f"known keys: {', '.join(known)}",
    )
