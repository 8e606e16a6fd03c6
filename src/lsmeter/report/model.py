# SPDX-License-Identifier: GPL-2.0-or-later
"""The nouns of a report as frozen types: all that any format shows; no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsmeter.conclusion import Comparison, Estimate
from lsmeter.evidence import OneOffCost, ProofOutcome, StateChange
from lsmeter.layers import LayeredCost
from lsmeter.model import Instrument, Problem

if TYPE_CHECKING:
    from lsmeter.hooks.attribution.account import Account
    from lsmeter.hooks.attribution.layer import LayerOrigin
    from lsmeter.hooks.source.tables import Table


@dataclass(frozen=True)
class SetupFacts:
    """What is known of one setup on one kernel: what was asked, what the guest said."""

    kernel: str
    setup: str
    title: str
    note: str
    asked_lsms: tuple[str, ...] | None
    active_lsms: tuple[str, ...]  # as the guest reported them; empty when no boot got so far
    facts: tuple[tuple[str, str], ...]
    boots: int
    verified: bool


@dataclass(frozen=True)
class KernelFacts:
    """What a report says of a kernel."""

    name: str
    release: str
    version: str
    origin: str
    image_sha256: str
    boot_protocol: str


@dataclass(frozen=True)
class Report:
    """All that any report format shows; formats add no numbers of their own."""

    title: str
    created: str  # ISO 8601, UTC
    lsmeter_version: str
    command: str
    instrument: Instrument
    unit: str  # of the values: insns or ns
    baseline_setup: str
    margin: float
    conditions: tuple[tuple[str, str], ...]
    host: tuple[tuple[str, str], ...]
    tools: tuple[tuple[str, str], ...]  # QEMU, probe, their versions and hashes
    kernels: tuple[KernelFacts, ...]
    setups: tuple[SetupFacts, ...]
    estimates: tuple[Estimate, ...]
    comparisons: tuple[Comparison, ...]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()
    accounts: tuple[Account, ...] = ()  # where the cost comes from, in runs with attribution
    agreement: tuple[Table, ...] = ()  # of views of the hooks, where it was kept with the run
    proofs: tuple[ProofOutcome, ...] = ()
    layers: tuple[LayeredCost, ...] = ()
    layer_origins: tuple[LayerOrigin, ...] = ()  # in runs with attribution
    states: tuple[StateChange, ...] = ()
    one_off: tuple[OneOffCost, ...] = ()
    caveats: tuple[str, ...] = ()  # what every verdict must be read with: other compilers
