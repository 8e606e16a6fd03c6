# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of the guest whose every instruction is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from lsmeter.measure.tasks.events import EVENTS, RegionEvents, parse_events
from lsmeter.questions.attribution.profile import Tree
from tests.plugin import bare_guest
from tests.plugin.test_bare_guest import OUTSIDE_TSC

pytestmark = pytest.mark.guest

NAMES = tuple(EVENTS)
MODELS = {name for name in NAMES if name.endswith(("_misses", "_lines", "_pages", "_cycles"))}


@pytest.fixture(scope="module")
def elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bare_guest.build_guest(tmp_path_factory.mktemp("elf"))


@pytest.fixture(scope="module", params=bare_guest.qemus())
def qemu(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def folder(qemu: str, elf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run")


@pytest.fixture(scope="module")
def run(qemu: str, elf: Path, folder: Path) -> bare_guest.Run:
    done = bare_guest.run_guest(qemu, elf, folder, events=True)
    assert done.profile is not None, done.stderr
    assert done.profile.whole
    return done


@pytest.fixture(scope="module")
def regions(run: bare_guest.Run, folder: Path) -> dict[int, RegionEvents]:
    assert run.profile is not None
    text = (folder / "events").read_text()
    assert text.endswith("eof\n")
    return dict(parse_events(text))


def own(tree: Tree, function: str) -> dict[str, int]:
    """Return the events that the nodes of a function have, without those of models."""
    found: dict[str, int] = {}
    for node in tree.nodes:
        if node.function.name == function:
            for event, count in node.events:
                found[NAMES[event]] = found.get(NAMES[event], 0) + count
    return found


def classes(run: bare_guest.Run, region: int, function: str) -> dict[str, int]:
    found = own(run.profile.region(region).trees[0], function)
    return {name: count for name, count in found.items() if name not in MODELS}


def test_every_class_is_counted(run: bare_guest.Run) -> None:
    found = classes(run, 23, "f_classes")
    steps = found["string_steps"]  # three repetitions, and what ends them where that is a step
    assert steps in {3, 4}
    assert found == {
        "insns": 33 + steps,
        "loads": 7,
        "stores": 9,
        "indirect_calls": 1,
        "indirect_jumps": 1,
        "returns": 1,
        "locked": 3,
        "if_switches": 3,
        "popf": 1,
        "serialising": 5,
        "smap_switches": 2,
        "swapgs": 2,
        "cmpxchg": 1,
        "string_steps": steps,
        "divides": 1,
    }
    assert classes(run, 23, "f_leaf") == {"insns": 2, "loads": 1, "returns": 1}


def test_a_thousand_loads_are_a_thousand_loads(run: bare_guest.Run) -> None:
    assert classes(run, 24, "f_thousand") == {
        "insns": 3002,
        "loads": 1001,
        "returns": 1,
        "branches": 1000,
        "taken": 999,
    }


def test_lines_and_pages_that_are_touched(run: bare_guest.Run) -> None:
    found = own(run.profile.region(25).trees[0], "f_lines")
    assert found["stores"] == 4
    assert found["loads"] == 3
    assert (found["data_lines"], found["data_pages"]) == (5, 2)
    assert (found["code_lines"], found["code_pages"]) == (1, 1)
    assert not found.keys() & {"l1d_misses", "l1i_misses", "l2_misses", "dtlb_misses"}


def test_a_set_of_twelve_ways(run: bare_guest.Run, regions: dict[int, RegionEvents]) -> None:
    """Of 13 lines in turn every one misses, of 12 none, once they are there.

    First 26 and 12, and one of the stack. Later 12 are there in the beginning: 1, 13, and 12.
    """
    cold, second, third = (
        dict(zip(NAMES, vector or (), strict=True)) for vector in regions[26].readings
    )
    assert [found["l1d_misses"] for found in (cold, second, third)] == [39, 26, 26]
    assert [found["dtlb_misses"] for found in (cold, second, third)] == [14, 0, 0]
    assert own(run.profile.region(26).trees[0], "f_walk")["l1d_misses"] == 26
    assert {name for name in MODELS if second[name] != third[name]} == {"branch_misses"}
    # Lines of data and of code, each with the other one of its pair.
    assert (cold["l2_misses"], third["l2_misses"]) == (14 + 4, 0)


def test_a_fault_repeats_nothing(run: bare_guest.Run) -> None:
    """The load that faulted counts once, and so does its instruction."""
    assert classes(run, 27, "f_torn") == {
        "insns": 5,
        "loads": 2,
        "stores": 1,
        "returns": 1,
        "serialising": 1,
    }
    assert classes(run, 7, "f_fault") == {
        "insns": 5,
        "loads": 2,
        "stores": 1,
        "returns": 1,
        "serialising": 1,
    }
    entry = classes(run, 7, "fault_entry")
    assert (entry["insns"], entry["mode_switches"], entry["serialising"]) == (5, 1, 1)
    assert entry["loads"] == 5  # of the iretq


def test_sixteen_returns_are_foreseen(regions: dict[int, RegionEvents]) -> None:
    (vector,) = regions[4].readings
    assert vector is not None
    found = dict(zip(NAMES, vector, strict=True))
    assert (found["direct_calls"], found["indirect_calls"], found["returns"]) == (600, 1, 601)
    assert found["return_misses"] == 601 - 16


def test_calls_and_returns_match_the_trees(run: bare_guest.Run) -> None:
    found = classes(run, 2, "f_nested")
    assert (found["direct_calls"], found["stores"], found["returns"]) == (2, 2, 1)
    assert classes(run, 1, "f_loop")["branches"] == 10
    assert classes(run, 1, "f_loop")["taken"] == 9


@pytest.mark.parametrize("region", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 16, 18, 19, 20, 23])
def test_instructions_are_those_of_the_trees(
    run: bare_guest.Run, regions: dict[int, RegionEvents], region: int
) -> None:
    """Also where interrupts, faults, other stacks and other tasks come in between."""
    at = NAMES.index("insns")
    for tree in run.profile.region(region).trees:
        for node in tree.nodes:
            assert dict(node.events).get(at, 0) == node.self_insns, node.function
    seen = sorted(vector[at] - OUTSIDE_TSC for vector in regions[region].readings if vector)
    assert seen == sorted(run.tsc_insns[region].elements())


def test_bulk_windows_have_no_events(run: bare_guest.Run, regions: dict[int, RegionEvents]) -> None:
    assert run.profile.region(0x4007).sum
    assert not any(node.events for node in run.profile.region(0x4007).sum.nodes)
    assert max(regions) < 0x4000


def test_counts_are_those_without_events(
    run: bare_guest.Run, qemu: str, elf: Path, tmp_path: Path
) -> None:
    plain = bare_guest.run_guest(qemu, elf, tmp_path)
    assert plain.tsc == run.tsc
    assert plain.profile is not None
    for region in plain.profile.regions:
        beside = run.profile.region(region.id)
        assert beside.totals == region.totals
        for one, other in zip(beside.trees, region.trees, strict=True):
            assert [node[:4] for node in one.nodes] == [node[:4] for node in other.nodes]


def test_events_repeat(
    run: bare_guest.Run, qemu: str, elf: Path, folder: Path, tmp_path: Path
) -> None:
    bare_guest.run_guest(qemu, elf, tmp_path, events=True)
    assert (tmp_path / "events").read_text() == (folder / "events").read_text()


def test_output_that_cannot_be_written_is_refused(qemu: str, elf: Path, tmp_path: Path) -> None:
    argument = f",syms={tmp_path}/symbols,out=/dev/null,events={tmp_path}/no/events"
    refused = bare_guest.run_guest(qemu, elf, tmp_path, argument=argument)
    assert refused.exit_code == 1
    assert "lsmeter attribution: cannot write events= " in refused.stderr
