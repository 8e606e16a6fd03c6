# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.hosts.guest_host import VIRTIOFSD, GuestHost


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--hosts", action="store_true", help="also run what guests do as hosts")


@pytest.fixture
def host(
    request: pytest.FixtureRequest, policy_image: Path, tmp_path_factory: pytest.TempPathFactory
) -> GuestHost:
    """Return a guest that stands for a host: minutes each, so it is asked for."""
    if not request.config.getoption("--hosts"):
        pytest.skip("takes minutes: make hosts, or --hosts")
    if os.geteuid() or not VIRTIOFSD.exists():
        pytest.skip("needs root and virtiofsd")
    return GuestHost(policy_image, tmp_path_factory.mktemp("host"))
