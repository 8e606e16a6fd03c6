# SPDX-License-Identifier: GPL-2.0-or-later
"""What of a kernel's hooks the suites reach, of runs that counted them (`lsmeter help suites`)."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from lsmeter.core.groups import grouped
from lsmeter.measure.results.directory import RunData
from lsmeter.measure.tasks.count import WATCHED_NAMES
from lsmeter.questions.cells.frame import run_document
from lsmeter.questions.hooks.count import Counts, find_counts
from lsmeter.sources.kernels.functions import is_hook
from lsmeter.tables.fields import Field, named, tabled
from lsmeter.tables.model import Document, Kind, Section

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


def coverage_document(run: RunData) -> Document:
    """Return what `list hooks` shows, a section for each kernel of a run that counted."""
    found, problems = coverage(run), find_counts(run).problems
    sections = tuple(_section(item) for item in found)
    data = {"kernels": [_data(item) for item in found]}
    title = "Hooks that the suites reach"
    return run_document(run, "lsmeter-hook-coverage", title, sections, problems, data)


def coverage(run: RunData) -> tuple[Coverage, ...]:
    """Say of each kernel of a run which hooks the benchmarks of each suite ran."""
    counts = find_counts(run)
    kernels = dict.fromkeys(place.kernel for place, _ in counts.watched)
    return tuple(_covered(name, _watched(run, name), counts) for name in kernels)


def _watched(run: RunData, kernel: str) -> Iterator[str]:
    """Give the functions of a kernel that were counted, as its guests said."""
    cells = {cell.hash for cell in run.manifest.cells if cell.place.kernel == kernel}
    for boot in (boot for boot in run.boots if boot.cell_hash in cells):
        for key, names in boot.facts:
            if key.startswith(WATCHED_NAMES):
                yield from (name for name in names.split(",") if is_hook(f"security_{name}"))


def _covered(kernel: str, watched: Iterable[str], counts: Counts) -> Coverage:
    suites: dict[str, set[str]] = {}
    for place, benchmark in counts.benchmarks:
        if place.kernel == kernel:
            suites.setdefault(benchmark.suite, set())
    for item in counts.counts:
        if item.place.kernel == kernel and any(item.readings):
            suites.setdefault(item.benchmark.suite, set()).add(item.name)
    reached = set().union(*suites.values())
    hooks = tuple(sorted({*watched, *reached}))
    missing = {name: _reason(name) for name in hooks if name not in reached}
    return Coverage(kernel, hooks, {k: frozenset(v) for k, v in suites.items()}, missing)


_MISSING = (
    Field("reason", "why", lambda item: item[0], Kind.PROSE),
    Field("count", "hooks", lambda item: len(item[1])),
    Field("hooks", "which", lambda item: ", ".join(item[1]), Kind.PROSE),
)


def _section(found: Coverage) -> Section:
    total, reached, possible = len(found.hooks), len(found.reached), found.within_reach
    text = (
        f"{found.kernel}: {reached} of {total} hooks reached ({_percent(reached, total)}); "
        f"{possible} can be reached in a guest as it is: {_percent(reached, possible)} of them."
    )
    reasons = grouped((why, hook) for hook, why in found.missing.items())
    missing = sorted(reasons.items(), key=lambda item: -len(item[1]))

    def alone(suite: str) -> int:
        others = (other for name, other in found.suites.items() if name != suite)
        return len(found.suites[suite].difference(*others))

    def suites(hook: str) -> str:
        return ", ".join(suite for suite, hooks in found.suites.items() if hook in hooks)

    by_suite = (
        named("suite", str),
        Field("reached", "hooks reached", lambda suite: len(found.suites[suite])),
        Field("share", "of all", lambda s: len(found.suites[s]) / (total or 1), Kind.SHARE),
        Field("alone", "by no other suite", alone),
    )
    by_hook = (named("hook", str), Field("suites", "reached by", suites, Kind.PROSE))
    tables = (
        tabled("coverage", "By suite", by_suite, found.suites),
        tabled("missing", "Reached by none", _MISSING, missing),
        tabled("reached", "Which suite reaches which hook", by_hook, sorted(found.reached)),
    )
    return Section(found.kernel, lead=(text,), tables=tables)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "0 %"


def _data(found: Coverage) -> dict[str, Any]:
    return {
        "kernel": found.kernel,
        "hooks": len(found.hooks),
        "reached": len(found.reached),
        "within_reach": found.within_reach,
        "suites": {suite: sorted(hooks) for suite, hooks in found.suites.items()},
        "missing": [
            {"hook": hook, "reason": why, "out_of_reach": out_of_reach(hook)}
            for hook, why in found.missing.items()
        ],
    }
