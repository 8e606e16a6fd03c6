# SPDX-License-Identifier: GPL-2.0-or-later
"""What calls are made on: as other calls suggest, and as hooks show."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.questions.estimate.profiles import read_profile
from lsmeter.questions.estimate.profiles.model import Calls, Profile
from lsmeter.questions.estimate.profiles.objects import object_shares, with_hooks, with_new
from lsmeter.questions.estimate.profiles.proxies import proxies

DATA = Path(__file__).parents[2] / "data" / "profiles"
NAMES = sorted(proxies().of)
COUNTS = st.dictionaries(st.sampled_from(NAMES), st.floats(0, 1e9), max_size=20)


def of(**count: float) -> Profile:
    calls = tuple(Calls(name, calls) for name, calls in count.items())
    return Profile("x", calls, errors_unknown=frozenset(count))


def test_what_waits_reads_from_connections() -> None:
    found = object_shares(of(epoll_wait=9, openat=1, accept4=1, read=5))
    assert found["read"] == {"file": pytest.approx(0.1), "tcp": pytest.approx(0.9), "unix": 0}
    assert found["accept4"] == {"tcp": 1.0, "unix": 0.0}  # clients are elsewhere


def test_what_opens_reads_files() -> None:
    assert object_shares(of(openat=3, read=5))["read"]["file"] == 1
    assert object_shares(of(poll=3, read=5))["read"] == {
        "file": 0.0,
        "pipe": 1.0,
    }  # no socket


def test_nothing_is_said_of_what_nothing_suggests() -> None:
    assert object_shares(of(read=5, getpid=2)) == {}


def test_who_connects_as_often_as_it_accepts_may_talk_to_itself() -> None:
    assert object_shares(of(accept=4, connect=4))["accept"] == {"tcp": 0.5, "unix": 0.5}
    assert object_shares(of(accept=4, connect=1))["accept"]["tcp"] == pytest.approx(0.875)
    assert object_shares(of(bind=1, recvmsg=9))["recvmsg"] == {"udp": 1.0}


def test_a_file_that_was_opened_is_asked_for_its_size() -> None:
    assert object_shares(of(openat=1, newfstatat=4))["newfstatat"]["descriptor"] == 0.25
    assert object_shares(of(openat=1, newfstatat=4, fstat=1))["newfstatat"]["descriptor"] == 0


def test_calls_that_failed_suggest_nothing() -> None:
    calls = (Calls("openat", 9, 9), Calls("connect", 5, 5), Calls("poll", 5), Calls("read", 5))
    found = object_shares(Profile("x", calls))
    assert found["read"] == {"file": 0, "tcp": 0.5, "unix": 0.5}  # EINPROGRESS: it connects


def test_the_first_use_of_each_connection_is_a_kind_of_its_own() -> None:
    found = with_new(of(accept4=2, read=6, readv=2), "read", {"file": 0.5, "tcp": 0.5})
    assert found == {"file": 0.5, "tcp": 0.25, "tcp-new": 0.25}
    assert with_new(of(accept4=2, sendto=6), "sendto", {"tcp": 1.0}) == {"tcp": 1.0}


@given(COUNTS)
def test_shares_are_of_known_kinds_and_make_a_whole(count: dict[str, float]) -> None:
    profile = of(**count)
    for name, shares in object_shares(profile).items():
        split = with_new(profile, name, shares)
        assert split.keys() <= proxies().of[name].kinds.keys() | {""}
        assert sum(split.values()) == pytest.approx(1)
        assert min(split.values()) >= -1e-9


@given(COUNTS, st.dictionaries(st.sampled_from(["socket_recvmsg", "sock_graft"]), st.floats(0, 9)))
def test_hooks_say_what_kinds_there_are(count: dict[str, float], hooks: dict[str, float]) -> None:
    found = with_hooks(of(**count), hooks)
    for name, shares in found.made_on.items():
        assert shares.keys() <= proxies().of[name].kinds.keys()
        assert sum(shares.values()) == pytest.approx(1)
    assert all(0 <= item.errors <= item.calls for item in found.calls)


def test_hooks_tell_sockets_files_and_what_failed() -> None:
    profile = of(read=10, recvfrom=2, newfstatat=4, accept4=3, connect=2, fcntl=8, flock=1)
    hooks = {
        "socket_recvmsg": 8.0,
        "socket_sendmsg": 8.0,
        "socket_getpeersec_dgram": 2.0,
        "inode_getattr": 1.0,
        "sock_graft": 2.0,
        "inet_conn_request": 2.0,
        "unix_stream_connect": 2.0,
        "file_lock": 3.0,
    }
    found = with_hooks(profile, hooks)
    assert found.made_on["read"] == {"file": 0.4, "unix": 0.15, "tcp": pytest.approx(0.45)}
    assert found.made_on["accept4"] == {"unix": 0, "tcp": 1}
    assert found.made_on["connect"] == {"unix": 1, "tcp": 0}
    assert found.made_on["fcntl"] == {"flags": 0.75, "lock": 0.25}
    errors = {item.name: item.errors for item in found.calls if item.errors}
    assert errors == {"newfstatat": 3, "accept4": 1}
    assert found.errors_unknown == {"read", "recvfrom", "connect", "fcntl", "flock"}


def test_real_services_have_connections() -> None:
    """Recorded from Redis, and from Apache with MariaDB, under a load."""
    redis = object_shares(read_profile(DATA / "strace-c-redis.txt"))
    assert redis["write"]["tcp"] > 0.95
    mariadb = object_shares(read_profile(DATA / "strace-c-mariadb.txt"))
    assert mariadb["read"]["file"] == 0
    assert mariadb["recvfrom"]["tcp"] == pytest.approx(0.75)  # PHP connects to MariaDB
