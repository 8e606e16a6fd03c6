# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest may take before it is killed; lsmeter.machines.qemu applies it to time."""

from __future__ import annotations

from dataclasses import dataclass

BOOT_S = 300.0  # what --boot-deadline is by default
_MOST_S = 3600.0
_MOST_BOOTS = 20


@dataclass(frozen=True)
class Limits:
    """What a guest may take before it is killed.

    Seconds are those of the host in which lsmeter itself was running and the guest did not wait for
    a processor: neither a suspended lsmeter nor a busy host uses them up. boot_s is what a guest
    may take that finishes no benchmark; one that keeps finishing them has as long as it needs, but
    no longer than most_s. A guest of which nothing is heard, on console or result channel, has
    silence_s or a third of boot_s, whichever is longer.
    """

    boot_s: float = BOOT_S
    silence_s: float = 60.0
    results_bytes: int = 64 << 20
    console_bytes: int = 4 << 20
    benchmark_ms: int = 10_000  # guest time

    @property
    def quiet_s(self) -> float:
        """How long a guest may say nothing."""
        return max(self.silence_s, self.boot_s / 3)

    @property
    def most_s(self) -> float:
        """How long a guest may go on finishing benchmarks: an hour, or 20 times boot_s."""
        return max(_MOST_S, _MOST_BOOTS * self.boot_s)
