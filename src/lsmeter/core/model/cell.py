# SPDX-License-Identifier: GPL-2.0-or-later
"""What is measured: kernels, benchmarks, and the cells of an experiment."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from lsmeter.core.model.arch import X86_64, Arch, BootProtocol
from lsmeter.core.model.commands import Command
from lsmeter.core.model.series import Series, series_of
from lsmeter.core.model.setup import Setup
from lsmeter.core.model.workload import Workload

ParamValue = int | str
_DAMON = Series(6, 17)


class Better(StrEnum):
    """Which direction of a metric is good."""

    LOWER = "lower"
    HIGHER = "higher"


@dataclass(frozen=True)
class Metric:
    """What a number means: `latency` in `insns`, better `lower`; its unit is the instrument's."""

    name: str
    unit: str = ""
    better: Better = Better.LOWER


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
    calls: str = ""  # the system calls of a reading, as the kernel's source names them: newstat
    cycle: str = ""  # with those that prepare and undo it, whose whole cost is given: open+close
    components: int = 0  # of the longest path that a reading looks up; 0: none
    populous: bool = False  # its tree takes seconds to make, but on a tmpfs

    @property
    def id(self) -> str:
        """Name it as people and the protocol do: `open depth=4`."""
        return " ".join((self.operation, *(f"{key}={value}" for key, value in self.params)))

    @property
    def syscalls(self) -> tuple[str, ...]:
        """The system calls of a reading, in their order."""
        return tuple(filter(None, self.calls.split("+")))


@dataclass(frozen=True)
class KernelModule:
    """A loadable module taken from the kernel's own package, in the order of loading."""

    name: str
    file: Path  # uncompressed .ko on this host
    sha256: str
    depends: tuple[str, ...] = ()  # on which of the others; some may be built in


@dataclass(frozen=True)
class Artifact:
    """A further file that was made with a kernel, such as a policy of its own source."""

    file: Path
    sha256: str


@dataclass(frozen=True)
class Kernel:
    """A bootable image and where it came from."""

    name: str  # as the user names it: debian:6.1, host, or a path
    release: str  # as `uname -r` says it
    version: str  # of the package, or "" when it has none
    origin: str  # one line on where it came from
    image: Path
    image_sha256: str  # "" while it is yet to be fetched or built
    boot_protocol: BootProtocol
    # Build options without CONFIG_ ("HZ": "250"), empty when unknown.
    config: Mapping[str, str] = field(default_factory=dict, hash=False)
    modules: tuple[KernelModule, ...] = ()  # that guests need, dependencies first
    system_map: Path | None = None
    # Further files that were made with it, by name: mdp-policy (SELinux's minimal policy).
    artifacts: Mapping[str, Artifact] = field(default_factory=dict, hash=False)
    arch: str = X86_64.name

    @classmethod
    def foreseen(
        cls,
        name: str,
        arch: Arch,
        config: Mapping[str, str] = MappingProxyType({}),
        artifacts: Iterable[str] = (),
    ) -> Kernel:
        """Return a kernel that is yet to be fetched or built, for a plan of its boots."""
        made = {item: Artifact(Path(item), "") for item in artifacts}
        where, protocol = Path("KERNEL"), next(iter(arch.boards))
        return cls(
            *(name, "not here yet", "", "", where, "", protocol),
            config=dict(config),
            artifacts=made,
            arch=arch.name,
        )

    @property
    def is_here(self) -> bool:
        """Whether its image is, which a plan can do without."""
        return bool(self.image_sha256)

    @property
    def runs(self) -> bool:
        """Whether it is the kernel of a machine as it runs, which nobody boots."""
        return self.boot_protocol is BootProtocol.RUNNING

    @property
    def parameters(self) -> tuple[str, ...]:
        """What its command line needs so that the kernel does nothing by itself."""
        if self.runs:
            return ()  # nobody boots it
        # From 6.17 on DAMON can watch which pages are used: a thread that wakes up each 5 ms.
        said = self.config.get("DAMON_STAT_ENABLED_DEFAULT")
        series = series_of(self.release)
        unknown = not self.config and series is not None and series >= _DAMON
        return ("damon_stat.enabled=N",) if said == "y" or unknown else ()


@dataclass(frozen=True)
class Image:
    """A root file system for guests: an ext4 that no guest ever writes to."""

    name: str
    file: Path
    sha256: str
    filesystem: str = "ext4"


MAX_COPIES = 1024  # of a benchmark at once

AS_IT_RUNS = "as it runs"  # conditions that nobody chose: of a machine that is not booted


@dataclass(frozen=True)
class Conditions:
    """What changes the counts without being the security setup; recorded with every result."""

    mitigations: str = "off"  # off | auto | immune | retpoline | retpoline+pti | forced
    init_on_alloc: bool = False
    tick: str = "nohz"  # nohz | periodic
    slabs: str = "default"  # default order of the kernel | single pages
    memcg: bool = False  # the probe is in a memory cgroup, as what systemd starts is
    lsms: str = ""  # modules that are active beside those of each setup: landlock,bpf
    icount_shift: int = 3  # guest nanoseconds per instruction = 2**shift
    cpu: str = X86_64.cpu
    memory_mib: int = 256

    @property
    def said(self) -> dict[str, object]:
        """Return them by name; of a machine that is not booted, those that say so."""
        booted = self.memory_mib > 0
        return {key: value for key, value in vars(self).items() if booted or value == AS_IT_RUNS}


@dataclass(frozen=True)
class Sampling:
    """How many samples a benchmark gives, and in which state of the kernel's caches."""

    samples: int = 100
    warmup: int = 20
    cold: bool = False
    whole_ppm: int = 1000  # standard error of the whole cost in each boot, in millionths; 0: none


@dataclass(frozen=True)
class Place:
    """Where a number belongs: names of kernel, setup, suite, file system and user.

    copies: how many processes did the same at once, each on a CPU of its own.
    """

    kernel: str
    setup: str
    suite: str
    filesystem: str
    user: str
    copies: int = 1

    @property
    def beside(self) -> tuple[str, ...]:
        """All but the setup: what a place shares with its baseline."""
        return (self.kernel, self.suite, self.filesystem, self.user, *self.said_copies)

    @property
    def said_copies(self) -> tuple[str, ...]:
        """How many copies, in words; nothing where there is one."""
        return (f"{self.copies} copies",) if self.copies > 1 else ()

    @property
    def label(self) -> str:
        """Name it in one line for people: selinux on debian:6.1, file, tmpfs, root."""
        return f"{self.setup} on {', '.join(self.beside)}"


@dataclass(frozen=True)
class Task:
    """What a boot is asked to do; lsmeter.measure.tasks has one file for each name.

    control names what makes the hooks of a sweep wait: tunable (the security module) or
    tunable-bpf (programs); delays_ns are the latencies that it sweeps, each with all benchmarks.
    workload is what a boot of that task runs, command the one of `exec`. monitor_ms is how often a
    boot says what the whole guest does, in guest time (0: never).
    """

    name: str = "readings"
    control: str = ""
    delays_ns: tuple[int, ...] = ()
    workload: Workload | None = None
    monitor_ms: int = 0
    command: Command | None = None


READINGS = Task()


@dataclass(frozen=True)
class Cell:
    """A task for kernel x setup x suite x file system x user x copies, under given conditions."""

    kernel: Kernel
    setup: Setup
    suite: str
    filesystem: str
    user: str
    instrument: str
    conditions: Conditions
    sampling: Sampling
    benchmarks: tuple[str, ...]  # ids, in the order of the catalogue
    identity: tuple[tuple[str, str], ...] = ()  # further facts that can change the result
    task: Task = READINGS
    image: Image | None = None
    copies: int = 1  # of each benchmark at once
    populous: bool = False  # one of its benchmarks makes thousands of directories, on a disk

    @property
    def place(self) -> Place:
        """Where the cell's numbers belong."""
        names = (self.kernel.name, self.setup.name, self.suite, self.filesystem, self.user)
        return Place(*names, self.copies)

    @property
    def units(self) -> int:
        """How many results its guest is to give: each benchmark, at each delay of a sweep."""
        return len(self.benchmarks) * max(1, len(self.task.delays_ns))

    def __hash__(self) -> int:
        """Hash what `hash` names, once: a plan looks a cell up several times a boot."""
        return hash(self.hash)

    @cached_property
    def hash(self) -> str:
        """Name all that can change the result, in 16 hex digits."""
        setup = self.setup
        parts: dict[str, object] = {
            "kernel": self.kernel.image_sha256 or self.kernel.name,
            "boot_protocol": self.kernel.boot_protocol.value,
            "modules": [module.sha256 for module in self.kernel.modules],
            # By content: two names of one configuration share their results.
            "setup": [
                *(setup.lsms, setup.cmdline, setup.guest),
                [(expected.fact, expected.value) for expected in setup.expect],
            ],
            "suite": self.suite,
            "filesystem": self.filesystem,
            "user": self.user,
            "instrument": self.instrument,
            "conditions": {
                k: v for k, v in vars(self.conditions).items() if v or k not in {"memcg", "lsms"}
            },
            "sampling": vars(self.sampling),
            "benchmarks": self.benchmarks,
            "identity": self.identity,
        }
        if self.task != READINGS:
            counters = [vars(counter) for counter in setup.counters]
            parts["task"] = [self.task.name, self.task.control, self.task.delays_ns, counters]
        if self.task.workload is not None:
            parts["workload"] = [asdict(self.task.workload), setup.policies]
        if self.task.command is not None:
            parts["command"] = asdict(self.task.command)
        seldom = (
            ("monitor_ms", self.task.monitor_ms, 0),
            ("arch", self.kernel.arch, X86_64.name),
            ("parameters", self.kernel.parameters, ()),
            ("copies", self.copies, 1),
            ("populous", self.populous, False),
        )
        # What is usual has the hash that it had before there was anything else.
        parts |= {name: value for name, value, usual in seldom if value != usual}
        if self.image is not None:
            parts["image"] = self.image.sha256
        policy: list[object] = [  # what of it can change a result
            setup.reads,
            [vars(item) for item in setup.files],
            [(step.action, step.words) for step in setup.steps],
            setup.confine,
            [vars(check) for check in setup.checks],
            [vars(state) for state in setup.states],
            [(step.action, step.words) for step in setup.before],
        ]
        if any(policy):
            parts["policy"] = policy
        needed = {item.artifact for item in setup.files} & set(self.kernel.artifacts)
        if needed:
            parts["artifacts"] = {name: self.kernel.artifacts[name].sha256 for name in needed}
        text = json.dumps(parts, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
