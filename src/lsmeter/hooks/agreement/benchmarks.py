# SPDX-License-Identifier: GPL-2.0-or-later
"""What each benchmark of the file suite does: system calls, and length of its path; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from lsmeter.hooks.agreement.model import Bound
from lsmeter.hooks.attribution.modules import is_hook
from lsmeter.hooks.source.mediation import published_table7
from lsmeter.hooks.source.model import Count, SourceAnalysis
from lsmeter.hooks.source.syscalls import family_of

# Operation: its calls, by the names that the kernel's source gives them.
CALLS: Final[Mapping[str, tuple[str, ...]]] = {
    "chmod": ("chmod",),
    "close": ("close",),
    "copy": ("read", "write"),
    "creat": ("creat",),
    "empty": (),
    "exit": ("write", "exit_group", "wait4"),
    "fstatat": ("newfstatat",),
    "getppid": (),
    "mkdir": ("mkdir",),
    "open": ("open",),
    "openat": ("openat",),
    "read": ("read",),
    "rename": ("rename",),
    "rmdir": ("rmdir",),
    "stat": ("newstat",),
    "symlink": ("symlink",),
    "unlink": ("unlink",),
    "write": ("write",),
}
_WITHOUT_PATH = frozenset({"close", "copy", "empty", "exit", "getppid", "read", "write"})

# Components of paths that a parameter names (docs/file-suite.md); `..` is one as well.
_COMPONENTS: Final[Mapping[str, int]] = {
    "path=dotdot-3": 3,
    "path=dotdot-9": 9,
    "target=missing": 2,
}


def components(benchmark: str) -> int:
    """Return the number of components of a benchmark's path; 0 for calls without a path."""
    operation, *params = benchmark.split()
    if operation in _WITHOUT_PATH:
        return 0
    for param in params:
        if param in _COMPONENTS:
            return _COMPONENTS[param]
        key, _, value = param.partition("=")
        if key == "depth" and value.isdecimal() and len(value) < 6:
            return int(value)
    return 1


def least(benchmark: str) -> int | None:
    """Return the decisions that POSIX needs (the study's Min Hook); None when it does not say."""
    calls = CALLS.get(benchmark.split(maxsplit=1)[0])
    if calls is None:
        return None
    needed = {row.syscall: row.least for row in published_table7()}
    counts = [needed.get(family_of(call)) for call in calls]
    if any(count is None for count in counts):
        return None
    depth = components(benchmark)
    return sum(_at(count, depth) for count in counts if count is not None)


def bounds(analysis: SourceAnalysis, filesystem: str, benchmark: str) -> Mapping[str, Bound] | None:
    """Return what the source says of each hook; None when it does not tell of this benchmark.

    Functions of modules that the kernel calls by name (IMA and EVM of old kernels) are no hooks.
    """
    calls = CALLS.get(benchmark.split(maxsplit=1)[0])
    if calls is None:
        return None
    known = {use.syscall for use in analysis.syscalls if use.filesystem == filesystem}
    if not set(calls) <= known:
        return None
    depth = components(benchmark)
    found: dict[str, Bound] = {}
    for call in calls:
        for hook, bound in _of_call(analysis, filesystem, call, depth):
            before = found.get(hook, Bound(0, 0))
            found[hook] = Bound(
                before.ordinary + bound.ordinary,
                before.most + bound.most,
                before.repeats or bound.repeats,
            )
    return found


def _of_call(
    analysis: SourceAnalysis, filesystem: str, call: str, depth: int
) -> Iterator[tuple[str, Bound]]:
    for use in analysis.syscalls:
        if use.filesystem != filesystem or use.syscall != call:
            continue
        for one in use.uses:
            if not is_hook(one.interface):
                continue
            ordinary, most = _at(one.ordinary, depth), _at(one.most, depth)
            # Another way through the call may have the highest count of short paths.
            yield one.interface, Bound(ordinary, max(ordinary, most), one.repeats)


def _at(count: Count, depth: int) -> int:
    return count.constant + count.per_component * depth
