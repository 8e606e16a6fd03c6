# SPDX-License-Identifier: GPL-2.0-or-later
"""The nouns of lsmeter as frozen types: no I/O here, and no collection that can change.

The words are those of docs/glossary.md. Numbers carry their unit in their name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from lsmeter.policy import Image, Layer, Proof, SetupFile, StateFile, StateReading, Step

ParamValue = int | str


class Instrument(StrEnum):
    """How a cost is read; numbers of different instruments are never compared."""

    EXACT = "exact"
    TIMED = "timed"


class Better(StrEnum):
    """Which direction of a metric is good."""

    LOWER = "lower"
    HIGHER = "higher"


class BootProtocol(StrEnum):
    """How QEMU starts an image: an ELF through its PVH entry (fast), or a bzImage as it is."""

    PVH = "pvh"
    BZIMAGE = "bzimage"


class BootStatus(StrEnum):
    """How a boot ended. Only OK and PARTIAL boots give numbers."""

    OK = "ok"
    PARTIAL = "partial"  # ended badly after some benchmarks were finished; those are kept
    PANIC = "panic"
    OOPS = "oops"
    HANG = "hang"
    EARLY_EXIT = "early-exit"
    WRONG_SETUP = "wrong-setup"
    GARBAGE = "garbage"
    INFRASTRUCTURE = "infrastructure"


class BenchmarkStatus(StrEnum):
    """How one benchmark ended in the guest. Only OK gives numbers."""

    OK = "ok"
    FAILED = "failed"  # an operation failed, or succeeded where it had to fail
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    SKIPPED = "skipped"  # this kernel or file system cannot do it; the reason is in detail


@dataclass(frozen=True)
class Metric:
    """What a number means: `latency` in `insns`, better `lower`."""

    name: str
    unit: str
    better: Better = Better.LOWER


@dataclass(frozen=True)
class KernelModule:
    """A loadable module taken from the kernel's own package, in the order of loading."""

    name: str
    file: Path  # uncompressed .ko on this host
    sha256: str


@dataclass(frozen=True)
class Artifact:
    """A further file that was made with a kernel, such as a policy of its own source."""

    file: Path
    sha256: str


@dataclass(frozen=True)
class Kernel:
    """A bootable image and where it came from.

    config holds the kernel's build options without the CONFIG_ prefix (`"HZ": "250"`), empty
    when unknown. modules are those the guest needs, dependencies first.
    """

    name: str  # as the user names it: debian:6.1, host, or a path
    release: str  # as `uname -r` says it
    version: str  # of the package, or "" when it has none
    origin: str  # one line on where it came from
    image: Path
    image_sha256: str
    boot_protocol: BootProtocol
    config: Mapping[str, str] = field(default_factory=dict, hash=False)
    modules: tuple[KernelModule, ...] = ()
    system_map: Path | None = None
    # Further files that were made with it, by name: mdp-policy (SELinux's minimal policy).
    artifacts: Mapping[str, Artifact] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Expectation:
    """A fact that the guest must report for the setup to count as verified."""

    fact: str  # e.g. selinux.enforce
    value: str  # e.g. 0
    why: str  # e.g. no policy may be enforced: this setup measures hooks only


@dataclass(frozen=True)
class Setup:
    """One security configuration of a kernel.

    lsms is the order asked for on the kernel command line, None for the kernel's own default,
    and empty for a kernel that has no security modules at all (CONFIG_SECURITY=n).
    guest holds what the probe is to do to itself before it measures (`landlock.layers`: `2`).
    image names the root file system that the guest needs, "" for none; steps bring the policy
    into force, confine is what a worker writes to enter its domain, proofs show that the policy
    is enforced, and before holds steps before each single reading. counters are files in which a
    module counts what it does, such as look-ups in a cache; they can be read around a single
    operation. over and layer say what its cost consists of: selinux-enforcing is the policy over
    selinux, which is the hooks over capability.
    """

    name: str  # canonical: selinux+bpf, landlock:layers=2,rules=8
    title: str
    lsms: tuple[str, ...] | None
    cmdline: tuple[str, ...] = ()
    expect: tuple[Expectation, ...] = ()
    guest: tuple[tuple[str, str], ...] = ()
    needs_config: tuple[str, ...] = ()  # kernel options without which it cannot work
    image: str = ""
    files: tuple[SetupFile, ...] = ()
    steps: tuple[Step, ...] = ()
    confine: tuple[tuple[str, str], ...] = ()  # path, text
    proofs: tuple[Proof, ...] = ()
    states: tuple[StateFile, ...] = ()
    counters: tuple[StateFile, ...] = ()
    before: tuple[Step, ...] = ()
    reads: tuple[tuple[str, str], ...] = ()  # further facts: name, and the guest's file
    over: str = "capability"  # the setup to which this one adds something; "" for none
    layer: Layer | None = Layer.HOOKS  # what it adds
    note: str = ""  # what a reader must know: e.g. "no policy loaded: hooking only"


@dataclass(frozen=True)
class Benchmark:
    """One measured operation with its parameters."""

    suite: str
    operation: str  # open
    params: tuple[tuple[str, ParamValue], ...]  # (("depth", 4),)
    metric: Metric
    title: str
    origin: str  # the study that has it, or lsmeter
    control: bool = False  # no security module may change it
    calls: str = ""  # the system calls of a reading: open
    cycle: str = ""  # with those that prepare and undo it, whose whole cost is told: open+close

    @property
    def id(self) -> str:
        """Name it as people and the protocol do: `open depth=4`."""
        return " ".join((self.operation, *(f"{key}={value}" for key, value in self.params)))


@dataclass(frozen=True)
class Conditions:
    """What changes the counts without being the security setup; recorded with every result."""

    mitigations: str = "off"  # off | auto | forced
    init_on_alloc: bool = False
    tick: str = "nohz"  # nohz | periodic
    slabs: str = "default"  # default order of the kernel | single pages
    icount_shift: int = 4  # guest nanoseconds per instruction = 2**shift
    cpu: str = "max,-erms,-fsrm"
    memory_mib: int = 256


@dataclass(frozen=True)
class Sampling:
    """How many samples a benchmark gives, and in which state of the kernel's caches."""

    samples: int = 100
    warmup: int = 20
    cold: bool = False
    whole_ppm: int = 1000  # standard error of the whole cost in each boot, in millionths; 0: none


@dataclass(frozen=True)
class DelaySweep:
    """Latencies that policy decisions get one after the other, each with all benchmarks.

    control names what makes them wait: tunable (the security module), tunable-bpf (programs).
    """

    control: str
    delays_ns: tuple[int, ...]


@dataclass(frozen=True)
class Cell:
    """kernel x setup x suite x file system x user, under given conditions."""

    kernel: Kernel
    setup: Setup
    suite: str
    filesystem: str
    user: str
    instrument: Instrument
    conditions: Conditions
    sampling: Sampling
    benchmarks: tuple[str, ...]  # ids, in the order of running
    identity: tuple[tuple[str, str], ...] = ()  # further facts that can change the result
    sweep: DelaySweep | None = None
    count_hooks: bool = False  # programs in the guest count hooks: readings are of no use then
    read_counters: bool = False  # around each reading, which is of no use then either
    image: Image | None = None

    @property
    def units(self) -> int:
        """How many results its guest is to give: each benchmark, at each delay of a sweep."""
        return len(self.benchmarks) * (len(self.sweep.delays_ns) if self.sweep else 1)

    @property
    def hash(self) -> str:
        """Name all that can change the result, in 16 hex digits."""
        parts: dict[str, object] = {
            "kernel": self.kernel.image_sha256,
            "boot_protocol": self.kernel.boot_protocol.value,
            "modules": [module.sha256 for module in self.kernel.modules],
            # By content: two names of one configuration share their results.
            "setup": [
                self.setup.lsms,
                self.setup.cmdline,
                self.setup.guest,
                [(e.fact, e.value) for e in self.setup.expect],
            ],
            "suite": self.suite,
            "filesystem": self.filesystem,
            "user": self.user,
            "instrument": self.instrument.value,
            "conditions": vars(self.conditions),
            "sampling": vars(self.sampling),
            "benchmarks": self.benchmarks,
            "identity": self.identity,
        }
        if self.sweep is not None:
            parts["sweep"] = vars(self.sweep)
        if self.count_hooks:
            parts["count_hooks"] = True
        if self.read_counters:
            parts["counters"] = [vars(counter) for counter in self.setup.counters]
        if self.image is not None:
            parts["image"] = self.image.sha256
        policy = _policy_parts(self.setup)
        if any(policy):
            parts["policy"] = policy
        needed = {item.artifact for item in self.setup.files} & set(self.kernel.artifacts)
        if needed:
            parts["artifacts"] = {name: self.kernel.artifacts[name].sha256 for name in needed}
        text = json.dumps(parts, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _policy_parts(setup: Setup) -> list[object]:
    """Return what of a setup's policy can change a result."""
    return [
        setup.reads,
        [vars(item) for item in setup.files],
        [(step.action, step.words) for step in setup.steps],
        setup.confine,
        [vars(proof) for proof in setup.proofs],
        [vars(state) for state in setup.states],
        [(step.action, step.words) for step in setup.before],
    ]


@dataclass(frozen=True)
class Round:
    """So many cycles of a benchmark back to back, until all that they left was done.

    All but operations are instructions: bulk from the first cycle to the last, settle from there
    until all was quiet; taken is the part of settle that was not spinning, loop what the loop
    itself took in user space.
    """

    operations: int
    loop: int
    bulk: int
    settle: int
    taken: int

    def cost(self, idle_share: float) -> float:
        """Return the instructions of one cycle; an idle guest spends idle_share of its time."""
        idle = idle_share * (self.bulk + self.settle)
        return (self.bulk + self.taken - self.loop - idle) / self.operations


@dataclass(frozen=True)
class Whole:
    """The whole cost of one benchmark's cycle in one boot, round by round."""

    status: BenchmarkStatus
    rounds: tuple[Round, ...] = ()
    detail: str = ""  # why it is not ok


@dataclass(frozen=True)
class Samples:
    """All readings of one benchmark in one boot, in the order they were taken.

    ticked are the places of the readings into which a timer tick fell. whole is None where the
    whole cost was not asked for.
    """

    benchmark: str  # id
    status: BenchmarkStatus
    values: tuple[int, ...] = ()
    failures: int = 0
    detail: str = ""  # why it is not ok, with the errno's name
    ticked: tuple[int, ...] = ()
    whole: Whole | None = None


@dataclass(frozen=True)
class Idle:
    """A while in which a guest did nothing: its instructions, and those that were not nothing."""

    elapsed: int
    taken: int
    ticks: int


@dataclass(frozen=True)
class Boot:
    """One start of a guest: what it said of itself, and what it measured."""

    cell_hash: str
    index: int
    seed: int
    status: BootStatus
    facts: tuple[tuple[str, str], ...] = ()
    samples: tuple[Samples, ...] = ()
    detail: str = ""  # one line: why the status is not ok
    console_tail: tuple[str, ...] = ()
    wall_s: float = 0.0
    states: tuple[StateReading, ...] = ()
    idle: tuple[Idle, ...] = ()


@dataclass(frozen=True)
class Problem:
    """Something that went wrong or could not be measured; always shown, never dropped."""

    title: str  # one line
    kernel: str = ""
    setup: str = ""
    benchmark: str = ""
    detail: str = ""
    log_tail: tuple[str, ...] = ()
