# SPDX-License-Identifier: GPL-2.0-or-later
"""An example from history: low-water-mark integrity as in LOMAC (2001), as BPF LSM programs.

The rules are in bpf/lomac.bpf.c; docs/lomac.md has them in words, with what was measured.
"""

from lsmeter.model import Expectation, Setup
from lsmeter.policy import TRY, WORK, WORK_DIRECTORY, Layer, Proof, SetupFile, Step, run
from lsmeter.setup import Choice, Values, name_with, with_parameters

_PARAMETERS = (
    Choice(
        "level",
        "level of the measured process and of the files that it works on",
        default="high",
        choices=("high", "low"),
    ),
)
_HIGH, _LOW = "/lomac/high/file", "/lomac/low/file"
_FIXTURE = (
    *(Step("mkdir", (path,)) for path in ("/lomac", "/lomac/high", "/lomac/low")),
    *(Step("file", (path, "x")) for path in (_HIGH, _LOW)),
)
_LEVELS = {
    "high": ("/=high", "/lomac/low=low"),
    # /proc holds the file through which a worker has caches dropped.
    "low": ("/=high", "/lomac/low=low", f"{WORK_DIRECTORY}=low", "/proc=low"),
}


def _steps(level: str) -> tuple[Step, ...]:
    loading = run("/setup/lsmeter-bpf", "lomac", *_LEVELS[level], title="loading the programs")
    # The guest's first program takes this step itself: it falls, and every worker inherits that.
    fall = (Step("load", (_LOW, _LOW)),) if level == "low" else ()
    return (WORK, *_FIXTURE, TRY, loading, *fall)


def _proofs(level: str) -> tuple[Proof, ...]:
    return (
        Proof("low-to-high", "copy", f"{_LOW}:{_HIGH}", denied=True),
        Proof("high-to-high", "copy", f"{_HIGH}:{_HIGH}", denied=level == "low"),
        Proof("low-to-low", "copy", f"{_LOW}:{_LOW}", denied=False),
        Proof("read-high", "read", _HIGH, denied=False),
    )


def _configure(values: Values) -> Setup:
    level = values.word("level")
    return Setup(
        name=name_with("lomac", values, _PARAMETERS),
        title=f"LOMAC's low-water-mark rules as BPF programs, processes and files {level}",
        lsms=("bpf",),
        expect=(Expectation("bpf", "1", "the kernel must call the programs"),),
        needs_config=("BPF_LSM", "DEBUG_INFO_BTF"),
        files=(SetupFile("lsmeter-bpf", program="lsmeter-bpf"),),
        steps=_steps(level),
        proofs=_proofs(level),
        over="bpf",
        layer=Layer.POLICY,
        note="levels of files and processes only: pipes, sockets and signals are let through",
    )


SETUP = with_parameters(_PARAMETERS, _configure)
