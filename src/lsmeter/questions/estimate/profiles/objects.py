# SPDX-License-Identifier: GPL-2.0-or-later
"""What calls of a profile are made on, as shares of each kind of thing; pure.

strace and perf count calls by name alone. But a program that waits for descriptors does not wait
for files, one that only accepts connections serves clients elsewhere, and so on. Hooks that were
counted say more: a read on a socket reaches socket_recvmsg, one of a file does not; a name that is
not there is never asked for its attributes. `lsmeter help estimate` has the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from lsmeter.questions.estimate.profiles.model import Profile
from lsmeter.questions.estimate.profiles.proxies import proxies

Shares = Mapping[str, float]  # by kind of thing
_WAITS = ("poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2")
_OPENS = ("open", "openat", "openat2", "creat")
_ACCEPTS = ("accept", "accept4")
_SENDS, _RECEIVES = ("sendto", "sendmsg", "sendmmsg"), ("recvfrom", "recvmsg", "recvmmsg")
_SENT = (*_SENDS, *_RECEIVES)
_SOCKETS = (*_ACCEPTS, *_SENT, "connect", "socket", "bind", "listen", "getsockopt", "setsockopt")
_READS, _WRITES = ("read", "readv"), ("write", "writev")
_DATA = (*_READS, *_WRITES)
_STATS = ("newfstatat", "stat", "lstat", "statx")
_STREAMS = ("tcp", "unix")
# Which hook every call of these reaches that does not fail.
_REACHED = ((_ACCEPTS, "sock_graft"), (_OPENS, "file_open"), (_STATS, "inode_getattr"))


def object_shares(profile: Profile) -> Mapping[str, Shares]:
    """Return by a call's usual name on which share of each kind it is made; {} is not known."""
    calls = _made(profile)
    opened, accepted = _sum(calls, _OPENS), _sum(calls, _ACCEPTS)
    streams = max(_sum(calls, _WAITS), accepted)
    on_sockets = _sum(calls, _SOCKETS)
    family = _family(accepted, calls.get("connect", 0.0))
    found: dict[str, Shares] = {}
    if streams + opened:
        share = streams / (streams + opened)
        kinds = _without_udp(family) or {"tcp": 0.5, "unix": 0.5}
        kinds = kinds if on_sockets else {"pipe": 1.0}
        on = {"file": 1 - share} | {kind: part * share for kind, part in kinds.items()}
        found |= dict.fromkeys(_DATA, on)
    found |= dict.fromkeys(_SENT, family)
    found |= dict.fromkeys((*_ACCEPTS, "connect"), _without_udp(family))
    found["sendfile"] = {"tcp": 1.0} if on_sockets else {"file": 1.0}
    found["fcntl"] = {"flags": 1.0}  # locks are rare
    if names := calls.get("newfstatat", 0.0):
        # fstat() of today's C libraries: what was opened is asked for its size.
        mine = 0.0 if calls.get("fstat") else min(1.0, opened / names)
        found["newfstatat"] = {"descriptor": mine, "path": 1 - mine}
    return {name: shares for name, shares in found.items() if name in calls and shares}


def with_new(profile: Profile, name: str, shares: Shares) -> Shares:
    """Split reads and writes of sockets: the first one of each new socket is a kind of its own."""
    count = _made(profile)
    group = next((names for names in (_READS, _WRITES) if name in names), ())
    made = _sum(count, (*_ACCEPTS, "connect"))
    on_sockets = _sum(count, group) * _sum(shares, _STREAMS)
    if not made or not on_sockets:
        return shares
    new = min(1.0, made / on_sockets)
    split = {kind: shares.get(kind, 0.0) * new for kind in _STREAMS}
    old = {kind: share - split.get(kind, 0.0) for kind, share in shares.items()}
    return old | {f"{kind}-new": share for kind, share in split.items() if share}


def _made(profile: Profile) -> dict[str, float]:
    """Return how often each call was made and did not fail; a connection begun is one as well."""
    found: dict[str, float] = {}
    for item in profile.calls:
        name = proxies().name(item.name)
        failed = 0.0 if name == "connect" else item.errors  # EINPROGRESS
        found[name] = found.get(name, 0.0) + item.calls - failed
    return found


def _family(accepted: float, connected: float) -> dict[str, float]:
    """Return the families of sockets: who accepts more than it connects has clients elsewhere.

    What one service connects and accepts itself, or another one of its host does, may be either.
    """
    if not accepted and not connected:
        return {"udp": 1.0}
    local = min(1.0, connected / accepted) / 2 if accepted else 0.5
    return {"tcp": 1 - local, "unix": local}


def _without_udp(family: Shares) -> dict[str, float]:
    return {kind: share for kind, share in family.items() if kind != "udp"}


def with_hooks(profile: Profile, hooks: Mapping[str, float]) -> Profile:
    """Return a counted profile with what its hooks say of it; usual names of calls are wanted."""
    count = {item.name: item.calls for item in profile.calls}
    failed: dict[str, float] = {}
    for names, hook in _REACHED:
        made = _sum(count, names)
        reached = hooks.get(hook, 0.0) - (count.get("fstat", 0.0) if names is _STATS else 0.0)
        lost = min(1.0, max(0.0, 1 - reached / made)) if made else 0.0
        failed |= {name: lost * count[name] for name in names if name in count}
    calls = tuple(
        replace(item, errors=failed.get(item.name, item.errors)) for item in profile.calls
    )
    seen = profile.errors_unknown - failed.keys()
    on = {name: shares for name, shares in _shares_by_hooks(count, hooks) if name in count}
    return replace(profile, calls=calls, errors_unknown=seen, made_on=on)


def _shares_by_hooks(
    count: Mapping[str, float], hooks: Mapping[str, float]
) -> Iterable[tuple[str, Shares]]:
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


def _sum(count: Mapping[str, float], names: Iterable[str]) -> float:
    return sum(count.get(name, 0.0) for name in names)


def _share(part: float, whole: float) -> float:
    return min(1.0, max(0.0, part / whole)) if whole else 0.0
