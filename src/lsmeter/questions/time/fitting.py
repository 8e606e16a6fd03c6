# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a calibration of a run that was timed on a host and one whose events were counted."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from lsmeter import __version__
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.tasks.attribute import ATTRIBUTION
from lsmeter.questions.time.calibration import Calibration, Counted, Overheads, calibrate
from lsmeter.questions.time.calibrations import this_host
from lsmeter.questions.time.figures import blocks_of, host_of, match_observations
from lsmeter.questions.time.likeness import ALIKE
from lsmeter.questions.time.validation import summaries, validated


def fitted(timed: RunData, counted: RunData) -> Calibration:
    """Fit what one run timed to what the other counted; try it on the setups that both have."""
    of = host_of(timed) or this_host()
    kernel = counted.manifest.kernels[0]
    settings = counted.manifest.conditions
    now = datetime.now(UTC)
    found = calibrate(
        match_observations(timed, counted),
        name=f"{now:%Y-%m-%dT%H-%M-%S}-{of.kernel[:40].replace('/', '_')}",
        created=now.isoformat(timespec="seconds"),
        lsmeter_version=__version__,
        host=of,
        counted=Counted(
            kernel.name,
            kernel.release,
            {name: str(getattr(settings, name)).lower() for name in ALIKE},
            dict(counted.manifest.tools).get(ATTRIBUTION, ""),
        ),
        blocks=blocks_of(timed),
    )
    sums = summaries(validated(timed, counted, found))
    if not sums or sums[-1].error is None:
        return found
    setups = tuple(item.setup for item in sums[:-1])
    return replace(found, overheads=Overheads(setups, sums[-1].changed, *sums[-1].error))
