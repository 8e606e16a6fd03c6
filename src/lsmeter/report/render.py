# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds a report format by its name and renders a report with it."""

from __future__ import annotations

import functools

from lsmeter import registry
from lsmeter.report.format import RenderOptions, ReportFormat
from lsmeter.report.model import Report
from lsmeter.report.scrub import scrubbed

DEFAULT_OPTIONS = RenderOptions()


@functools.cache
def formats() -> tuple[ReportFormat, ...]:
    """Return all report formats, sorted by name."""
    found = registry.members("lsmeter.report.formats", "FORMAT", ReportFormat)
    return tuple(sorted(found, key=lambda item: item.name))


def find_format(name: str) -> ReportFormat:
    """Return the format called `name`; UsageError names the known ones when there is none."""
    for item in formats():
        if item.name == name:
            return item
    raise registry.unknown(
        "report format", name, (item.name for item in formats()), where="--format"
    )


def render(report: Report, name: str, options: RenderOptions = DEFAULT_OPTIONS) -> str:
    """Return `report` as text in the format called `name`.

    Text that came from a guest is freed of control characters first, whatever the format.
    """
    return find_format(name).render(scrubbed(report), options)
