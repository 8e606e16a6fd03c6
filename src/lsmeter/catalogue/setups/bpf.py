# SPDX-License-Identifier: GPL-2.0-or-later
"""BPF LSM: without a program, with empty ones, with an allow-list of directories, and LOMAC.

The list is in a hash map, looked up at each directory of a path and at each opening. LOMAC (2001)
is an example from history, low-water-mark integrity: its rules are in bpf/lomac.bpf.c, and
`lsmeter help lomac` has them in words, with what was measured.
"""

from dataclasses import replace

from lsmeter.catalogue.setups import _guest as guest
from lsmeter.catalogue.setups._definition import Choice, Parameter, SetupDefinition, Values
from lsmeter.core.model.setup import Expectation, Layer, Setup, SetupFile

ATTACHED = "the programs must be attached, and called by the kernel"
LOADER = "/setup/lsmeter-bpf"
_LISTED, _UNLISTED = f"{guest.WORK_DIRECTORY}/listed", f"{guest.WORK_DIRECTORY}/unlisted"
_BOTH = (_UNLISTED, _LISTED)
_HIGH, _LOW = "/lomac/high/file", "/lomac/low/file"
_LEVEL = "level of the measured process and of the files that it works on"
_LEVELS = {
    "high": ("/=high", "/lomac/low=low"),
    # /proc holds the file through which a worker has caches dropped.
    "low": ("/=high", "/lomac/low=low", f"{guest.WORK_DIRECTORY}=low", "/proc=low"),
}


_BPF = Setup(
    name="bpf",
    title="BPF LSM without programs",
    lsms=("bpf",),
    needs_config=("BPF_LSM",),
    note="no program attached: this measures hook overhead, not policy evaluation",
)
_EMPTY = replace(
    _BPF,
    name="bpf-empty",
    title="an empty BPF program on each hook of file operations",
    expect=(Expectation("bpf.empty", "called", ATTACHED),),
    guest=(("bpf.empty", "1"),),
    needs_config=("BPF_LSM", "DEBUG_INFO_BTF"),
    over="bpf",
    note="programs that grant at once: what calling them costs, not policy evaluation",
)
# Programs that lsmeter's own loader attaches.
LOADED = replace(
    _EMPTY,
    expect=(Expectation("bpf", "1", "the kernel must call the programs"),),
    guest=(),
    files=(SetupFile("lsmeter-bpf", program="lsmeter-bpf"),),
    layer=Layer.POLICY,
)


def _allow(values: Values) -> Setup:
    entries = values["entries"]
    return replace(
        LOADED,
        name=values.name("bpf-allow"),
        title=f"BPF programs with an allow-list of {entries} directories in a hash map",
        steps=(
            guest.WORK,
            *(guest.do("mkdir", path) for path in _BOTH),
            *(guest.do("own", path) for path in _BOTH),
            *(guest.do("file", f"{path}/file", "x") for path in _BOTH),
            guest.TRY,
            guest.do(
                "run",
                *(LOADER, "allow", str(entries), guest.WORK_DIRECTORY, _LISTED),
                title="loading the programs and their list",
            ),
        ),
        checks=(
            guest.denies("unlisted", "read", f"{_UNLISTED}/file"),
            guest.denies("unlisted-stat", "stat", f"{_UNLISTED}/file"),
            guest.denies("unlisted-create", "create", f"{_UNLISTED}/new"),
            guest.allows("listed", "read", f"{_LISTED}/file"),
            guest.allows("listed-create", "create", f"{_LISTED}/new"),
        ),
        note="the list is about the benchmarks' file system; a directory made later follows the "
        "one that it is in",
    )


def _lomac(values: Values) -> Setup:
    level = values.word("level")
    high_to_high = guest.denies if level == "low" else guest.allows
    return replace(
        LOADED,
        name=values.name("lomac"),
        title=f"LOMAC's low-water-mark rules as BPF programs, processes and files {level}",
        steps=(
            guest.WORK,
            *(guest.do("mkdir", path) for path in ("/lomac", "/lomac/high", "/lomac/low")),
            *(guest.do("file", path, "x") for path in (_HIGH, _LOW)),
            guest.TRY,
            guest.do("run", LOADER, "lomac", *_LEVELS[level], title="loading the programs"),
            # The guest's first program takes this step itself: it falls, and workers inherit that.
            *((guest.do("load", _LOW, _LOW),) if level == "low" else ()),
        ),
        checks=(
            guest.denies("low-to-high", "copy", f"{_LOW}:{_HIGH}"),
            high_to_high("high-to-high", "copy", f"{_HIGH}:{_HIGH}"),
            guest.allows("low-to-low", "copy", f"{_LOW}:{_LOW}"),
            guest.allows("read-high", "read", _HIGH),
        ),
        note="levels of files and processes only: pipes, sockets and signals are let through",
    )


SETUPS = (
    _BPF,
    _EMPTY,
    SetupDefinition(_allow, (Parameter("entries", "entries of the list", 1000, (2, 100_000)),)),
    SetupDefinition(_lomac, (Choice("level", _LEVEL, "high", ("high", "low")),)),
)
