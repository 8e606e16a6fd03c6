# SPDX-License-Identifier: GPL-2.0-or-later
"""A service under load, timed: a reading is a batch of units, and a cost the time of one."""

from __future__ import annotations

from dataclasses import replace

from lsmeter.measure.tasks.workload import TASK as COUNTED

# The same guests and the same clients; no plugin sees a guest in real time.
TASK = replace(
    COUNTED,
    name="load",
    title="services under load, timed",
    icount_shift=None,
    plugin="",
    costs=True,
)
