# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures with the real command, and takes out of a run's report what tests ask about."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tests.conftest import Lsmeter

Report = dict[str, Any]


def each(option: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the words that give an option once for every name."""
    return tuple(word for name in names for word in (option, name))


def measured(lsmeter: Lsmeter, *words: str, code: int = 0) -> Report:
    """Run one boot of each setup with these words, which has to end with `code`."""
    done = lsmeter("run", *words, "--boots", "1", "--run-dir", "run")
    assert done.code == code, done.err + done.out
    report: Report = json.loads(lsmeter("report", "run", "--format", "json").out)
    return report


def values(report: Report, setup: str) -> dict[str, float]:
    """Return the estimate of each benchmark under a setup, such as {"open depth=1": 1234}."""
    return {item["id"]: item["value"] for item in report["estimates"] if item["setup"] == setup}


def facts(report: Report, setup: str) -> dict[str, str]:
    """Return what the guest said of a setup, which has to be verified."""
    (found,) = [item for item in report["setups"] if item["setup"] == setup]
    assert found["verified"]
    return dict(found["facts"])


def told(report: Report) -> str:
    """Return what all problems say."""
    return " ".join(f"{item['title']} {item['detail']}" for item in report["problems"])
