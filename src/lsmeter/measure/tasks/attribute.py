# SPDX-License-Identifier: GPL-2.0-or-later
"""Readings with the call tree of each, so that every instruction has a function it belongs to."""

from __future__ import annotations

from lsmeter.measure.tasks import TaskKind
from lsmeter.measure.tasks.readings import costs

ATTRIBUTION = "attribution"  # the plugin, and its output in Capture.outputs
# Instructions between the markers that the clock does not see (probe/arch): the first marker and
# lfence, the rdtsc that the difference leaves out, and shl and or after the second rdtsc; on arm64
# half of the first marker, nop and isb, the second mrs, and half of the second marker.
MARKER_INSNS = 5

TASK = TaskKind(
    "attribute", "readings, whole costs and call trees", costs, plugin=ATTRIBUTION, costs=True
)
