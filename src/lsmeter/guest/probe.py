# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the probe and asks it which benchmarks it has; the list lives in the probe alone."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lsmeter.errors import BuildError
from lsmeter.model import Benchmark, Metric, ParamValue

CATALOGUE_HEADER = "lsmeter-catalogue\t2"
_DEADLINE_S = 10
_MAX_BYTES = 1 << 20
_WORD = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_PARAM = re.compile(r"([a-z][a-z0-9_-]{0,31})=([a-z0-9][a-z0-9_.-]{0,31})")
_CALLS = re.compile(r"(?:[a-z][a-z0-9_.]{0,31}(?:\+[a-z][a-z0-9_.]{0,31}){0,15})?")
_REBUILD = "build it again: pip install . (or make -C probe, and set LSMETER_PROBE)"


@dataclass(frozen=True)
class Probe:
    """The static binary that is the guest's init and sampler."""

    path: Path
    sha256: str


def find_probe() -> Probe:
    """Return the probe that LSMETER_PROBE names, or the one shipped in this package.

    Raises BuildError when there is none.
    """
    named = os.environ.get("LSMETER_PROBE")
    path = Path(named) if named else Path(__file__).parent.parent / "_bin" / "lsmeter-probe"
    try:
        data = path.read_bytes()
    except OSError as error:
        where = "LSMETER_PROBE names" if named else "this installation should have"
        raise BuildError(
            f"no probe: {where} {path}, which cannot be read: {error.strerror}", hint=_REBUILD
        ) from error
    return Probe(path, hashlib.sha256(data).hexdigest())


def catalogue(probe: Probe) -> tuple[Benchmark, ...]:
    """Return every benchmark of `probe`, by running it on this host.

    Raises BuildError when it does not run, or says what is no catalogue.
    """
    try:
        done = subprocess.run(
            [str(probe.path), "catalogue"],
            capture_output=True,
            timeout=_DEADLINE_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"the probe {probe.path} does not run: {error}", hint=_REBUILD) from error
    if done.returncode != 0 or len(done.stdout) > _MAX_BYTES:
        raise BuildError(
            f"the probe {probe.path} gave no catalogue (exit status {done.returncode})",
            hint=_REBUILD,
        )
    try:
        return parse_catalogue(done.stdout.decode("ascii"))
    except ValueError as error:
        raise BuildError(f"the probe {probe.path}: {error}", hint=_REBUILD) from error


def parse_catalogue(text: str) -> tuple[Benchmark, ...]:
    """Read the catalogue that the probe prints; ValueError with the line that is wrong."""
    lines = text.split("\n")
    if lines[0] != CATALOGUE_HEADER:
        raise ValueError(f"catalogue: expected '{CATALOGUE_HEADER}' first, got {lines[0]!r:.60}")
    if lines.pop() != "":
        raise ValueError("catalogue: does not end with a newline")
    benchmarks: list[Benchmark] = []
    known: set[tuple[str, str]] = set()
    for number, line in enumerate(lines[1:], 2):
        try:
            benchmark = _parse_line(line)
        except ValueError as error:
            raise ValueError(f"catalogue line {number}: {error}") from error
        if (benchmark.suite, benchmark.id) in known:
            raise ValueError(f"catalogue line {number}: {benchmark.id} is there twice")
        known.add((benchmark.suite, benchmark.id))
        benchmarks.append(benchmark)
    return tuple(benchmarks)


def _parse_line(line: str) -> Benchmark:
    fields = line.split("\t")
    if len(fields) != 8:
        raise ValueError(f"expected 8 fields, got {len(fields)}")
    suite, operation, params, origin, control, title, calls, cycle = fields
    for word in (suite, operation, origin):
        if not _WORD.fullmatch(word):
            raise ValueError(f"not a name: {word!r:.60}")
    if control not in {"0", "1"}:
        raise ValueError(f"control must be 0 or 1, not {control!r:.60}")
    for names in (calls, cycle):
        if not _CALLS.fullmatch(names):
            raise ValueError(f"not system calls: {names!r:.60}")
    if not title.isprintable() or not title:
        raise ValueError("the title is empty or not printable")
    return Benchmark(
        suite=suite,
        operation=operation,
        params=_parse_params(params),
        metric=Metric("latency", "insns"),
        title=title,
        origin=origin,
        control=control == "1",
        calls=calls,
        cycle=cycle,
    )


def _parse_params(text: str) -> tuple[tuple[str, ParamValue], ...]:
    params: list[tuple[str, ParamValue]] = []
    for part in text.split(",") if text else ():
        match = _PARAM.fullmatch(part)
        if match is None:
            raise ValueError(f"not a parameter: {part!r:.60}")
        key, value = match.groups()
        params.append((key, int(value) if value.isdigit() else value))
    return tuple(params)
