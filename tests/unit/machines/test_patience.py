# SPDX-License-Identifier: GPL-2.0-or-later
"""How long a guest is waited for: by a script of what it says and when, and by no clock."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core.limits import Limits
from lsmeter.guest.capture import Ending
from lsmeter.machines.qemu import LOOK_S, Patience

LIMITS = Limits(boot_s=30, silence_s=60)

Script = Callable[[int], int | str | None]


def watched(
    script: Script,
    limits: Limits = LIMITS,
    *,
    units: int = 100,
    seconds: int = 100_000,
    waited_s: Callable[[int], float] = lambda _: 0.0,
) -> tuple[Ending | None, int]:
    """Return how a guest ended, and after how many seconds.

    The script says for each second how many benchmarks are done, "talk" for words that tell of
    none, None for silence; waited_s how long it has waited for a processor by then.
    """
    patience = Patience(limits, units, 0.0)
    for second in range(1, seconds + 1):
        said = script(second)
        if isinstance(said, int):
            patience.heard(said)
        elif said is not None:
            patience.heard()
        if ending := patience.look(second * LOOK_S, waited_s(second)):
            return ending, second
    return None, seconds


def test_a_guest_that_says_nothing_is_silent() -> None:
    assert watched(lambda _: None, Limits(boot_s=90, silence_s=60)) == (Ending.SILENT, 60)


def test_a_longer_deadline_also_bears_a_longer_silence() -> None:
    assert watched(lambda _: None, Limits(boot_s=900, silence_s=60)) == (Ending.SILENT, 300)


def test_a_guest_that_talks_and_finishes_nothing_has_its_boot_deadline() -> None:
    assert watched(lambda _: "talk") == (Ending.DEADLINE, 30)
    assert watched(lambda _: 0) == (Ending.DEADLINE, 30)


def test_a_guest_that_goes_on_finishing_benchmarks_is_left_to_finish_them() -> None:
    """A busy machine: 100 benchmarks that take 20 s each, under a deadline of 30 s."""
    assert watched(lambda second: second // 20, seconds=2050)[0] is None


def test_one_benchmark_that_is_longer_than_all_before_can_end() -> None:
    """99 benchmarks in 99 s; the last takes as long as nothing may be heard."""
    limits = Limits(boot_s=30, silence_s=60)
    assert watched(lambda second: min(second, 99) if second <= 99 else None, limits) == (
        Ending.DEADLINE,
        99 + 60,
    )


def test_words_without_progress_do_not_keep_a_guest_alive() -> None:
    """Half of it is done after 50 s: the rest may take four times as long, and no longer."""
    ended = watched(lambda second: min(second, 50) if second <= 50 else "talk")
    assert ended == (Ending.DEADLINE, 50 + 4 * 50)


def test_silence_ends_a_guest_that_had_plenty_of_time_left() -> None:
    assert watched(lambda second: 1 if second == 20 else None) == (Ending.SILENT, 80)


def test_there_is_an_end_to_every_guest() -> None:
    limits = Limits(boot_s=300, silence_s=60)
    assert limits.most_s == 6000
    slow = watched(lambda second: second // 50, limits, units=1000)
    assert slow == (Ending.DEADLINE, 6000)
    assert Limits(boot_s=2).most_s == 3600


def test_more_than_was_asked_for_is_no_progress() -> None:
    liar = watched(lambda second: second, units=10)
    assert liar == (Ending.DEADLINE, 10 + 60)


def test_without_a_count_of_the_work_there_is_the_boot_deadline_alone() -> None:
    assert watched(lambda second: second, units=0) == (Ending.DEADLINE, 30)


class TestPause:
    """lsmeter was stopped (Ctrl-Z), or got no processor: nothing could be heard meanwhile."""

    def after_50_quiet_seconds(self) -> Patience:
        patience = Patience(Limits(boot_s=100, silence_s=60), 100, 0.0)
        for second in range(1, 51):
            assert patience.look(float(second), 0.0) is None
        return patience

    def test_words_that_came_in_it_count(self) -> None:
        patience = self.after_50_quiet_seconds()
        assert patience.look(3650.0, 0.0) is None
        patience.heard(5)  # what had waited in the pipe
        for second in range(1, 60):
            assert patience.look(3650.0 + second, 0.0) is None

    def test_it_is_no_time_that_the_guest_had(self) -> None:
        patience = self.after_50_quiet_seconds()
        assert patience.look(3650.0, 0.0) is None
        quiet = [patience.look(3650.0 + second, 0.0) for second in range(1, 9)]
        assert quiet == [None] * 7 + [Ending.SILENT]

    def test_right_at_the_end_the_guest_is_heard_first(self) -> None:
        patience = self.after_50_quiet_seconds()
        for second in range(51, 60):
            assert patience.look(float(second), 0.0) is None
        patience.heard()
        assert patience.look(3600.0, 0.0) is None

    def test_a_machine_that_is_always_late_still_ends_a_silent_guest(self) -> None:
        patience = Patience(Limits(boot_s=100, silence_s=60), 100, 0.0)
        endings = [patience.look(10.0 * look, 0.0) for look in range(1, 32)]
        assert endings[:29] == [None] * 29
        assert Ending.SILENT in endings


class TestWaiting:
    """The host is busy: what a guest waits for a processor is no time that it had."""

    def test_a_twentieth_of_a_processor_takes_twenty_times_as_long(self) -> None:
        """A load of 40 on two processors: 30 s of work are done after 600."""
        ended = watched(lambda _: "talk", waited_s=lambda second: 0.95 * second)
        assert ended == (Ending.DEADLINE, 600)

    def test_silence_is_that_of_a_guest_that_could_speak(self) -> None:
        limits = Limits(boot_s=90, silence_s=60)
        ended = watched(lambda _: None, limits, waited_s=lambda second: 0.75 * second)
        assert ended == (Ending.SILENT, 240)

    def test_a_wait_is_told_when_it_is_over(self) -> None:
        """It waits nine seconds at a time: more than passes between two looks."""
        limits = Limits(boot_s=90, silence_s=60)
        ended = watched(lambda _: None, limits, waited_s=lambda second: second // 10 * 9)
        assert ended[0] is Ending.SILENT
        assert 10 * (60 - 9) <= ended[1] <= 10 * 60

    def test_one_that_stands_still_waits_for_nothing(self) -> None:
        limits = Limits(boot_s=90, silence_s=60)
        ended = watched(lambda _: None, limits, waited_s=lambda second: min(second, 5))
        assert ended[0] is Ending.SILENT
        assert ended[1] <= 60 + 5

    def test_one_that_only_waits_has_an_end(self) -> None:
        ended = watched(lambda _: "talk", waited_s=lambda second: 2.0 * second)
        assert ended == (Ending.DEADLINE, 3000)

    def test_while_lsmeter_was_stopped_no_more_is_lost_than_passed(self) -> None:
        patience = Patience(Limits(boot_s=100, silence_s=60), 100, 0.0)
        assert patience.look(3600.0, 1800.0) is None
        looks = [patience.look(3600.0 + second, 1800.0) for second in range(1, 61)]
        assert looks[57:] == [None, Ending.SILENT, Ending.SILENT]


@given(
    st.lists(
        st.tuples(st.floats(0, 30), st.floats(0, 90), st.none() | st.integers(0, 50)), max_size=60
    )
)
def test_whatever_happens_it_ends_within_the_most(
    script: list[tuple[float, float, int | None]],
) -> None:
    limits = Limits(boot_s=5, silence_s=2)
    patience = Patience(limits, 20, 0.0)
    now = waited_s = 0.0
    for passed_s, more_s, said in script:
        now, waited_s = now + passed_s, waited_s + more_s
        patience.heard(said)
        if patience.look(now, waited_s):
            return
    looks = 0
    while patience.look(now := now + LOOK_S, waited_s) is None:
        looks += 1
        assert looks <= limits.most_s


@pytest.mark.parametrize(("boot_s", "quiet_s"), [(15, 60), (180, 60), (300, 100)])
def test_how_long_nothing_may_be_heard(boot_s: float, quiet_s: float) -> None:
    assert Limits(boot_s=boot_s).quiet_s == quiet_s
