# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds what was compiled for guests, and asks the probe which benchmarks it has.

The list of benchmarks lives in the probe alone.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lsmeter.core import process
from lsmeter.core.errors import BuildError, InfrastructureError
from lsmeter.core.inputs import read_file
from lsmeter.core.model import Benchmark, Metric
from lsmeter.core.model.arch import X86_64, Arch, arch_of_host
from lsmeter.guest.given import PROBE, given

CATALOGUE_VERSION = 4
_HEADER = f"lsmeter-catalogue\t{CATALOGUE_VERSION}"
_DEADLINE_S = 10
_MAX_BYTES = 1 << 20
_WORD = r"[a-z][a-z0-9_-]{0,31}"
_PARAM = rf"{_WORD}=[a-z0-9][a-z0-9_.-]{{0,31}}"
_CALL = r"[a-z][a-z0-9_.]{0,31}"
_CALLS = ("system calls", rf"(?:{_CALL}(?:\+{_CALL}){{0,15}})?")
# The fields of a line: what each is, and its form.
_FIELDS = {
    "suite": ("a name", _WORD),
    "operation": ("a name", _WORD),
    "params": ("parameters", rf"(?:{_PARAM}(?:,{_PARAM})*)?"),
    "origin": ("a name", _WORD),
    "control": ("0 or 1", "[01]"),
    "title": ("printable", "[ -~]+"),
    "calls": _CALLS,
    "cycle": _CALLS,
    "components": ("a number of components", "0|[1-9][0-9]{0,3}"),
    "populous": ("0 or 1", "[01]"),
}
_MOST_BYTES = 64 << 20
SHIPPED = Path(__file__).parent.parent / "_bin"
# What setups run in the guest, with the packages (of Debian) that compiling it takes.
PACKAGES = {"lsmeter-bpf": "clang libbpf-dev libelf-dev zlib1g-dev"}
_REBUILD = "build it again: pip install . (or make -C probe, and set LSMETER_PROBE)"


@dataclass(frozen=True)
class Program:
    """What was compiled for guests: a file, and the digest of all that made it."""

    path: Path
    sha256: str


def find_probe(arch: Arch | None = None) -> Program:
    """Return the probe for an architecture, by default this machine's.

    For this machine it is the one that LSMETER_PROBE names, or the one shipped in this package.
    """
    if path := given(PROBE):
        return _program(path, f"no probe: {path} cannot be read", _REBUILD)
    if arch is not None and arch is not arch_of_host():
        return _program(
            SHIPPED / probe_name(arch),
            f"no probe for {arch.name}: this installation has no {probe_name(arch)}",
            f"apt-get install {arch.compiler_packages}, then install lsmeter again: pip install .",
        )
    named = os.environ.get("LSMETER_PROBE")
    where = "LSMETER_PROBE names" if named else "this installation should have"
    path = Path(named) if named else SHIPPED / probe_name(arch_of_host())
    return _program(path, f"no probe: {where} {path}, which cannot be read", _REBUILD)


def packages_for(program: str, arch: Arch) -> str:
    """Return the packages (of Debian) that compiling a program of a guest takes here."""
    clang, *libraries = PACKAGES[program].split()
    of = "" if arch is arch_of_host() else f":{arch.debian}"
    return " ".join((clang, *(f"{library}{of}" for library in libraries)))


def probe_name(arch: Arch) -> str:
    """Return the name of the file that is the probe for an architecture."""
    return f"lsmeter-probe{arch.suffix}"


def find_program(name: str, arch: Arch = X86_64) -> Program:
    """Return a program that was compiled when lsmeter was installed, by its name."""
    packages = packages_for(name, arch)
    return _program(
        given(name) or SHIPPED / f"{name}{arch.suffix}",
        f"no {name} for {arch.name}: lsmeter was installed on a machine without {packages}",
        f"apt-get install {packages}, then install lsmeter again: pip install .",
    )


def _program(path: Path, missing: str, hint: str) -> Program:
    try:
        return Program(path, hashlib.sha256(read_file(path, _MOST_BYTES, "a program")).hexdigest())
    except OSError as error:
        raise BuildError(f"{missing}: {error.strerror}", hint=hint) from error


def catalogue(probe: Program) -> tuple[Benchmark, ...]:
    """Return every benchmark of `probe`, by running it on this host."""
    try:
        done = process.run_bytes([str(probe.path), "catalogue"], deadline_s=_DEADLINE_S)
        if not done.returncode and len(done.stdout) <= _MAX_BYTES:
            return parse_catalogue(done.stdout.decode("ascii"))
        why = f"it gave no catalogue (exit status {done.returncode})"
    except (InfrastructureError, ValueError) as error:
        why = str(error)
    raise BuildError(f"the probe {probe.path}: {why}", hint=_REBUILD)


def host_command(prefix: str) -> tuple[str, ...]:
    """Return the command that says what of this machine decides how long things take."""
    return (str(find_probe().path), "host", prefix)


def parse_catalogue(text: str) -> tuple[Benchmark, ...]:
    """Read the catalogue that the probe prints; ValueError with the line that is wrong."""
    lines = text.split("\n")
    if lines[0] != _HEADER:
        raise ValueError(f"catalogue: expected '{_HEADER}' first, got {lines[0]!r:.60}")
    if lines.pop() != "":
        raise ValueError("catalogue: does not end with a newline")
    benchmarks: dict[str, Benchmark] = {}
    for number, line in enumerate(lines[1:], 2):
        try:
            benchmark = _parse_line(line)
        except ValueError as error:
            raise ValueError(f"catalogue line {number}: {error}") from error
        if benchmarks.setdefault(f"{benchmark.suite} {benchmark.id}", benchmark) is not benchmark:
            raise ValueError(f"catalogue line {number}: {benchmark.id} is there twice")
    return tuple(benchmarks.values())


def _parse_line(line: str) -> Benchmark:
    texts = line.split("\t")
    if len(texts) != len(_FIELDS):
        raise ValueError(f"expected {len(_FIELDS)} fields, got {len(texts)}")
    for text, (what, form) in zip(texts, _FIELDS.values(), strict=True):
        if not re.fullmatch(form, text):
            raise ValueError(f"not {what}: {text!r:.60}")
    found: dict[str, Any] = dict(zip(_FIELDS, texts, strict=True))
    params = (part.split("=") for part in found["params"].split(",") if part)
    found |= {
        "params": tuple((key, int(value) if value.isdigit() else value) for key, value in params),
        "control": found["control"] == "1",
        "components": int(found["components"]),
        "populous": found["populous"] == "1",
    }
    return Benchmark(metric=Metric("latency"), **found)
