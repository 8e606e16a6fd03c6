# SPDX-License-Identifier: GPL-2.0-or-later
"""One option says on every command that boots guests what a guest may take."""

from __future__ import annotations

import pytest

from lsmeter.core.limits import BOOT_S, Limits
from tests.conftest import Lsmeter

COMMANDS = (
    *(("run",), ("slopes",), ("history",), ("selftest", "exact")),
    *(("hooks", "count"), ("hooks", "agree"), ("hooks", "cost")),
)


def test_the_default_is_that_of_the_limits() -> None:
    assert Limits().boot_s == BOOT_S


@pytest.mark.parametrize("command", COMMANDS)
def test_it_is_explained_and_checked(lsmeter: Lsmeter, command: tuple[str, ...]) -> None:
    shown = lsmeter("help", *command).out
    assert "--boot-deadline" in shown
    assert "What a guest may take that finishes no benchmark" in " ".join(shown.split())
    refused = lsmeter(*command, "--boot-deadline", "0")
    assert refused.code == 2
    assert "--boot-deadline" in refused.err
