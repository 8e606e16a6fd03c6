# SPDX-License-Identifier: GPL-2.0-or-later
"""How guests are started, as far as how they end depends on it."""

from __future__ import annotations

from lsmeter.model import BootProtocol, Conditions
from lsmeter.qemu.command import Channels, GuestStart, exact_arguments, kernel_cmdline
from lsmeter.setup import parse_setup


def test_a_guest_that_restarts_ends_at_once() -> None:
    """Without a way to reset, 7.2 ran the firmware in place and hung there."""
    cmdline = kernel_cmdline(parse_setup("capability"), Conditions())
    guest = GuestStart(BootProtocol.PVH, "KERNEL", cmdline, Conditions(), 1)
    words = exact_arguments(guest, Channels("CONSOLE", "RESULTS", "INITRD"))
    assert "reboot=t" in cmdline.split()
    assert "-no-reboot" in words
