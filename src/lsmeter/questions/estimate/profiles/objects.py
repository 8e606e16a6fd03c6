# SPDX-License-Identifier: GPL-2.0-or-later
"""What calls of a profile are made on, as far as the other calls in it say; pure.

strace and perf count calls by name alone. But a program that waits for descriptors does not wait
for files, one that only accepts connections serves clients elsewhere, and so on. What is told here
is a share of each kind of thing; `lsmeter help estimate` has the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lsmeter.questions.estimate.profiles.model import Profile
from lsmeter.questions.estimate.profiles.proxies import proxies

Shares = Mapping[str, float]  # by kind of thing
_WAITS = ("poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2")
_OPENS = ("open", "openat", "openat2", "creat")
_ACCEPTS = ("accept", "accept4")
_SENT = ("sendto", "sendmsg", "sendmmsg", "recvfrom", "recvmsg", "recvmmsg")
_SOCKETS = (*_ACCEPTS, *_SENT, "connect", "socket", "bind", "listen", "getsockopt", "setsockopt")
_DATA = ("read", "readv", "write", "writev")
_STREAMS = ("tcp", "unix")


def object_shares(profile: Profile) -> Mapping[str, Shares]:
    """Return by a call's usual name on which share of each kind it is made; {} is not known."""
    calls = _made(profile)

    def of(names: Iterable[str]) -> float:
        return sum(calls.get(name, 0.0) for name in names)

    opened, accepted, connected = of(_OPENS), of(_ACCEPTS), calls.get("connect", 0.0)
    streams = max(of(_WAITS), accepted)
    family = _family(accepted, connected)
    found: dict[str, Shares] = {}
    if streams + opened:
        share = streams / (streams + opened)
        kinds = _without_udp(family) or {"tcp": 0.5, "unix": 0.5}
        on = _scaled(kinds if of(_SOCKETS) else {"pipe": 1.0}, share)
        found |= {name: {"file": 1 - share, **on} for name in _DATA}
    found |= dict.fromkeys(_SENT, family)
    found |= dict.fromkeys((*_ACCEPTS, "connect"), _without_udp(family))
    found["sendfile"] = {"tcp": 1.0} if of(_SOCKETS) else {"file": 1.0}
    found["fcntl"] = {"flags": 1.0}  # locks are rare
    if names := calls.get("newfstatat", 0.0):
        # fstat() of today's C libraries: what was opened is asked for its size.
        mine = 0.0 if calls.get("fstat") else min(1.0, opened / names)
        found["newfstatat"] = {"descriptor": mine, "path": 1 - mine}
    return {name: shares for name, shares in found.items() if name in calls and shares}


def with_new(profile: Profile, name: str, shares: Shares) -> Shares:
    """Split reads and writes of sockets: the first one of each new socket is a kind of its own."""
    count = _made(profile)
    group = next((names for names in (_DATA[:2], _DATA[2:]) if name in names), ())
    made = sum(count.get(call, 0.0) for call in (*_ACCEPTS, "connect"))
    calls = sum(count.get(call, 0.0) for call in group)
    on_sockets = calls * sum(shares.get(kind, 0.0) for kind in _STREAMS)
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


def _scaled(shares: Shares, by: float) -> dict[str, float]:
    return {kind: share * by for kind, share in shares.items()}
