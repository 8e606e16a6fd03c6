# SPDX-License-Identifier: GPL-2.0-or-later
"""Every proxy benchmark of a call exists, and every call is named once."""

from __future__ import annotations

import pytest

from lsmeter.guest.probe import catalogue, find_probe
from lsmeter.questions.estimate.profiles.proxies import ANY_SUITE, Reading, _reading, proxies

KNOWN = [(item.suite, item.id) for item in catalogue(find_probe())]
TABLE = proxies()
READINGS = sorted(
    {
        reading
        for item in TABLE.of.values()
        for kind in (*item.kinds.values(), *item.failed.values())
        for reading in kind
    },
    key=str,
)


@pytest.mark.parametrize("reading", READINGS, ids=str)
def test_every_benchmark_exists(reading: Reading) -> None:
    assert any(reading.matches(name) for name in KNOWN)
    assert {name for name, _ in reading.more} <= {*KNOWN}


def test_a_pattern_takes_nothing_of_another_operation() -> None:
    for reading in READINGS:
        operation = reading.pattern.split(" ")[0]
        taken = {name for suite, name in KNOWN if reading.matches((suite, name))}
        assert {name.split(" ")[0] for name in taken} == {operation}


def test_every_call_has_something_or_is_within_one_that_has() -> None:
    for name, item in TABLE.of.items():
        assert bool(item.kinds) is not bool(item.within), name
        assert all(item.kinds.values()) and (not item.within or TABLE.of[item.within].kinds), name


def test_aliases_lead_to_calls_and_are_none_themselves() -> None:
    for alias, name in TABLE.aliases.items():
        assert name in TABLE.of, alias
        assert alias not in TABLE.of


def test_a_benchmark_that_makes_the_call_stands_for_it() -> None:
    """A call that a reading of the file suite makes alone is not without it."""
    for item in catalogue(find_probe()):
        if item.suite != "file" or item.control or len(item.syscalls) != 1:
            continue
        proxy = TABLE.of.get(TABLE.name(item.syscalls[0]))
        assert proxy is not None, item.syscalls
        patterns = [r for kind in (*proxy.kinds.values(), *proxy.failed.values()) for r in kind]
        assert any(reading.matches((item.suite, item.id)) for reading in patterns), item.id


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        ("file: open depth=*", Reading("file", "open depth=*")),
        ("ipc: pipe size=* / 2", Reading("ipc", "pipe size=*", calls=2)),
        (
            "net: tcp-connect ip=* - net: socket type=tcp / 2",
            Reading("net", "tcp-connect ip=*", more=((("net", "socket type=tcp"), -0.5),)),
        ),
        (
            "net: tcp ip=* / 2 + syscall: sendfile size=4096 - net: getpeername",
            Reading(
                "net",
                "tcp ip=*",
                2,
                ((("syscall", "sendfile size=4096"), 1.0), (("net", "getpeername"), -1.0)),
            ),
        ),
        ("*: getppid", Reading(ANY_SUITE, "getppid")),
    ],
)
def test_how_a_benchmark_is_written(text: str, reading: Reading) -> None:
    assert _reading(text) == reading


@pytest.mark.parametrize("text", ["open", "file open", "file: open / 1", "file: / 2"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a benchmark"):
        _reading(text)
