# SPDX-License-Identifier: GPL-2.0-or-later
"""The layers of a cost sum to it, whatever is missing from a run."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from lsmeter.catalogue.setups import parse_setup
from lsmeter.core.model import Place, Setup
from lsmeter.core.model.conclusion import Estimate, Sampled
from lsmeter.core.model.setup import Layer, Link, make_links
from lsmeter.questions.cells.layers import MAX_LINKS, LayeredCost, chain, layered_costs
from tests.unit.model_builders import benchmark

STACK = [
    "dac",
    "capability",
    "selinux",
    "selinux-permissive",
    "selinux-enforcing",
    "selinux-enforcing+audit-rules",
]
ADDS: list[tuple[Layer, ...]] = [
    (),
    *((layer,) for layer in (Layer.HOOKS, *list(Layer)[:4])),
]
LINKS = tuple(
    Link(name, over, adds) for name, over, adds in zip(STACK, ["", *STACK], ADDS, strict=False)
)
KERNEL = "debian:6.1"
DAC_KERNEL = "built:6.1-dac"
VERSIONS = {KERNEL: "6.1.192", DAC_KERNEL: "6.1.192", "other": "6.12.1"}


def estimates(
    values: dict[str, float], kernel: str = KERNEL, suite: str = "file", user: str = "root"
) -> list[Estimate]:
    return [
        Estimate(
            place=Place(kernel, name, suite, "tmpfs", user),
            benchmark=benchmark("open", suite=suite, depth=1),
            centre=value,
            low=value,
            high=value,
            repeats=True,
            evidence=Sampled(100, 2, value, value, 1.0),
        )
        for name, value in values.items()
    ]


def one(values: dict[str, float], setup: str) -> LayeredCost:
    found = layered_costs(LINKS, estimates(values), VERSIONS)
    return next(item for item in found if item.place.setup == setup)


costs = st.dictionaries(st.sampled_from(STACK), st.integers(0, 2**53), min_size=2)


@given(costs)
def test_base_and_layers_sum_to_the_cost_exactly(values: dict[str, int]) -> None:
    found = layered_costs(LINKS, estimates(dict(values)), VERSIONS)
    for item in found:
        assert item.value == values[item.place.setup]
        assert item.base_value + sum(layer.difference for layer in item.layers) == item.value
        assert item.chain == tuple(name for name in STACK if name in values)[: len(item.chain)]
        pairs = zip(item.chain, item.chain[1:], strict=False)
        assert [(layer.over, layer.setup) for layer in item.layers] == list(pairs)


@given(costs)
def test_what_only_calls_hooks_has_no_layers_to_tell_apart(values: dict[str, int]) -> None:
    found = {item.place.setup for item in layered_costs(LINKS, estimates(dict(values)), VERSIONS)}
    assert not found & {"dac", "capability", "selinux"}
    deciding = [name for name in STACK if name in values][1:]
    assert found == {name for name in deciding if name.startswith("selinux-")}


def test_each_layer_is_named_by_what_it_adds() -> None:
    found = one(dict(zip(STACK[1:], (100, 110, 150, 145, 200), strict=True)), STACK[-1])
    assert [layer.adds for layer in found.layers] == [
        (Layer.HOOKS,),
        (Layer.PERMISSIVE,),
        (Layer.POLICY,),
        (Layer.AUDIT,),
    ]
    assert [layer.difference for layer in found.layers] == [10, 40, -5, 55]
    assert [layer.share for layer in found.layers] == [0.1, 0.4, -0.05, 0.55]


def test_a_setup_that_is_missing_leaves_its_part_to_the_next_one() -> None:
    found = one({"capability": 100, "selinux-enforcing": 145}, "selinux-enforcing")
    (layer,) = found.layers
    assert layer.adds == (Layer.HOOKS, Layer.PERMISSIVE, Layer.POLICY)
    assert (layer.over, layer.difference) == ("capability", 45)


def test_the_base_is_the_lowest_setup_of_the_run() -> None:
    found = one({"selinux": 110, "selinux-enforcing": 145}, "selinux-enforcing")
    assert (found.base.setup, found.base_value) == ("selinux", 110)


def test_a_kernel_without_modules_is_the_base_of_those_of_its_version() -> None:
    here = estimates({"capability": 100, "selinux": 110, "selinux-enforcing": 145})
    dac = estimates({"dac": 90}, DAC_KERNEL)
    other = estimates({"capability": 50, "selinux-enforcing": 70}, "other")
    found = layered_costs(LINKS, [*here, *dac, *other], VERSIONS)
    bases = {
        item.place.kernel: (item.base.kernel, item.base.setup, item.base_value) for item in found
    }
    assert bases == {
        KERNEL: (DAC_KERNEL, "dac", 90),
        "other": ("other", "capability", 50),
    }


def test_costs_of_another_user_or_kernel_are_not_mixed_in() -> None:
    root = estimates({"selinux": 110, "selinux-enforcing": 145})
    strange = (
        *estimates({"capability": 100}, user="user"),
        *estimates({"capability": 1}, "other"),
        *estimates({"capability": 7}, suite="ipc"),
    )
    (found,) = layered_costs(LINKS, [*root, *strange], {})
    assert found.base.setup == "selinux"


def test_a_base_that_costs_nothing_has_no_shares() -> None:
    found = one({"selinux": 0, "selinux-enforcing": 5}, "selinux-enforcing")
    assert [layer.share for layer in found.layers] == [None]


links = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(["", *"abcdefg"]))


@given(links)
def test_a_chain_ends_whatever_a_file_says(overs: dict[str, str]) -> None:
    known = {name: Link(name, over, (Layer.POLICY,)) for name, over in overs.items()}
    for name in overs:
        found = [link.setup for link in chain(name, known)]
        assert len(found) == len(set(found)) <= MAX_LINKS
    layered_costs(known.values(), estimates(dict.fromkeys(overs, 7.0)), {})


def find(name: str) -> Setup | None:
    return SETUPS.get(name) or (parse_setup(name) if name in {"capability", "dac"} else None)


def made(name: str, over: str, layer: Layer) -> Setup:
    return replace(parse_setup("selinux"), name=name, over=over, layer=layer)


SETUPS = {
    setup.name: setup
    for setup in (
        made("hooked", "capability", Layer.HOOKS),
        made("logging", "hooked", Layer.PERMISSIVE),
        made("enforced", "logging", Layer.POLICY),
        made("yama", "capability", Layer.HOOKS),
        made("audit", "capability", Layer.AUDIT),
        made("yama+enforced", "yama", Layer.POLICY),
        made("enforced+audit", "enforced", Layer.AUDIT),
    )
}


def test_links_reach_below_what_the_run_has() -> None:
    found = {link.setup: link for link in make_links([SETUPS["enforced+audit"]], find)}
    assert [link.setup for link in chain("enforced+audit", found)] == [
        "enforced+audit",
        "enforced",
        "logging",
        "hooked",
        "capability",
        "dac",
    ]
    assert found["enforced+audit"].adds == (Layer.AUDIT,)
    assert found["dac"].adds == ()


def test_a_stack_adds_all_that_its_last_module_adds() -> None:
    (link, *_) = make_links([SETUPS["yama+enforced"]], find)
    assert link.over == "yama"
    assert link.adds == (Layer.HOOKS, Layer.PERMISSIVE, Layer.POLICY)


def test_a_setup_that_nothing_knows_ends_the_chain() -> None:
    strange = made("strange", "gone", Layer.POLICY)
    assert make_links([strange], find) == (Link("strange", "gone", (Layer.POLICY,)),)
