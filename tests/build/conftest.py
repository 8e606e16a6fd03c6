# SPDX-License-Identifier: GPL-2.0-or-later
"""Real builds of kernels: minutes each, so they run only when they are asked for."""

from __future__ import annotations

import pytest

MARKER = "build: really builds a kernel (minutes; needs a compiler and, once, the network)"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "build" in (config.getoption("markexpr") or ""):
        return
    reason = "builds a kernel, which takes minutes: run it with -m build"
    for item in items:
        if item.get_closest_marker("build"):
            item.add_marker(pytest.mark.skip(reason=reason))
