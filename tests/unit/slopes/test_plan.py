# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

from dataclasses import replace

import pytest

from lsmeter.errors import UsageError
from lsmeter.model import Kernel
from lsmeter.setup import parse_setup
from lsmeter.slopes.plan import plan_cells
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
