# SPDX-License-Identifier: GPL-2.0-or-later
"""Processors are held by one guest each."""

import os
from contextlib import ExitStack

import pytest

from lsmeter.machines.qemu import hold_processor


def test_a_processor_is_held_once_and_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    # Processors that no machine has: other guests of this one hold those that it has.
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {70_001, 70_002})
    with ExitStack() as held:
        assert held.enter_context(hold_processor()) == 70_001
        assert held.enter_context(hold_processor()) == 70_002
        assert held.enter_context(hold_processor()) is None
    with hold_processor() as number:
        assert number == 70_001
