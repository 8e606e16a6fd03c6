# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

from dataclasses import replace

import pytest

from lsmeter.errors import UsageError
from lsmeter.guest.boot_image import make_request
from lsmeter.model import Kernel
from lsmeter.setup import parse_setup
from lsmeter.slopes.plan import lookup_setups, plan_cells, plan_lookups, plan_usual_lookups
from tests.unit.model_builders import cell, kernel

DELAYS_NS = (0, 10, 20)


def built_with(*options: str) -> Kernel:
    return replace(kernel(), config={"HZ": "250", **dict.fromkeys(options, "y")})


def swept(found: Kernel, *setups: str) -> tuple[list[str], list[str]]:
    cells, problems = plan_cells((found,), setups, DELAYS_NS, cell(parse_setup("capability")))
    for item in cells:
        assert item.sweep is not None
        assert item.sweep.control == item.setup.name
        assert item.sweep.delays_ns == DELAYS_NS
    return [item.setup.name for item in cells], [problem.title for problem in problems]


def test_the_module_is_preferred_where_the_kernel_has_it() -> None:
    both = built_with("SECURITY_TUNABLE", "BPF_LSM", "DEBUG_INFO_BTF")
    assert swept(both) == (["tunable"], [])
    assert swept(built_with("BPF_LSM", "DEBUG_INFO_BTF")) == (["tunable-bpf"], [])
    assert swept(both, "tunable", "tunable-bpf") == (["tunable", "tunable-bpf"], [])


def test_what_the_kernel_lacks_is_said() -> None:
    names, problems = swept(built_with("BPF_LSM"))
    assert names == []
    assert len(problems) == 2
    names, problems = swept(built_with("BPF_LSM"), "tunable-bpf")
    assert names == []
    assert "without CONFIG_DEBUG_INFO_BTF" in problems[0]


def test_a_sweep_is_part_of_what_names_a_cell() -> None:
    (plain, *_), _ = plan_cells(
        (built_with("SECURITY_TUNABLE"),), (), DELAYS_NS, cell(parse_setup("capability"))
    )
    (other, *_), _ = plan_cells(
        (built_with("SECURITY_TUNABLE"),), (), (0, 5, 9), cell(parse_setup("capability"))
    )
    assert len({plain.hash, other.hash, replace(plain, sweep=None).hash}) == 3


def test_a_setup_that_cannot_wait_is_refused() -> None:
    with pytest.raises(UsageError, match="did you mean tunable"):
        plan_cells((kernel(),), ("tunible",), DELAYS_NS, cell(parse_setup("capability")))


class TestLookUps:
    def test_a_cell_reads_the_counters_of_its_setup_and_nothing_else_changes(self) -> None:
        template = cell(parse_setup("capability"))
        setups = lookup_setups(["selinux"])
        (one,), problems = plan_lookups((kernel(),), setups, template, {})
        assert problems == ()
        assert (one.setup.name, one.read_counters, one.sweep) == ("selinux", True, None)
        assert one.hash != replace(one, read_counters=False).hash
        request = make_request(one, (), 1, 10_000)
        assert request.count
        assert [counter.name for counter in request.counters] == ["avc"]
        assert not make_request(replace(one, read_counters=False), (), 1, 10_000).counters

    def test_what_a_setup_counts_does_not_name_its_other_results(self) -> None:
        selinux = cell(parse_setup("selinux"))
        assert selinux.hash == replace(selinux, setup=replace(selinux.setup, counters=())).hash

    def test_a_setup_that_keeps_no_counters_is_refused(self) -> None:
        with pytest.raises(UsageError, match="apparmor has no counters") as caught:
            lookup_setups(["selinux", "apparmor"])
        assert "selinux-enforcing" in (caught.value.hint or "")

    def test_none_is_nothing(self) -> None:
        assert lookup_setups(["none"]) == ()

    def test_a_kernel_without_the_module_is_said_to_lack_it(self) -> None:
        cells, problems = plan_lookups(
            (built_with(),), lookup_setups(["selinux"]), cell(parse_setup("capability")), {}
        )
        assert cells == ()
        assert "without CONFIG_SECURITY_SELINUX" in problems[0].title

    def test_what_nobody_asked_for_and_cannot_be_had_is_a_note(self) -> None:
        without = replace(built_with(), name="bare")
        unknown = replace(kernel(), name="unknown", config={})
        cells, notes = plan_usual_lookups(
            (kernel(), without, unknown), cell(parse_setup("capability"))
        )
        assert [one.kernel.name for one in cells] == ["debian:6.1"]
        assert "bare: the kernel was built without CONFIG_SECURITY_SELINUX" in notes[0]
        assert "on unknown: the kernel's options are not known" in notes[1]
