# SPDX-License-Identifier: GPL-2.0-or-later
"""From runs that counted hooks to what of a kernel's hooks each suite reaches; pure."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from lsmeter.measure.results.directory import RunData
from lsmeter.measure.tasks.count import WATCHED_NAMES
from lsmeter.questions.hooks.count.figures import Counts, find_counts
from lsmeter.sources.kernels.functions import is_hook

# Why no benchmark reaches a hook: patterns of names, the first that fits. What stands under a
# reason that names something a guest does not have counts as out of reach.
_OVERLAY = "overlayfs: the kernel has none, or nothing was done through it"
_IPSEC = "labelled IPsec in use: the setup selinux-ipsec"
_HARDWARE = "needs hardware or a driver that a guest does not have"
_OUT_OF_REACH: tuple[tuple[str, str], ...] = (
    ("ib_*", f"InfiniBand: {_HARDWARE}"),
    ("binder_*", f"Android's binder: {_HARDWARE}"),
    ("bdev_*", f"dm-verity: {_HARDWARE}"),
    ("erase_store", f"no hooks, but the files of NVDIMMs: {_HARDWARE}"),
    ("sanitize_store", f"no hooks, but the files of NVDIMMs: {_HARDWARE}"),
    ("state_show", f"no hooks, but the files of NVDIMMs: {_HARDWARE}"),
    ("file_ioctl_compat", "32-bit programs: the probe is a 64-bit one"),
    ("initramfs_*", "runs while the kernel starts"),
)
_REASONS: tuple[tuple[str, str], ...] = (
    *_OUT_OF_REACH,
    ("tun_dev_*", "TUN devices: the kernel has none"),
    ("sctp_*", "SCTP: the kernel has none"),
    ("mptcp_*", "Multipath TCP: the kernel has none"),
    ("xfrm_state_free", "freed in the background (RCU, kernel thread), outside of the region"),
    ("xfrm_*", _IPSEC),
    ("skb_classify_flow", _IPSEC),
    ("inode_copy_up*", _OVERLAY),
    ("*backing_file*", _OVERLAY),
    ("inode_setintegrity", "fs-verity: the suites' file system has none"),
    ("*_free*", "freed in the background (RCU, kernel thread), outside of the region"),
    ("audit_rule_*", "needs an audit rule with a label"),
    ("*secctx*", "needs audit, NFS or a datagram with labels"),
    ("*secid*", "needs audit, IMA or labelled networking"),
    ("secmark_*", "SECMARK: needs a module that has contexts, and nftables"),
    ("kernel_*", "loading of modules, firmware, policies and kernels"),
    ("*_kernel_*", "loading of modules, firmware, policies and kernels"),
    ("locked_down", "lockdown: only what it forbids asks"),
    ("quota*", "quotas: the suites' file system has none"),
    ("sb_*", "mount options that the suites do not use"),
    ("fs_context_*", "mount options that the suites do not use"),
    ("uring_*", "io_uring's thread and commands: not used"),
    ("watch_key", "watch queues: not used"),
    ("post_notification", "watch queues: not used"),
    ("dentry_*", "labels of NFS and overlayfs"),
    ("task_movememory", "needs NUMA"),
    ("bpf_token_*", "BPF tokens: not used"),
    ("lsm_*", "the system calls of LSMs: not in the suites"),
)


@dataclass(frozen=True)
class Coverage:
    """The hooks of one kernel: who reaches each, and why others are reached by none.

    suites maps a suite to the hooks that its benchmarks ran under any setup; missing maps a hook
    that none ran to the reason. Names are without security_.
    """

    kernel: str
    hooks: tuple[str, ...]
    suites: dict[str, frozenset[str]]
    missing: dict[str, str]

    @property
    def reached(self) -> frozenset[str]:
        """Return the hooks that at least one suite ran."""
        return frozenset().union(*self.suites.values())

    @property
    def within_reach(self) -> int:
        """Return how many hooks a guest without special hardware can reach."""
        return len(self.hooks) - sum(out_of_reach(name) for name in self.missing)


@lru_cache(maxsize=4096)
def _reason(name: str) -> str:
    """Say why no benchmark reaches a hook."""
    found = (why for form, why in _REASONS if fnmatch.fnmatchcase(name, form))
    return next(found, "no benchmark of the suites")


def out_of_reach(name: str) -> bool:
    """Say whether no guest as they are can run a hook."""
    return _reason(name) in dict(_OUT_OF_REACH).values()


def coverage(run: RunData) -> tuple[Coverage, ...]:
    """Say of each kernel of a run which hooks the benchmarks of each suite ran."""
    counts = find_counts(run)
    kernels = dict.fromkeys(place.kernel for place, _ in counts.watched)
    return tuple(covered(name, _watched(run, name), [counts]) for name in kernels)


def _watched(run: RunData, kernel: str) -> Iterator[str]:
    """Give the functions of a kernel that were counted, as its guests said."""
    cells = {cell.hash for cell in run.manifest.cells if cell.place.kernel == kernel}
    for boot in (boot for boot in run.boots if boot.cell_hash in cells):
        for key, names in boot.facts:
            if key.startswith(WATCHED_NAMES):
                yield from (name for name in names.split(",") if is_hook(f"security_{name}"))


def covered(kernel: str, watched: Iterable[str], counts: Iterable[Counts]) -> Coverage:
    """Say which hooks of a kernel the benchmarks of each suite run; watched: all there are."""
    suites: dict[str, set[str]] = {}
    for found in counts:
        for place, benchmark in found.benchmarks:
            if place.kernel == kernel:
                suites.setdefault(benchmark.suite, set())
        for item in found.counts:
            if item.place.kernel == kernel and any(item.readings):
                suites.setdefault(item.benchmark.suite, set()).add(item.name)
    reached = set().union(*suites.values())
    hooks = tuple(sorted({*watched, *reached}))
    missing = {name: _reason(name) for name in hooks if name not in reached}
    return Coverage(kernel, hooks, {k: frozenset(v) for k, v in suites.items()}, missing)
