# SPDX-License-Identifier: GPL-2.0-or-later
"""The nouns of a report as frozen types: all that is shown of a run; no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lsmeter.catalogue.studies import Published
from lsmeter.core.model import Kernel, Problem
from lsmeter.core.model.conclusion import Comparison, Estimate
from lsmeter.core.model.setup import is_again
from lsmeter.measure.instruments import DEFAULT, Words, instruments
from lsmeter.questions.attribution.account import Account
from lsmeter.questions.cells.evidence import CheckOutcome, OneOffCost, StateChange
from lsmeter.questions.cells.layers import LayeredCost
from lsmeter.questions.events.figures import EventCell
from lsmeter.questions.time.figures import Told
from lsmeter.statistics.blocks import LEVEL
from lsmeter.statistics.family import Looks


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
class Report:
    """All that is shown of a run; documents and formats add no numbers of their own."""

    title: str
    created: str  # ISO 8601, UTC
    lsmeter_version: str
    command: str
    instrument: str
    unit: str  # of the values: insns or ns
    baseline_setup: str
    margin: float
    conditions: tuple[tuple[str, str], ...]
    host: tuple[tuple[str, str], ...]
    tools: tuple[tuple[str, str], ...]  # QEMU, probe, their versions and hashes
    kernels: tuple[Kernel, ...]
    setups: tuple[SetupFacts, ...]
    estimates: tuple[Estimate, ...]
    comparisons: tuple[Comparison, ...]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()  # of the machine, before all else
    accounts: tuple[Account, ...] = ()  # where the cost comes from, in runs with attribution
    checks: tuple[CheckOutcome, ...] = ()
    layers: tuple[LayeredCost, ...] = ()
    layer_origins: tuple[Account, ...] = ()  # in runs with attribution
    states: tuple[StateChange, ...] = ()
    one_off: tuple[OneOffCost, ...] = ()
    events: tuple[EventCell, ...] = ()  # in runs that counted them
    told: Told | None = None  # predicted times, in runs that counted events
    caveats: tuple[str, ...] = ()  # what every verdict must be read with: other compilers
    looks: Looks | None = None  # of a run that grew until its verdicts stood
    beside: tuple[Published, ...] = ()  # printed values of studies that were named
    every_call: tuple[str, ...] = ()  # setups that add to every system call, those of controls too
    per: Mapping[str, str] = field(
        default_factory=dict
    )  # of suites of services: {"web": "request"}

    @property
    def again(self) -> tuple[Comparison, ...]:
        """The baseline against itself."""
        base = self.baseline_setup
        return tuple(
            item
            for item in self.comparisons
            if is_again(item.place.setup, base) and item.baseline.setup == base
        )

    @property
    def level(self) -> str:
        """That of the intervals of differences: wider ones in a run that was looked at often."""
        if self.looks is None:
            return self.words.level
        blocks = max((item.tests.blocks for item in self.comparisons if item.tests), default=0)
        return f"{100 - 100 * (1 - LEVEL) * self.looks.share(blocks):.3g} %"

    @property
    def words(self) -> Words:
        """What the numbers are called; as the usual instrument has it where it is not known."""
        known = instruments()
        return known.get(self.instrument, known[DEFAULT]).words
