# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU's emulator in real time: the way of a guest on KVM, where there is no KVM."""

from __future__ import annotations

from lsmeter.core.model import Conditions
from lsmeter.machines.kvm import RealTime


class Tcg(RealTime):
    """Runs guests on the emulator, which counts nothing; its times are those of emulated code."""

    name = "tcg"
    title = "QEMU's emulator in real time (for tests)"
    internal = True
    accelerator = "tcg"
    cpu = Conditions.cpu


MACHINE = Tcg()
