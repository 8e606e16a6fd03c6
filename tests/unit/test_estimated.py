# SPDX-License-Identifier: GPL-2.0-or-later
"""What a profile would cost, from differences that are known."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core.errors import UsageError
from lsmeter.core.model import Setup
from lsmeter.questions.estimate.document import document
from lsmeter.questions.estimate.figures import estimate
from lsmeter.questions.estimate.known import NOTHING, Cost, Counted, Known, together
from lsmeter.questions.estimate.profiles.model import Calls, Profile
from lsmeter.tables.model import Detail, Document
from lsmeter.tables.render import Options, render


def exact(value: float, half: float = 0.0) -> Cost:
    return Cost(value, value - half, value + half)


COSTS = {
    "selinux": {
        ("file", "open depth=1"): exact(100),
        ("file", "open depth=2"): exact(200),
        ("file", "open depth=4"): exact(600, 5),
        ("file", "open target=missing"): exact(20),
        ("file", "read size=0"): exact(10),
        ("file", "read size=4096"): exact(30),
        ("ipc", "pipe size=1"): exact(100),
        ("ipc", "unix-stream size=1"): exact(100),
        ("net", "tcp ip=4 size=1"): exact(400),
        ("net", "tcp-connect ip=4"): exact(1000, 10),
        ("net", "socket type=tcp"): exact(300, 1),
        ("net", "udp ip=4 size=1"): exact(80),
        ("net", "udp-message ip=4 size=1"): exact(60),
        ("net", "getpeername"): exact(20),
        ("net", "setsockopt"): exact(25),
        ("file", "close after=open"): exact(5),
        ("file", "write size=0"): exact(10),
        ("syscall", "sendfile size=4096"): exact(50),
        ("syscall", "getppid"): exact(0),
        ("process", "fork"): exact(900),
        ("process", "thread"): exact(900),
    },
    "landlock": {("file", "open depth=1"): exact(40), ("syscall", "getppid"): exact(0)},
}
KNOWN = Known(
    "exact", "insns", "debian:6.1", "6.1.0", "tmpfs", "root", "capability", ("run",), COSTS
)


def profile(**calls: float) -> Profile:
    return Profile("strace -c", tuple(Calls(name, count) for name, count in calls.items()))


def cost(name: str, on: dict[str, str] | None = None, setup: str = "selinux") -> Cost | None:
    (found,) = estimate(profile(**{name: 1}), KNOWN, on).calls
    return found.costs.get(setup)


@pytest.mark.parametrize(
    ("call", "on", "expected"),
    [
        ("openat", {}, Cost(200, 100, 605)),  # the median; the bounds with their own
        ("getpid", {}, exact(0)),
        # 20, 50 and 200: the kinds; 10 and 200: the furthest of all benchmarks.
        ("read", {}, Cost(50, 10, 200)),
        ("read", {"": "tcp"}, exact(200)),
        ("read", {"": "tcp", "read": "pipe"}, exact(50)),
        ("read", {"": "udp"}, Cost(50, 10, 200)),  # it has no such kind
        ("newfstatat", {}, None),
        # Without the socket, the client's option and question, and closing; three packets more.
        ("accept4", {}, exact(1000 - 300 - 25 - 20 - 5 + 3 * (60 - 2 * 20), 11)),
        ("sendfile", {"": "tcp"}, Cost(400, 390, 410)),
        ("recvfrom", {"": "tcp"}, exact(200 - 40 + 30)),
        ("wait4", {}, NOTHING),  # within the making of processes
        ("clone", {}, exact(900)),
        ("frobnicate", {}, None),
    ],
)
def test_what_one_call_costs(call: str, on: dict[str, str], expected: Cost | None) -> None:
    assert cost(call, on) == expected


def test_calls_are_added_up_and_what_is_not_covered_is_named() -> None:
    found = estimate(profile(openat=10, getpid=5, frobnicate=3, newfstatat=2), KNOWN)
    selinux, landlock = found.setups
    assert selinux.setup == "selinux"
    assert (selinux.value, selinux.low, selinux.high) == (2000, 1000, 6050)
    assert (landlock.value, landlock.low, landlock.high) == (400, None, None)
    assert selinux.calls_share == pytest.approx(15 / 20)
    assert selinux.uncovered == ("frobnicate", "newfstatat")
    why = {item.call.name: item.why for item in found.calls}
    assert why["frobnicate"] == "it has no proxy benchmark"
    assert why["newfstatat"] == "not in these runs"
    assert why["openat"] == ""


def test_a_suite_that_the_runs_lack_is_named() -> None:
    (found,) = estimate(profile(futex=1), replace(KNOWN, costs={"x": {}})).calls
    assert found.why == "not in these runs: --suite ipc"
    (found,) = estimate(profile(read=1), KNOWN).calls
    assert found.why == "its benchmarks gave no number under landlock"
    only_files = {"selinux": {name: c for name, c in COSTS["selinux"].items() if name[0] == "file"}}
    (found,) = estimate(profile(read=1), replace(KNOWN, costs=only_files)).calls
    assert found.costs == {}
    said = "nothing says on what (--on), and not in these runs: --suite"
    assert found.why == f"{said} ipc, --suite net"
    (found,) = estimate(profile(wait4=1), KNOWN).calls  # as clone, which it is within
    assert (list(found.costs), found.why) == (
        ["selinux"],
        "its benchmarks gave no number under landlock",
    )


def test_calls_that_fail_cost_what_such_calls_do() -> None:
    calls = (Calls("openat", 10, 4), Calls("read", 2, 1))
    (opened, read) = estimate(Profile("strace -c", calls), KNOWN).calls
    assert opened.cost("selinux") == Cost(6 * 200 + 4 * 20, 6 * 100 + 4 * 20, 6 * 605 + 4 * 20)
    assert read.on == {"file": 1, "pipe": 0}
    assert read.cost("selinux") == Cost(20 + 10, 10 + 10, 200 + 50)


def test_what_may_have_failed_widens_the_bounds() -> None:
    found = replace(profile(openat=1), errors_unknown=frozenset({"openat"}))
    (opened,) = estimate(found, KNOWN).calls
    assert opened.cost("selinux") == Cost(200, 20, 605)


def test_kinds_are_taken_in_the_proportion_that_is_known() -> None:
    object_shares = {"read": {"file": 0.75, "tcp": 0.25}}
    (read,) = estimate(replace(profile(read=4), made_on=object_shares), KNOWN).calls
    assert read.cost("selinux") == Cost(3 * 20 + 200, 3 * 10 + 200, 3 * 30 + 200)
    (asked,) = estimate(replace(profile(read=4), made_on=object_shares), KNOWN, {"": "pipe"}).calls
    assert (asked.cost("selinux"), asked.on) == (exact(200), {})


def test_what_other_calls_suggest_does_not_narrow_the_bounds() -> None:
    read = estimate(profile(read=8, openat=1, accept4=3), KNOWN).calls[0]
    assert read.on == {"file": 0.25, "tcp": 0.375, "tcp-new": 0.375, "unix": 0}
    cost = read.cost("selinux")
    assert cost is not None
    # Without a benchmark of a connection's first use later uses are its proxies.
    assert cost.value == pytest.approx(8 * (0.25 * 20 + 0.75 * 200))
    assert (cost.low, cost.high) == (80, 1600)


def test_no_kind_of_object_is_priced_by_another() -> None:
    """A write to a connection is none to a file, and fstat() is no look-up of a name."""
    files = {name: cost for name, cost in COSTS["selinux"].items() if name[0] == "file"}
    known = replace(KNOWN, costs={"selinux": files | {("file", "stat depth=8"): exact(900)}})
    found = estimate(profile(write=8, openat=1, accept4=3, newfstatat=2, fstat=5), known)
    (selinux,) = found.setups
    calls = {item.call.name: item for item in found.calls}
    assert calls["write"].part("selinux") == pytest.approx(0.25)
    assert calls["write"].cost("selinux") == Cost(20, 20, 20)
    assert calls["write"].why == "on tcp not in these runs: --suite net"
    assert calls["fstat"].costs == {}
    assert calls["newfstatat"].part("selinux") == 1  # fstat() is there: these are names
    assert selinux.calls_share == pytest.approx((2 + 1 + 2) / 19)
    (names,) = [i for i in estimate(profile(newfstatat=2, openat=1), known).calls if i.on]
    assert names.part("selinux") == 0.5
    assert names.cost("selinux") == exact(900)
    said = text(shown(profile(write=8, openat=1, accept4=3), known))
    assert "write 6 50.0 % on tcp not in these runs: --suite net" in said
    assert "not all of write, accept4" in said


def test_the_share_of_time_is_that_of_what_is_covered() -> None:
    calls = (Calls("openat", 1, 0, 3.0), Calls("frobnicate", 99, 0, 1.0))
    (selinux, _) = estimate(Profile("strace -c", calls, "system time"), KNOWN).setups
    assert selinux.time_share == 0.75
    assert selinux.calls_share == 0.01


@given(
    st.dictionaries(
        st.sampled_from(["openat", "read", "accept4", "getpid", "none"]),
        st.integers(1, 10**9),
        min_size=1,
    )
)
def test_an_estimate_lies_between_its_bounds_and_grows_with_its_calls(
    calls: dict[str, int],
) -> None:
    once = estimate(profile(**calls), KNOWN).setups[0]
    twice = estimate(profile(**{name: 2 * n for name, n in calls.items()}), KNOWN).setups[0]
    if once.value is None or twice.value is None:
        assert (once.value, twice.value, [*calls]) == (None, None, ["none"])
        return
    low, high = once.low, once.high
    assert low is None or high is None or low <= once.value <= high
    doubled = [part and pytest.approx(2 * part) for part in (once.value, low, high)]
    assert [twice.value, twice.low, twice.high] == doubled


def test_times_of_a_profile_are_no_whole_that_a_cost_has_a_share_of() -> None:
    """Those of `strace -c -w` are of the wall, and do not say so."""
    calls = (Calls("openat", 1, 0, 3.0),)
    found = Profile("strace -c", calls, "system time, or wall time with strace -w")
    said = text(shown(found, replace(KNOWN, instrument="timed", unit="ns")))
    assert "what the kernel does for this service" not in said


def test_runs_of_other_conditions_stay_apart_and_are_told() -> None:
    ours, theirs = (
        replace(KNOWN, conditions=(("mitigations", word),)) for word in ("off", "forced")
    )
    kinds = together([ours, theirs, ours])
    assert [item.conditions for item in kinds] == [ours.conditions, theirs.conditions]
    items = [estimate(profile(openat=1), one) for one in kinds]
    facts = [value for name, value in document("x", items, Detail.FULL).facts if name == "Results"]
    assert ["mitigations=off" in facts[0], "mitigations=forced" in facts[1]] == [True, True]


def test_a_setup_that_runs_define_otherwise_is_refused() -> None:
    one, other = (Setup("selinux", "", None, cmdline=(word,)) for word in ("a", "b"))
    first = replace(KNOWN, setups={"selinux": one})
    second = replace(KNOWN, runs=("b",), setups={"selinux": other})
    with pytest.raises(UsageError, match=r"b: selinux is defined differently in run \(cmdline\)"):
        together([first, second])
    assert len(together([first, first])) == 1


def test_runs_of_one_kind_are_put_together_and_others_stay_apart() -> None:
    other = replace(KNOWN, runs=("b",), costs={"selinux": {("ipc", "futex-wake"): exact(7)}})
    later = replace(other, costs={"selinux": {("file", "open depth=1"): exact(9)}})
    timed = replace(KNOWN, instrument="timed", unit="ns")
    one, two = together([KNOWN, other, timed, later])
    assert (one.runs, two.instrument) == (("run", "b"), "timed")
    assert one.costs["selinux"]["ipc", "futex-wake"] == exact(7)
    assert one.costs["selinux"]["file", "open depth=1"] == exact(100)  # the first that has it
    assert one.costs["landlock"] == COSTS["landlock"]


def text(shown: Document) -> str:
    said = render(shown, "table", Options(width=80))
    assert max(map(len, said.splitlines())) <= 80
    return " ".join(said.split())


def shown(found: Profile, known: Known = KNOWN, detail: Detail = Detail.SHORT) -> Document:
    return document("calls", [estimate(found, known)], detail)


def test_a_profile_without_seconds_says_so() -> None:
    said = text(shown(profile(openat=10)))
    assert "The profile does not say how long it was watched" in said
    assert "+2,000 kernel instructions in all (+1,000 to +6,050)" in said
    said = text(shown(replace(profile(openat=10), seconds=2.0)))
    assert "does not say how long" not in said
    assert "+1,000 kernel instructions a second (+500 to +3,025)" in said
    assert "covers 100.0 % of the calls." in said


def test_a_cost_is_of_a_unit_and_a_share_of_what_the_kernel_does() -> None:
    known = replace(KNOWN, base=dict.fromkeys(COSTS["selinux"], 4000.0))
    said = text(shown(replace(profile(openat=10), units=5.0), known))
    assert "selinux: +5.0 % of what the kernel does in these calls, +400 kernel" in said
    assert "instructions a unit (+200 to +1,210)" in said
    assert "does not say how long" not in said
    timed = replace(known, instrument="timed", unit="ns")
    calls = (Calls("openat", 100_000, 0, 0.4),)
    said = text(shown(Profile("strace -c", calls, "system time"), timed))
    assert "selinux: +5.0 % of what the kernel does in these calls, +20,000,000" in said
    waited = text(shown(Profile("perf trace -s", calls, "wall time"), timed))
    assert "selinux: +5.0 % of what the kernel does in these calls" in waited


def test_one_command_covers_the_profile() -> None:
    (said,) = [
        line
        for line in shown(profile(openat=1, fstat=1), replace(KNOWN, user="user")).sections[1].items
        if "lsmeter run" in line.text
    ]
    assert said.text.endswith(
        "lsmeter run --suite file --suite syscall -s selinux -s landlock -k debian:6.1 --user user"
    )


def test_bounds_without_a_width_are_none() -> None:
    said = text(shown(profile(getpid=3, clone=1)))
    assert "+900 kernel instructions in all, all proxy benchmarks of each call agree" in said
    assert "+900 to +900" not in said
    found = shown(profile(getpid=3, clone=1), detail=Detail.DATA).data
    assert isinstance(found, dict)
    selinux = found["estimates"][0]["setups"][0]
    assert (selinux["value"], selinux["low"], selinux["high"]) == (900, None, None)


def test_times_are_a_share_of_a_processor() -> None:
    timed = replace(KNOWN, instrument="timed", unit="ns")
    found = replace(profile(openat=100_000), seconds=1.0)
    said = text(shown(found, timed))
    assert "+20,000,000 nanoseconds a second" in said
    assert "2 % of one processor's time" in said
    predicted = replace(timed, instrument="exact", calibration="c", error=(0.05, 0.2))
    said = text(shown(found, predicted))
    assert "predicted ns" in said
    assert "off by 5.0 % of itself (median), 20.0 %" in said


def test_what_was_counted_stands_beside() -> None:
    found = replace(profile(openat=1, frobnicate=1), unit="request")
    counted = Counted(
        "web", "static", "request", "debian:6.1", "capability", 10_000, found, {"selinux": 250}
    )
    item = estimate(found, KNOWN, counted=counted)
    made = document("run", [item], Detail.SHORT)
    answer, *_ = made.answer
    assert answer.startswith("selinux: +2.0 % of all that the kernel does for this service, +200 ")
    errors, *_ = document("run", [item, item], Detail.SHORT).answer
    assert errors.startswith("selinux: estimates are off by -20.0 %")
    said = text(made)
    assert "static +200 +250 -20.0 % -0.5 %" in said
    assert "selinux: estimates are off by -20.0 %; of all kernel instructions -0.5 %." in said
    # Another kernel's count is no check of this one's estimate.
    other = replace(counted, kernel="debian:7.2")
    assert "counted, a request" not in text(
        document("run", [estimate(found, KNOWN, counted=other)], Detail.SHORT)
    )
    data = document("run", [item], Detail.DATA).data
    assert isinstance(data, dict)
    (entry,) = data["estimates"]
    assert entry["setups"][0]["counted"] == 250
    assert entry["setups"][0]["uncovered"] == ["frobnicate"]
    assert entry["per"] == "request"
