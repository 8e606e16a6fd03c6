# SPDX-License-Identifier: GPL-2.0-or-later
"""What the host asks of the probe, as the text that the probe reads; no I/O here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote

from lsmeter.errors import UsageError
from lsmeter.policy import Proof, StateFile, Step

VERSION = 1
MAX_BYTES = 65536
FILESYSTEMS = ("tmpfs", "ext4", "xfs")
USERS = ("root", "user")
MAX_DELAY_NS = 10_000_000  # what the tunable module and the BPF programs accept

# What a setup may ask the probe to do to itself (Setup.guest), with the largest value.
GUEST_KEYS = {
    "landlock.layers": 16,
    "landlock.rules": 1024,
    "landlock.depth": 16,
    "bpf.tunable": 1,
    "bpf.empty": 1,
}
MAX_STEPS = 128  # before anything is measured; as many before each reading
MAX_PROOFS = 32
MAX_STATES = 8
MAX_CONFINE = 4
MAX_COUNTINGS = 1000  # samples with count: each keeps a number for each hook
_ESCAPE = re.compile("%[0-9A-F]{2}")
SWEEP_CONTROLS = ("tunable", "tunable-bpf")


@dataclass(frozen=True)
class Request:
    """One boot's worth of work.

    benchmarks are ids of `suite`, run in this order. modules are (path in the guest,
    parameters), in the order of loading. guest holds keys of GUEST_KEYS. sweep_values_ns are the
    latencies that policy decisions get one after the other, with all benchmarks run after each,
    through what sweep_control names (one of SWEEP_CONTROLS, "" for no sweep).
    """

    suite: str
    benchmarks: tuple[str, ...]
    samples: int
    warmup: int
    icount_shift: int
    filesystem: str = "tmpfs"
    user: str = "root"
    cold: bool = False
    quiet: bool = False
    benchmark_deadline_ms: int = 10_000  # guest time, without what quiet readings sleep
    whole_ppm: int = 0  # precision of the whole cost in millionths of it; 0: it is not measured
    vary: int = 0  # seed of what may differ between boots; 0: nothing does
    modules: tuple[tuple[str, str], ...] = ()
    guest: tuple[tuple[str, str], ...] = ()
    sweep_control: str = ""
    sweep_values_ns: tuple[int, ...] = ()
    count: bool = False  # also count, in each reading, the hooks that it runs
    root: str = ""  # file system of the image that is the guest's root; "" for no image
    steps: tuple[Step, ...] = ()
    confine: tuple[tuple[str, str], ...] = ()
    proofs: tuple[Proof, ...] = ()
    states: tuple[StateFile, ...] = ()
    counters: tuple[StateFile, ...] = ()  # with count: in place of the hooks
    before: tuple[Step, ...] = ()
    reads: tuple[tuple[str, str], ...] = ()  # facts: name and file

    def to_bytes(self) -> bytes:
        """Write the request as the probe reads it.

        Raises UsageError for what the probe would refuse by its form; that a benchmark exists
        only the probe knows.
        """
        pairs: list[tuple[str, str]] = [
            ("version", str(VERSION)),
            ("suite", self.suite),
            ("filesystem", _one_of("file system", self.filesystem, FILESYSTEMS)),
            ("user", _one_of("user", self.user, USERS)),
            ("cold", str(int(self.cold))),
            ("quiet", str(int(self.quiet))),
            ("samples", _number("samples", self.samples, 1, 1_000_000)),
            ("warmup", _number("warmup", self.warmup, 0, 1_000_000)),
            ("icount_shift", _number("icount_shift", self.icount_shift, 0, 10)),
            (
                "benchmark_deadline_ms",
                _number("benchmark_deadline_ms", self.benchmark_deadline_ms, 1, 3_600_000),
            ),
        ]
        if self.whole_ppm:
            pairs.append(("whole_ppm", _number("whole_ppm", self.whole_ppm, 1, 1_000_000)))
        if self.vary:
            pairs.append(("vary", _number("vary", self.vary, 1, 0xFFFFFFFF)))
        for path, parameters in self.modules:
            pairs.append(("module", f"{path} {parameters}" if parameters else path))
        pairs += [(key, _guest(key, value)) for key, value in self.guest]
        if self.count:
            _number("samples, with count,", self.samples, 1, MAX_COUNTINGS)
            pairs.append(("count", "1"))
        if self.sweep_control:
            control = _one_of("sweep control", self.sweep_control, SWEEP_CONTROLS)
            pairs.append(("sweep.control", control))
        pairs += [
            ("sweep.value", _number("sweep.value", value, 0, MAX_DELAY_NS))
            for value in self.sweep_values_ns
        ]
        pairs += self._policy()
        pairs += [("benchmark", benchmark) for benchmark in self.benchmarks]
        text = "".join(f"{key}={_printable(key, value)}\n" for key, value in pairs)
        if len(text) > MAX_BYTES:
            raise UsageError(
                f"the request has {len(text)} bytes, more than {MAX_BYTES}",
                hint="ask for fewer benchmarks at once",
            )
        return text.encode("ascii")

    def _policy(self) -> list[tuple[str, str]]:
        """Return the lines on the policy, its proofs and its state."""
        lines = {
            "step": [_words(step.action, *step.words) for step in self.steps],
            "confine": [_words(*item) for item in self.confine],
            "proof": [_proof(proof) for proof in self.proofs],
            "state": [_words(state.name, state.path) for state in self.states],
            "counter": [_words(counter.name, counter.path) for counter in self.counters],
            "before": [_words(step.action, *step.words) for step in self.before],
            "read": [_words(*item) for item in self.reads],
        }
        limits = {
            "proof": MAX_PROOFS,
            "state": MAX_STATES,
            "counter": MAX_STATES,
            "confine": MAX_CONFINE,
        }
        for key, values in lines.items():
            _number(f"the number of {key} lines", len(values), 0, limits.get(key, MAX_STEPS))
        root = [("root", _one_of("file system", self.root, FILESYSTEMS))] if self.root else []
        return root + [(key, value) for key, values in lines.items() for value in values]


def _words(*words: str) -> str:
    """Write words as the probe reads them: percent-encoded, with one space between."""
    return " ".join(_ESCAPE.sub(lambda found: found[0].lower(), _quoted(word)) for word in words)


def _quoted(word: str) -> str:
    if not word or "\0" in word:
        raise UsageError(f"{word!r:.60} cannot be a word of a setup's policy")
    return quote(word, safe="/:,=.+-_~")


def _proof(proof: Proof) -> str:
    words = (proof.name, proof.access, proof.path, proof.message)
    return _words(*(word for word in words if word))


def _one_of(kind: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise UsageError(f"unknown {kind} '{value}'", hint=f"known: {', '.join(known)}")
    return value


def _number(key: str, value: int, low: int, high: int) -> str:
    if not low <= value <= high:
        raise UsageError(f"{key} cannot be {value}", hint=f"use {low} to {high}")
    return str(value)


def _guest(key: str, value: str) -> str:
    if key not in GUEST_KEYS:
        raise UsageError(f"unknown guest option '{key}'", hint=f"known: {', '.join(GUEST_KEYS)}")
    if not (value.isascii() and value.isdigit()):
        raise UsageError(f"{key} must be a number, not '{value}'")
    return _number(key, int(value), 0, GUEST_KEYS[key])


def _printable(key: str, value: str) -> str:
    if not value or not value.isascii() or not value.isprintable():
        raise UsageError(f"{key}: {value!r:.60} is empty or not printable ASCII")
    return value
