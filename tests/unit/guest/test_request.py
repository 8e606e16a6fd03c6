# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lsmeter.core.errors import UsageError
from lsmeter.core.model import Setup
from lsmeter.core.model.setup import EnforcementCheck, StateFile, Step
from lsmeter.guest.request import Request

PLAIN = Request("file", ("open depth=1", "empty"), samples=100, warmup=20, icount_shift=4)


def setup_with(**fields: object) -> Setup:
    return Setup(name="", title="", lsms=None, **fields)  # type: ignore[arg-type]


def test_text() -> None:
    assert PLAIN.to_bytes().decode().splitlines() == [
        "version=1",
        "suite=file",
        "filesystem=tmpfs",
        "user=root",
        "cold=0",
        "quiet=0",
        "samples=100",
        "warmup=20",
        "icount_shift=4",
        "benchmark_deadline_ms=10000",
        "benchmark=open depth=1",
        "benchmark=empty",
    ]


def test_counting() -> None:
    assert "count=1" in replace(PLAIN, count=True).to_bytes().decode().splitlines()
    avc = StateFile("avc", "/sys/fs/selinux/avc/cache_stats")
    lines = replace(PLAIN, count=True, counters=(avc,)).to_bytes().decode().splitlines()
    assert "counter=avc /sys/fs/selinux/avc/cache_stats" in lines


def test_a_workload_is_written_as_words() -> None:
    asked = replace(
        PLAIN,
        prepare=(("/bin/place", "web"),),
        services=(("web", "apache2", "/bin/start", "two words"),),
        ready=(("/bin/ready",),),
        asks=(("page", "/bin/ask", "100%"),),
        clients=(("empty", "200", "client", "/bin/ab"), ("open depth=1", "1", "service", "/x")),
        settle_ms=20,
    )
    lines = asked.to_bytes().decode().splitlines()
    assert lines[lines.index("settle_ms=20") + 1 : lines.index("benchmark=open depth=1")] == [
        "prepare=/bin/place web",
        "service=web apache2 /bin/start two%20words",
        "ready=/bin/ready",
        "ask=page /bin/ask 100%25",
        "client=empty 200 client /bin/ab",
        "client=open%20depth=1 1 service /x",
    ]


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"settle_ms": 10_001}, "settle_ms"),
        ({"services": (("a", "b", "/x"),) * 9}, "the number of service lines"),
        ({"prepare": (("/x",) * 33,)}, "the number of words of prepare"),
        ({"ready": ((),)}, "the number of words of ready"),
        ({"asks": (("a", "x" * 4094),)}, "the length of ask"),
        ({"asks": (("a", ""),)}, "cannot be a word"),
    ],
)
def test_lines_that_the_probe_would_refuse(fields: dict[str, Any], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        replace(PLAIN, **fields).to_bytes()


def test_a_policy_is_written_as_words_the_probe_can_take_apart() -> None:
    setup = setup_with(
        steps=(Step("write", ("/a b", "x=1\n100%")), Step("work")),
        confine=(("/proc/self/attr/current", "a:b:c:s0"),),
        checks=(
            EnforcementCheck("secret", "read", "/secret", denied=True, message="avc:  denied"),
        ),
        states=(StateFile("avc", "/sys/fs/selinux/avc/cache_stats"),),
        reads=(("mine.enforce", "/sys/x"),),
    )
    lines = replace(PLAIN, root="ext4", setup=setup).to_bytes().decode().splitlines()
    assert "root=ext4" in lines
    assert "step=write /a%20b x=1%0a100%25" in lines
    assert lines.index("step=try") < lines.index("step=work")
    assert "confine=/proc/self/attr/current a:b:c:s0" in lines
    assert "proof=secret read /secret avc:%20%20denied" in lines
    assert "state=avc /sys/fs/selinux/avc/cache_stats" in lines
    assert "read=mine.enforce /sys/x" in lines


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"filesystem": "ntfs"}, "unknown file system 'ntfs'"),
        ({"user": "nobody"}, "unknown user 'nobody'"),
        ({"samples": 0}, "samples cannot be 0"),
        ({"icount_shift": 11}, "icount_shift cannot be 11"),
        ({"setup": setup_with(guest=(("landlock.layers", "17"),))}, "landlock.layers cannot be 17"),
        ({"setup": setup_with(guest=(("bpf.tunable", "2"),))}, "bpf.tunable cannot be 2"),
        ({"count": True, "samples": 1001}, "samples, with count, cannot be 1001"),
        ({"sweep_control": "magic"}, "unknown sweep control 'magic'"),
        ({"sweep_values_ns": (10_000_001,)}, "sweep.value cannot be 10000001"),
        ({"benchmarks": ("a\nsamples=1",)}, "benchmark: 'a\\nsamples=1' is empty or not"),
        ({"setup": setup_with(steps=(Step("write", ("/a", "")),))}, "'' cannot be a word"),
        (
            {"setup": setup_with(steps=(Step("work"),) * 129)},
            "the number of step lines cannot be 129",
        ),
        ({"benchmarks": ("x" * 100,) * 1000}, "the request has"),
    ],
)
def test_refused(change: dict[str, object], message: str) -> None:
    request = Request(**{**vars(PLAIN), **change})
    with pytest.raises(UsageError) as caught:
        request.to_bytes()
    assert caught.value.title.startswith(message)


def test_what_a_sweep_is_to_report_is_counted_and_not_multiplied_out() -> None:
    swept = replace(PLAIN, sweep_values_ns=(0, 50))
    assert [swept.unit(index) for index in range(swept.units)] == [
        ("open depth=1", 0),
        ("empty", 0),
        ("open depth=1", 50),
        ("empty", 50),
    ]
    assert PLAIN.unit(1) == ("empty", None)
    strange = replace(PLAIN, benchmarks=("empty",) * 10**6, sweep_values_ns=tuple(range(10**6)))
    assert strange.units == 10**12 and strange.unit(10**12 - 1) == ("empty", 10**6 - 1)
