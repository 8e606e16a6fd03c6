# SPDX-License-Identifier: GPL-2.0-or-later
"""What the host asks of the probe, as the text that the probe reads; no I/O here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from urllib.parse import quote

from lsmeter.core.errors import UsageError
from lsmeter.core.model import MAX_COPIES, Setup
from lsmeter.core.model.filesystems import FILESYSTEMS
from lsmeter.core.model.setup import StateFile, ordered

VERSION = 1
MAX_BYTES = 65536
MAX_DELAY_NS = 10_000_000  # what the tunable module and the BPF programs accept

# What a setup may ask the probe to do to itself (Setup.guest), with the largest value.
GUEST_KEYS = {
    "landlock.layers": 16,
    "landlock.rules": 1024,
    "landlock.depth": 16,
    "seccomp.filters": 16,
    "seccomp.length": 2000,
    "spin.ns": 1_000_000,
    "spin.every": 100_000,
    "bpf.tunable": 1,
    "bpf.empty": 1,
}
MAX_WORDS = 32  # of a line
MAX_WORDS_BYTES = 4096
MAX_COUNTINGS = 1000  # samples with count: each keeps a number for each hook
# Fields that are always in a request, and those that are if they are set.
_ALWAYS = (
    *("suite", "filesystem", "user", "cold", "quiet"),
    *("samples", "warmup", "icount_shift", "benchmark_deadline_ms"),
)
_IF_SET = (
    *("timed", "copies", "whole_ppm", "vary", "count"),
    *("sweep.control", "root", "settle_ms", "monitor_ms"),
)
_WORDS = {
    **dict.fromkeys(("filesystem", "root"), ("file system", tuple(FILESYSTEMS))),
    "user": ("user", ("root", "user")),
    "sweep.control": ("sweep control", ("tunable", "tunable-bpf")),
}
# The least and the largest value of each number.
_NUMBERS = {
    "copies": (2, MAX_COPIES),
    "samples": (1, 1_000_000),
    "warmup": (0, 1_000_000),
    "icount_shift": (0, 10),
    "benchmark_deadline_ms": (1, 3_600_000),
    "whole_ppm": (1, 1_000_000),
    "vary": (1, 0xFFFFFFFF),
    "settle_ms": (0, 10_000),
    "monitor_ms": (0, 10_000),
    "sweep.value": (0, MAX_DELAY_NS),
    **{key: (0, most) for key, most in GUEST_KEYS.items()},
}
# How many lines of each kind there may be.
MAX_LINES = {
    **dict.fromkeys(("step", "before", "read"), 128),
    **dict.fromkeys(("state", "counter"), 8),
    **dict.fromkeys(("service", "ready"), 8),
    "ask": 16,
    "client": 128,
    **dict.fromkeys(("proof", "prepare"), 32),
    "confine": 4,
    "command": 1,
    "environment": 32,
}
_NO_SETUP = Setup(name="", title="", lsms=None)


_CGROUPS = "/sys/fs/cgroup"
_MEMCG = (
    ("mount", "cgroup2", _CGROUPS),
    ("write", f"{_CGROUPS}/cgroup.subtree_control", "+memory"),
    ("mkdir", f"{_CGROUPS}/lsmeter"),
    ("write", f"{_CGROUPS}/lsmeter/cgroup.procs", "0"),
)


@dataclass(frozen=True)
class Request:
    """One boot's worth of work."""

    suite: str
    benchmarks: tuple[str, ...]  # ids of suite, run in this order
    samples: int
    warmup: int
    icount_shift: int
    filesystem: str = "tmpfs"
    user: str = "root"
    cold: bool = False
    quiet: bool = False
    timed: bool = False  # readings are time, not instructions
    copies: int = 0  # of each benchmark at once; 0: one
    benchmark_deadline_ms: int = 10_000  # guest time, without what quiet readings sleep
    whole_ppm: int = 0  # precision of the whole cost in millionths of it; 0: it is not measured
    vary: int = 0  # seed of what may differ between boots; 0: nothing does
    modules: tuple[tuple[str, str], ...] = ()  # in the guest, with parameters, as they are loaded
    setup: Setup = _NO_SETUP  # its guest holds keys of GUEST_KEYS
    sweep_control: str = ""  # tunable or tunable-bpf; "" for no sweep
    sweep_values_ns: tuple[int, ...] = ()  # delays of the policy, each with all benchmarks
    count: bool = False  # also count, in each reading, the hooks that it runs
    root: str = ""  # file system of the image that is the guest's root; "" for no image
    memcg: bool = False  # in a memory cgroup, from the first step on
    counters: tuple[StateFile, ...] = ()  # with count: in place of the hooks
    # A workload, whose benchmarks are in no catalogue: each line (`lsmeter help protocol`).
    prepare: tuple[tuple[str, ...], ...] = ()
    services: tuple[tuple[str, ...], ...] = ()
    ready: tuple[tuple[str, ...], ...] = ()
    asks: tuple[tuple[str, ...], ...] = ()
    clients: tuple[tuple[str, ...], ...] = ()  # samples and warmup are batches, then
    settle_ms: int = 0  # guest time that belongs to a batch after its client has ended
    monitor_ms: int = 0  # guest time between two moments of a batch; 0: it is not monitored
    command: tuple[tuple[str, ...], ...] = ()  # of the one client that has a tree of its own
    environment: tuple[tuple[str, ...], ...] = ()  # of that
    once: tuple[str, ...] = ()  # what each region after the benchmarks' covers; not for the guest

    @property
    def kept(self) -> Request:
        """What is stored of it: all that reading what the guest said goes by."""
        states = replace(_NO_SETUP, states=self.setup.states)
        return replace(self, modules=(), setup=states, prepare=(), services=(), ready=(), asks=())

    @property
    def units(self) -> int:
        """How many results the guest is to give: of each benchmark, at each delay of a sweep."""
        return len(self.benchmarks) * (len(self.sweep_values_ns) or 1)

    def unit(self, index: int) -> tuple[str, int | None]:
        """Return what the guest is to report there: benchmark, delay (None without a sweep)."""
        delay, benchmark = divmod(index, len(self.benchmarks))
        delays = self.sweep_values_ns
        return self.benchmarks[benchmark], delays[delay] if delays else None

    def to_bytes(self) -> bytes:
        """Write the request as the probe reads it."""
        if self.count:
            _check_number("samples, with count,", self.samples, 1, MAX_COUNTINGS)
        text = "".join(f"{key}={_checked(key, value)}\n" for key, value in self._lines())
        if len(text) > MAX_BYTES:
            raise UsageError(
                f"the request has {len(text)} bytes, more than {MAX_BYTES}",
                hint="ask for fewer benchmarks at once",
            )
        return text.encode("ascii")

    def _lines(self) -> Iterator[tuple[str, str | int]]:
        yield "version", VERSION
        values = ((key, getattr(self, key.replace(".", "_"))) for key in (*_ALWAYS, *_IF_SET))
        yield from ((key, value) for key, value in values if value or key in _ALWAYS)
        yield from (("module", " ".join(filter(None, module))) for module in self.modules)
        yield from ((key, int(value)) for key, value in self.setup.guest)
        yield from (("sweep.value", value) for value in self.sweep_values_ns)
        for key, lines in self._policy().items():
            _check_number(f"the number of {key} lines", len(lines), 0, MAX_LINES[key])
            yield from ((key, _line(key, words)) for words in lines)
        yield from (("benchmark", benchmark) for benchmark in self.benchmarks)

    def _policy(self) -> dict[str, list[tuple[str, ...]]]:
        """Return the words of the lines on the policy, its checks, its state and the workload."""
        setup = self.setup
        checks = [(check.name, check.access, check.path, check.message) for check in setup.checks]
        steps = ordered(setup.steps, setup.checks)
        return {
            "step": [*(_MEMCG if self.memcg else ()), *((s.action, *s.words) for s in steps)],
            "confine": [*setup.confine],
            "proof": [words if words[-1] else words[:-1] for words in checks],
            "state": [(state.name, state.path) for state in setup.states],
            "counter": [(counter.name, counter.path) for counter in self.counters],
            "before": [(step.action, *step.words) for step in setup.before],
            "read": [*setup.reads],
            "prepare": [*self.prepare],
            "service": [*self.services],
            "ready": [*self.ready],
            "ask": [*self.asks],
            "client": [*self.clients],
            "command": [*self.command],
            "environment": [*self.environment],
        }


def _line(key: str, words: tuple[str, ...]) -> str:
    """Write the words of a line as the probe takes it apart."""
    _check_number(f"the number of words of {key}", len(words), 1, MAX_WORDS)
    text = " ".join(map(_quoted, words))
    _check_number(f"the length of {key}", len(text), 1, MAX_WORDS_BYTES - 1)
    return text


def _quoted(word: str) -> str:
    """Write a word as the probe reads it: percent-encoded, in lower case."""
    if not word or "\0" in word:
        raise UsageError(f"{word!r:.60} cannot be a word of a request's line")
    quoted = quote(word, safe="/:,=.+-_~")
    return re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), quoted)


def _checked(key: str, value: str | int) -> str:
    """Return a value as text; UsageError for what the probe would refuse."""
    if isinstance(value, int):
        if key in _NUMBERS:
            _check_number(key, value, *_NUMBERS[key])
        return str(int(value))
    kind, known = _WORDS.get(key, ("", (value,)))
    if value not in known:
        raise UsageError(f"unknown {kind} '{value}'", hint=f"known: {', '.join(known)}")
    if not value or not value.isascii() or not value.isprintable():
        raise UsageError(f"{key}: {value!r:.60} is empty or not printable ASCII")
    return value


def _check_number(what: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise UsageError(f"{what} cannot be {value}", hint=f"use {low} to {high}")
