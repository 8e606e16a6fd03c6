# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU with KVM: guests in real time, for the timed instrument."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace

from lsmeter.core import process
from lsmeter.core.errors import InfrastructureError
from lsmeter.core.limits import Limits
from lsmeter.core.model import Cell, Conditions
from lsmeter.core.model.arch import GUEST
from lsmeter.guest.capture import Capture
from lsmeter.guest.probe import host_command
from lsmeter.guest.request import Request
from lsmeter.guest.session import parse_session
from lsmeter.machines import OnResults, refuse_plugins
from lsmeter.machines.description import Description, guest_of, in_real_time
from lsmeter.machines.emulation import Emulation
from lsmeter.machines.kvm_proof import prove_kvm
from lsmeter.measure.experiment.plan import PlannedBoot

_FACTS_S = 20.0
_NOTHING = Request("", (), samples=1, warmup=0, icount_shift=0)  # what facts alone answer


class RealTime(Emulation):
    """Runs guests whose time is the host's: nothing is counted, nothing repeats to the digit."""

    accelerator: str
    cpu: str  # where the conditions leave it open

    def identity(self, plugins: Iterable[str] = ()) -> Mapping[str, str]:
        """Name QEMU, the probe, and how guests are started."""
        refuse_plugins(self, plugins)
        return super().identity()

    def guest(self, cell: Cell, seed: int = 0) -> Description:
        """Describe a guest of `cell` in real time."""
        asked = cell.conditions.cpu
        cpu = self.cpu if asked == Conditions.cpu else asked
        return in_real_time(guest_of(cell, seed), self.accelerator, cpu)

    async def run(self, planned: PlannedBoot, limits: Limits, on_results: OnResults) -> Capture:
        """Run one guest, and say what the host was like before and after."""
        before = await _host_facts("host")
        capture = await super().run(planned, limits, on_results)
        return replace(capture, facts={**before, **await _host_facts("host.after")})

    def plain_guest(self) -> Description:
        """Describe a guest without a kernel or setup: what all guests share."""
        return in_real_time(super().plain_guest(), self.accelerator, self.cpu)


async def _host_facts(prefix: str) -> dict[str, str]:
    """Return what the probe says of this machine."""
    done = await asyncio.to_thread(process.run_bytes, host_command(prefix), deadline_s=_FACTS_S)
    return dict(parse_session(done.stdout, _NOTHING).facts)


class Kvm(RealTime):
    """Runs guests on KVM, once some have been seen to end there."""

    name = "kvm"
    title = "QEMU with KVM: guests in real time, where `lsmeter doctor` saw some end"
    accelerator = "kvm"
    cpu = GUEST.host_cpu

    def prepare(self, cells: Iterable[Cell]) -> None:
        """See whether KVM works, which may take guests; InfrastructureError where it does not."""
        proof = prove_kvm()
        if not proof.works:
            raise InfrastructureError(
                f"--machine kvm cannot be used: {proof.said}",
                hint="--machine here measures this host as it runs; lsmeter doctor --fresh looks "
                "at KVM again",
            )
        super().prepare(cells)


MACHINE = Kvm()
