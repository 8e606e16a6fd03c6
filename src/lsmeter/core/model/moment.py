# SPDX-License-Identifier: GPL-2.0-or-later
"""One moment of a monitored guest, as it was sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

BEGIN, WITHIN, END = "begin", "within", "end"  # of a batch


@dataclass(frozen=True)
class Moment:
    """One moment of a batch (warm-up included, from 0): texts by source, as the probe cut them.

    lost is how many moments before it the guest had no room for.
    """

    benchmark: str
    batch: int
    when: str
    time_ns: int  # of the guest's clock since it was started
    lost: int = 0
    texts: Mapping[str, str] = field(default_factory=dict, hash=False)
