# SPDX-License-Identifier: GPL-2.0-or-later
"""What calls were made on and which failed, as hooks that were counted beside them show; pure.

A read on a socket reaches socket_recvmsg, one of a file does not; a name that is not there is never
asked for its attributes. Counts are those of the baseline: nothing of a tested setup is in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from lsmeter.questions.estimate.profiles.model import Calls, Profile

_RECEIVES, _SENDS = ("recvfrom", "recvmsg", "recvmmsg"), ("sendto", "sendmsg", "sendmmsg")
_READS, _WRITES = ("read", "readv"), ("write", "writev")
_ACCEPTS, _OPENS = ("accept", "accept4"), ("open", "openat", "openat2", "creat")
_STATS = ("newfstatat", "stat", "lstat", "statx")
# Which hook every call of these reaches that does not fail.
_REACHED: tuple[tuple[tuple[str, ...], str], ...] = (
    (_ACCEPTS, "sock_graft"),
    (_OPENS, "file_open"),
    (_STATS, "inode_getattr"),
)


def with_hooks(profile: Profile, hooks: Mapping[str, float]) -> Profile:
    """Return a counted profile with what its hooks say of it; usual names of calls are wanted."""
    count = {item.name: item.calls for item in profile.calls}
    failed: dict[str, float] = {}
    for names, hook in _REACHED:
        made = _sum(count, names)
        reached = hooks.get(hook, 0.0) - (count.get("fstat", 0.0) if names is _STATS else 0.0)
        lost = min(1.0, max(0.0, 1 - reached / made)) if made else 0.0
        failed |= {name: lost * count[name] for name in names if name in count}
    calls = tuple(_failing(item, failed.get(item.name)) for item in profile.calls)
    seen = profile.errors_unknown - failed.keys()
    on = {name: shares for name, shares in _object_shares(count, hooks) if name in count}
    return replace(profile, calls=calls, errors_unknown=seen, made_on=on)


def _failing(item: Calls, failed: float | None) -> Calls:
    return item if failed is None else replace(item, errors=failed)


def _object_shares(
    count: Mapping[str, float], hooks: Mapping[str, float]
) -> Iterable[tuple[str, Mapping[str, float]]]:
    sent, received = hooks.get("socket_sendmsg", 0.0), hooks.get("socket_recvmsg", 0.0)
    # Every message by a local socket carries credentials, and is asked for a label.
    local = _share(hooks.get("socket_getpeersec_dgram", 0.0), sent)
    for name in (*_RECEIVES, *_SENDS):
        yield name, {"unix": local, "tcp": 1 - local}
    for names, others, hooked in ((_READS, _RECEIVES, received), (_WRITES, _SENDS, sent)):
        share = _share(hooked - _sum(count, others), _sum(count, names))
        shares = {"file": 1 - share, "unix": share * local, "tcp": share * (1 - local)}
        for name in names:
            yield name, shares
    local = 1 - _share(hooks.get("inet_conn_request", 0.0), hooks.get("sock_graft", 0.0))
    for name in _ACCEPTS:
        yield name, {"unix": local, "tcp": 1 - local}
    local = _share(hooks.get("unix_stream_connect", 0.0), count.get("connect", 0.0))
    yield "connect", {"unix": local, "tcp": 1 - local}
    locks = hooks.get("file_lock", 0.0) - count.get("flock", 0.0)
    share = _share(locks, count.get("fcntl", 0.0))
    yield "fcntl", {"flags": 1 - share, "lock": share}


def _sum(count: Mapping[str, float], names: Sequence[str]) -> float:
    return sum(count.get(name, 0.0) for name in names)


def _share(part: float, whole: float) -> float:
    return min(1.0, max(0.0, part / whole)) if whole else 0.0
