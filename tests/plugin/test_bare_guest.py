# SPDX-License-Identifier: GPL-2.0-or-later
"""The plugin against a guest whose every instruction is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.plugin import bare_guest

pytestmark = pytest.mark.guest

TURNS = 200_000  # of the long region; guest.S has the number too
USER: dict[str, Any] = {"[user]": (0, 11, {})}
LEAVES: dict[str, Any] = {"f_leaf": (2, 4, {})}
# The marker, the first rdtsc and what follows the second one are in the region, not in the TSC.
OUTSIDE_TSC = 4

EXPECTED = {
    1: {"f_loop": (1, 22, {})},
    2: {"f_nested": (1, 5, {"f_middle": (2, 6, {"f_leaf": (2, 4, {})})})},
    3: {"f_tail": (1, 2, {"f_tail_first": (1, 2, {"f_tail_target": (1, 3, {})})})},
    # The thunks have no symbols: 3 instructions are the caller's, 1 is the callee's.
    5: {"f_thunk": (1, 6, {"f_thunked": (1, 3, {})})},
    6: {"f_interrupt": (1, 4, {})},
    7: {"f_fault": (1, 5, {"fault_entry": (1, 5, {"fault_body": (1, 3, {})})})},
    8: {"f_yield": (1, 4, {"switch_stacks": (1, 5, {})})},
    9: {"f_skip": (1, 2, {"f_skipping": (1, 1, {"f_skipped": (1, 2, {})})})},
    10: {"f_stuff": (1, 7, {"f_leaf": (1, 2, {})})},
    12: {"f_generated": (1, 3, {"[no symbol]": (1, 4, {"f_leaf": (1, 2, {})})})},
    13: {"f_deep_interrupt": (1, 4, {"f_leaf": (1, 2, {})})},
    14: {"f_loop_to_entry": (1, 3, {"f_looping": (1, 7, {})})},
    16: {"f_yield_d": (1, 4, {"switch_stacks": (1, 5, {})})},
    17: {"f_yield_d": (1, 4, {"switch_stacks": (1, 5, {})})},
    18: {"f_spawn_two": (1, 3, {"f_spawn": (2, 12, {"switch_far": (2, 12, LEAVES)})})},
    20: {"f_turns": (1, 10, {})},
}
IRQ: dict[str, Any] = {"irq_entry": (1, 4, {"irq_body": (1, 2, {})})}
D_INNER: tuple[Any, ...] = (1, 4, {"f_work": (1, 2, {}), "switch_stacks": (1, 5, {})})
# What stands beside the system call: interrupts apart, and a task that was in the kernel before.
BESIDE = {
    6: {"[interrupt]": (0, 0, IRQ)},
    8: {
        "[resumed]": (
            0,
            0,
            {"task_b": (1, 4, {"f_work": (1, 2, {}), "switch_stacks": (1, 5, {})})},
        )
    },
    13: {
        "[interrupt]": (
            0,
            0,
            {
                "irq_stack_entry": (
                    1,
                    5,
                    {"irq_outer": (1, 4, {"irq_inner": (1, 4, {"irq_body": (1, 2, {})})})},
                )
            },
        )
    },
    16: {"[resumed]": (0, 0, {"task_d": (1, 1, {"d_inner": D_INNER})})},
    # Entered before the region began: no calls, but their names are known.
    17: {
        "[resumed]": (
            0,
            0,
            {
                "d_inner": (0, 2, {}),
                "task_d": (0, 3, {"f_leaf": (1, 2, {}), "d_inner": D_INNER}),
            },
        )
    },
    # The second task is on the stack of the first, which is dead.
    18: {
        "[resumed]": (0, 0, {"switch_far": (0, 2, LEAVES)}),
        "task_start": (2, 4, LEAVES | {"task_dead": (2, 6, {"switch_far": (2, 10, {})})}),
    },
}


@pytest.fixture(scope="module")
def elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bare_guest.build_guest(tmp_path_factory.mktemp("elf"))


@pytest.fixture(scope="module", params=bare_guest.qemus())
def qemu(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def run(qemu: str, elf: Path, tmp_path_factory: pytest.TempPathFactory) -> bare_guest.Run:
    done = bare_guest.run_guest(qemu, elf, tmp_path_factory.mktemp("run"))
    assert done.profile is not None, done.stderr
    assert done.profile.whole
    return done


@pytest.mark.parametrize("region", EXPECTED)
def test_call_tree_is_exact(run: bare_guest.Run, region: int) -> None:
    tree = run.profile.region(region).trees[0]
    system_call = {"sys_entry": (1, 4, EXPECTED[region])}
    assert bare_guest.calls(tree) == USER | system_call | BESIDE.get(region, {})


def test_interrupt_in_user_space_and_in_its_handler(run: bare_guest.Run) -> None:
    moved: dict[str, Any] = {
        "f_leaf": (1, 2, {}),
        "f_moved": (1, 3006, {"f_leaf": (1000, 2000, {})}),
    }
    interrupts = {"irq_moving_entry": (1, 6, moved), "irq_apic": (1, 3, {})}
    assert bare_guest.calls(run.profile.region(15).trees[0]) == {
        "[user]": (0, 9, {}),
        "[interrupt]": (0, 0, interrupts),
    }


def test_long_region_is_whole(run: bare_guest.Run) -> None:
    """System calls, interrupts in them and in user space, and a task that was in the kernel."""
    n = TURNS
    switch: dict[str, Any] = {"switch_stacks": (n, 5 * n, {})}
    nested: dict[str, Any] = {"f_middle": (2 * n, 6 * n, {"f_leaf": (2 * n, 4 * n, {})})}
    mix = {
        "f_nested": (n, 5 * n, nested),
        "f_interrupt": (n, 4 * n, {}),
        "f_yield": (n, 4 * n, switch),
    }
    irq: dict[str, Any] = {"irq_entry": (2 * n, 8 * n, {"irq_body": (2 * n, 4 * n, {})})}
    # Its first instruction jumps, which does not tell where from.
    task_b = {"task_b": (1, 5 * n - 1, {"f_work": (n, 2 * n, {})} | switch)}
    assert bare_guest.calls(run.profile.region(19).trees[0]) == {
        "[user]": (0, 9 + 6 * n, {}),
        "[interrupt]": (0, 0, irq),
        "[resumed]": (0, 1, task_b),
        "sys_entry": (n, 4 * n, {"f_mix": (n, 4 * n, mix)}),
    }


@pytest.mark.parametrize("region", [*EXPECTED, 4, 11, 15, 19])
def test_totals_agree_with_the_clock(run: bare_guest.Run, region: int) -> None:
    """Also where the emulator decides what counts: a repeated string instruction, a fault."""
    seen = dict(run.profile.region(region).totals)
    assert seen == {insns + OUTSIDE_TSC: n for insns, n in run.tsc_insns[region].items()}


def test_deep_recursion(run: bare_guest.Run) -> None:
    level = bare_guest.calls(run.profile.region(4).trees[0])["sys_entry"][2]["f_deep"][2]
    depth = 0
    while level:
        ((name, (calls, own, level)),) = level.items()
        assert (name, calls) == ("f_recurse", 1)
        depth += 1
        assert own == (4 if level else 3)
    assert depth == 600


def test_tree_is_that_of_the_most_frequent_total(run: bare_guest.Run) -> None:
    region = run.profile.region(20)
    assert region.totals == ((23, 1), (25, 3), (27, 1))
    assert [tree.insns for tree in region.trees] == [25, 23, 27]
    assert bare_guest.calls(region.trees[2])["sys_entry"][2] == {"f_turns": (1, 12, {})}


def test_samples_of_bulk_regions_are_summed(run: bare_guest.Run) -> None:
    region = run.profile.region(0x4007)
    assert region.totals == ((23, 1), (25, 1), (27, 1))
    assert region is not None and region.sum is not None
    assert (region.samples, region.summed, region.trees) == (3, 3, ())
    assert bare_guest.calls(region.sum) == {
        "[user]": (0, 33, {}),
        "sys_entry": (3, 12, {"f_turns": (3, 8 + 10 + 12, {})}),
    }


def test_a_sum_has_samples_between_which_another_region_ran(run: bare_guest.Run) -> None:
    region = run.profile.region(0x4008)
    assert (region.totals, region.samples, region.summed) == (((27, 3),), 3, 3)
    assert region.sum.insns == 3 * 27


def test_samples_of_no_region_are_passed_over(run: bare_guest.Run) -> None:
    assert run.tsc_insns[0]
    assert run.profile.region(0) is None


def test_unfinished_regions_and_stray_ends_are_counted(run: bare_guest.Run) -> None:
    assert run.profile.stray_ends == 1
    for region in (21, 22):
        assert run.profile.region(region).aborted == 1
        assert run.profile.region(region).trees == ()


def test_guest_counts_are_those_without_the_plugin(
    run: bare_guest.Run, qemu: str, elf: Path, tmp_path: Path
) -> None:
    bare = bare_guest.run_guest(qemu, elf, tmp_path, plugin=False)
    assert bare.tsc
    assert bare.tsc == run.tsc


@pytest.mark.parametrize(
    ("argument", "reason"),
    [
        ("", "needs syms=FILE and out=FILE"),
        (",out=/dev/null", "needs syms=FILE and out=FILE"),
        (",syms=/nowhere/syms,out=/dev/null", "cannot read symbols /nowhere/syms: No such file"),
        (",syms=/proc/self/status,out=/dev/null", "/proc/self/status:1: not a symbol file"),
        (",syms=/dev/null,out=/dev/null,colour=red", "unknown argument colour=red"),
        (",syms=SYMBOLS,out=/dev/null,stack=5000", "stack= must be a power of two"),
    ],
)
def test_bad_arguments_are_refused(
    qemu: str, elf: Path, tmp_path: Path, argument: str, reason: str
) -> None:
    symbols = tmp_path / "given"
    symbols.write_text("lsmeter-symbols 1 200000 210000 1\n200000 f a\n")
    argument = argument.replace("SYMBOLS", str(symbols))
    refused = bare_guest.run_guest(qemu, elf, tmp_path, argument=argument)
    assert refused.exit_code == 1
    assert f"lsmeter attribution: {reason}" in refused.stderr


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("lsmeter-symbols 1 200000 210000 2\n200000 f a\n", ":3: malformed or unsorted symbol"),
        ("lsmeter-symbols 1 200000 210000 2\n200004 f a\n200000 f b\n", ":3: malformed"),
        ("lsmeter-symbols 1 200000 210000 1\n200000 q a\n", ":2: malformed"),
        ("lsmeter-symbols 1 210000 200000 1\n200000 f a\n", ":1: not a symbol file"),
        ("lsmeter-symbols 1 200000 210000 99999999\n", ":1: not a symbol file"),
    ],
)
def test_damaged_symbol_files_are_refused(
    qemu: str, elf: Path, tmp_path: Path, text: str, reason: str
) -> None:
    symbols = tmp_path / "bad"
    symbols.write_text(text)
    refused = bare_guest.run_guest(qemu, elf, tmp_path, argument=f",syms={symbols},out=/dev/null")
    assert refused.exit_code == 1
    assert f"{symbols}{reason}" in refused.stderr


def test_output_that_cannot_be_written_is_refused(qemu: str, elf: Path, tmp_path: Path) -> None:
    bare_guest.run_guest(qemu, elf, tmp_path)
    refused = bare_guest.run_guest(
        qemu, elf, tmp_path, argument=f",syms={tmp_path}/symbols,out={tmp_path}/no/out"
    )
    assert refused.exit_code == 1
    assert "cannot write" in refused.stderr
