# SPDX-License-Identifier: GPL-2.0-or-later
"""The nouns of lsmeter as frozen types: no I/O, and no collection that can change.

The words are those of `lsmeter help glossary`. Numbers carry their unit in their name.
"""

from lsmeter.core.model.arch import BootProtocol
from lsmeter.core.model.boot import (
    BenchmarkStatus,
    Boot,
    BootId,
    BootStatus,
    HookReadings,
    Problem,
    Round,
    Samples,
    StateReading,
    Whole,
)
from lsmeter.core.model.cell import (
    MAX_COPIES,
    Artifact,
    Benchmark,
    Better,
    Cell,
    Conditions,
    Image,
    Kernel,
    KernelModule,
    Metric,
    ParamValue,
    Place,
    Sampling,
    Task,
)
from lsmeter.core.model.setup import Expectation, Setup
