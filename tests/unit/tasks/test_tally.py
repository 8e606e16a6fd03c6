# SPDX-License-Identifier: GPL-2.0-or-later
"""What the plugin wrote is read as it stands, or refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.measure.tasks.tally import HEADER, Account, DamagedTallyError, parse_tally

CAPTURES = Path(__file__).parents[2] / "data" / "captures"
WHOLE = f"""{HEADER}
region 3
service insns user 100
service kernel other 50
service kernel selinux 7
client kernel other 1000
interrupts kernel other 20
service calls file_open 2
service hook file_open 9
end
region 3
end
eof
"""


def test_sums_leave_the_client_out() -> None:
    first, second = parse_tally(WHOLE)
    assert (first.region, first.total("kernel"), first.total("kernel", "selinux")) == (3, 77, 7)
    assert first.total("kernel", of=Account) == 1077
    assert tuple(first.by_name("kernel")) == ("other", "selinux")
    assert (first.total("calls"), first.total("hook", "file_open")) == (2, 9)
    assert second.counts == {}


def test_system_calls_are_those_of_the_service_each_once() -> None:
    lines = f"""{HEADER}
region 1
service events syscalls 20
client events syscalls 7
service syscall __x64_sys_read 5
service syscall __x64_sys_newfstatat 4
service syscall __do_sys_newfstatat 4
service syscall __do_sys_getpid 8
client syscall __x64_sys_read 7
end
"""
    (found,) = parse_tally(lines)
    assert found.syscalls() == {"read": 5, "newfstatat": 4, "getpid": 8, "other": 3}
    (before,) = parse_tally(f"{HEADER}\nregion 1\nservice events syscalls 20\nend\n")
    assert before.syscalls() == {}  # of a plugin that did not name them


def test_what_calls_took_is_known_by_name_and_module() -> None:
    lines = f"""{HEADER}
region 0
service events syscalls 2
service events results 2
service syscall __x64_sys_read 2
service errors __x64_sys_read 1
service within __x64_sys_read/other 70
service within __x64_sys_read/selinux 30
client within __x64_sys_read/other 5
{{unread}}end
"""
    (found,) = parse_tally(lines.format(unread=""))
    assert found.by_call("errors") == {"read": 1}
    assert found.by_call("within") == {"read/other": 70, "read/selinux": 30}
    assert found.errors_known
    (found,) = parse_tally(lines.format(unread="none events unread 1\n"))
    assert not found.errors_known


def test_a_guest_that_ended_early_leaves_what_was_whole() -> None:
    early = WHOLE[: WHOLE.rindex("end")]
    (found,) = parse_tally(early)
    assert found.total("kernel") == 77
    with pytest.raises(DamagedTallyError, match="no end"):
        parse_tally(early, ended=True)
    assert len(parse_tally(WHOLE, ended=True)) == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "lsmeter-tally 2\n",
        f"{HEADER}\nservice kernel other 5\n",
        f"{HEADER}\nregion 1\nregion 2\n",
        f"{HEADER}\nregion 1\nservice kernel other -5\nend\n",
        f"{HEADER}\nregion 1\nservice kernel other 5\nservice kernel other 5\nend\n",
        f"{HEADER}\nregion 1\nservice what other 5\nend\n",
        f"{HEADER}\nend\n",
        f"{HEADER}\neof\nregion 1\nend\neof\n",
    ],
)
def test_anything_unexpected_is_refused(text: str) -> None:
    with pytest.raises(DamagedTallyError):
        parse_tally(text)


@given(st.binary(max_size=300), st.integers(0, len(WHOLE)))
def test_damage_is_refused_and_nothing_else_is_raised(data: bytes, where: int) -> None:
    text = WHOLE[:where] + data.decode("latin-1") + WHOLE[where:]
    try:
        found = parse_tally(text)
    except DamagedTallyError:
        return
    assert all(value >= 0 for tally in found for value in tally.counts.values())


@pytest.mark.parametrize("setup", ["capability", "selinux-enforcing"])
@pytest.mark.parametrize("boot", [0, 1])
def test_guests_tell_once_of_what_is_done_once(setup: str, boot: int) -> None:
    """What the probe measures for itself after the last step is no region."""
    stored = (CAPTURES / setup / f"workload-{boot}" / "tally.zst").read_bytes()
    text = zstandard.decompress(stored, 1 << 24).decode()
    regions = Counter(item.region for item in parse_tally(text, ended=True))
    benchmarks = {0: 10, 1: 10}  # with the batches that warm up
    assert regions == {number: benchmarks.get(number, 1) for number in regions}
    assert len(regions) > len(benchmarks)


def test_what_page_faults_count_twice_does_not_exceed_the_clock() -> None:
    text = f"{HEADER}\nregion 0\nservice insns user 600000\nclock kernel other 400000\nend\neof\n"
    (found,) = parse_tally(text)
    assert not found.exceeds(999_000)
    assert found.exceeds(996_000)
