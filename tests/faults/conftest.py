# SPDX-License-Identifier: GPL-2.0-or-later
"""The truth is measured once; the end of a campaign is a table of its cases by kind."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.faults.judge import Defect, Truth, find_truth
from tests.unit.kernels.synthetic import bzimage, elf

_FAULT = "fault"  # kind of a case, and its defects: what a report of pytest carries


def _write_kernel(path: Path) -> None:
    path.write_bytes(bzimage(elf(), release="6.1.0-56-cloud-amd64"))


@pytest.fixture(scope="session")
def truth(tmp_path_factory: pytest.TempPathFactory) -> Truth:
    return find_truth(tmp_path_factory.mktemp("truth") / "home", _write_kernel)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all-faults", action="store_true", help="run all cases of faults")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many cases of each kind ran, and how many had which defect."""
    kinds: dict[str, Counter[str]] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == _FAULT and report.when == "call":
                    kind, *defects = value
                    kinds.setdefault(kind, Counter()).update(["cases", *defects])
    if not kinds:
        return
    terminalreporter.section("faults")
    heads = ("cases", *Defect)
    width = max(map(len, (*kinds, "all")))
    terminalreporter.line(" " * width + "  " + "  ".join(heads))
    kinds = {kind: kinds[kind] for kind in sorted(kinds)}
    for kind, counts in {**kinds, "all": sum(kinds.values(), Counter())}.items():
        cells = (f"{counts[head]:>{len(head)}}" for head in heads)
        terminalreporter.line(f"{kind:{width}}  " + "  ".join(cells))
