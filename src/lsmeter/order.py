# SPDX-License-Identifier: GPL-2.0-or-later
"""In which order a boot runs its benchmarks; pure.

What ran before leaves its traces in the kernel's allocators, so each boot has another order: a
count that depends on it is then seen to differ between boots.
"""

from __future__ import annotations

import random
from collections.abc import Sequence


def boot_order(benchmarks: Sequence[str], seed: int) -> tuple[str, ...]:
    """Return the ids in the order of the boot with this seed: always the same one."""
    order = list(benchmarks)
    random.Random(seed).shuffle(order)  # noqa: S311  (an order, not a secret)
    return tuple(order)
