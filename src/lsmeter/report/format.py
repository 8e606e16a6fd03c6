# SPDX-License-Identifier: GPL-2.0-or-later
"""What a report format is, and what a caller may ask of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lsmeter.report.model import Report


@dataclass(frozen=True)
class RenderOptions:
    """How the text is to look; a format ignores what does not apply to it.

    width: columns of a terminal (at least 40 are assumed). colour: whether escape sequences for
    colour may be written.
    """

    width: int = 80
    colour: bool = False


@dataclass(frozen=True)
class ReportFormat:
    """One way to write a report.

    suffix is that of a file in this format, with its dot. render is pure: the same report and
    options give the same text, which ends with a newline.
    """

    name: str
    title: str
    suffix: str
    render: Callable[[Report, RenderOptions], str]
