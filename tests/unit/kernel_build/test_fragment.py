# SPDX-License-Identifier: GPL-2.0-or-later
"""Fragments: what they say, how they merge, and what counts as dropped."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core.errors import UsageError
from lsmeter.core.model.arch import ARM64, X86_64
from lsmeter.sources.kernels.build.fragment import (
    Assignment,
    config_text,
    dropped,
    foundation_of,
    fragment_names,
    load_fragment,
    merge,
    parse_fragment,
)
from lsmeter.sources.kernels.tree import parse_config

BASE = parse_fragment("base", "# foundation: none\nCONFIG_NET=y\nCONFIG_SECURITY=n\n")

values = st.one_of(
    st.sampled_from(["y", "n", "m"]),
    st.integers(0, 10**9).map(str),
    st.text("abc ,-/", max_size=8).map(lambda text: f'"{text}"'),
)
options = st.dictionaries(st.from_regex(r"[A-Z][A-Z0-9_]{0,12}", fullmatch=True), values)


def test_header_and_options_are_read() -> None:
    part = parse_fragment(
        "x",
        "# title: A thing\n# foundation: tiny\n# objects: 12\n# with-lsm: tunable\n"
        '\nCONFIG_A=y\n# CONFIG_B is not set\n# optional: since 9.9\nCONFIG_C="a b"\n',
    )
    assert (part.title, part.foundation, part.objects, part.with_lsm) == (
        "A thing",
        "tiny",
        12,
        ("tunable",),
    )
    assert [(item.option, item.value, item.optional) for item in part.assignments] == [
        ("A", "y", False),
        ("B", "n", False),
        ("C", '"a b"', True),
    ]
    assert part.assignments[2].line == 9


def test_a_paragraph_may_be_of_one_architecture() -> None:
    text = (
        "CONFIG_A=y\n\n# of it alone\n# architecture: arm64\nCONFIG_B=y\nCONFIG_C=n\n\nCONFIG_D=y\n"
    )
    part = parse_fragment("x", text)
    assert [item.option for item in part.of_arch(ARM64).assignments] == ["A", "B", "C", "D"]
    assert [item.option for item in part.of_arch(X86_64).assignments] == ["A", "D"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("# architecture: arm46\n", "fragment bad, line 1: unknown architecture 'arm46'"),
        ("CONFIG_A=maybe\n", "line 1: not an option: CONFIG_A=maybe"),
        ("A=y\n", "line 1: not an option"),
        ("\nCONFIG_A=y\nCONFIG_A=n\n", "line 3: CONFIG_A is already set in line 2"),
        ("# objects: many\n", "'# objects: many' is not a number"),
        (f"# objects: {'9' * 5000}\n", "9' is not a number"),
        ('CONFIG_A="x\\"\n', "not an option"),
    ],
)
def test_what_is_wrong_in_a_fragment_is_named(text: str, says: str) -> None:
    with pytest.raises(UsageError, match="fragment bad") as caught:
        parse_fragment("bad", text)
    assert says in caught.value.title


def test_foundation_gives_way_but_two_others_that_disagree_are_refused() -> None:
    one = parse_fragment("one", "CONFIG_SECURITY=y\n")
    two = parse_fragment("two", "CONFIG_AUDIT=y\n\nCONFIG_SECURITY=n\n")
    merged = {item.option: item for item in merge([BASE, one])}
    assert merged["SECURITY"].value == "y"
    assert merged["SECURITY"].fragment == "one"
    assert merged["NET"].value == "y"
    with pytest.raises(UsageError) as caught:
        merge([BASE, one, two])
    assert "one and two cannot be combined" in caught.value.title
    assert "CONFIG_SECURITY=y (line 1) against CONFIG_SECURITY=n (line 3)" in caught.value.title


def test_a_conflict_does_not_hide_behind_a_foundation_that_agrees_with_one_side() -> None:
    off = parse_fragment("off", "CONFIG_SECURITY=n\n")
    on = parse_fragment("on", "CONFIG_SECURITY=y\n")
    for order in ([BASE, off, on], [BASE, on, off]):
        with pytest.raises(UsageError, match="cannot be combined"):
            merge(order)


def test_one_that_needs_an_option_beats_one_for_which_it_is_optional() -> None:
    maybe = parse_fragment("maybe", "# optional: since 9.9\nCONFIG_A=y\n")
    must = parse_fragment("must", "CONFIG_A=y\n")
    for order in ([maybe, must], [must, maybe]):
        assert [item.optional for item in merge(order)] == [False]


def test_foundations() -> None:
    tiny = parse_fragment("tiny", "# foundation: none\n")
    on_tiny = parse_fragment("on-tiny", "# foundation: tiny\n")
    plain = parse_fragment("plain", "")
    assert foundation_of([]) == "base"
    assert foundation_of([plain]) == "base"
    assert foundation_of([on_tiny]) == "tiny"
    assert foundation_of([tiny, plain]) is None
    with pytest.raises(UsageError, match="base and tiny"):
        foundation_of([BASE, tiny])
    with pytest.raises(UsageError, match="different foundations"):
        foundation_of([plain, on_tiny])


@given(options)
def test_what_is_written_is_read_back_and_nothing_is_dropped(wanted: dict[str, str]) -> None:
    text = "".join(f"CONFIG_{option}={value}\n" for option, value in wanted.items())
    merged = merge([parse_fragment("x", text)])
    config = parse_config(config_text(merged))
    assert config == {option: value.strip('"') for option, value in wanted.items()}
    assert dropped(merged, config) == ()


@given(options, st.data())
def test_exactly_the_options_that_changed_are_dropped(
    wanted: dict[str, str], data: st.DataObject
) -> None:
    text = "".join(f"CONFIG_{option}={value}\n" for option, value in wanted.items())
    merged = merge([parse_fragment("x", text)])
    set_ones = [option for option, value in wanted.items() if value != "n"]
    lost = data.draw(st.sets(st.sampled_from(set_ones)) if set_ones else st.just(set()))
    config = {o: value.strip('"') for o, value in wanted.items() if o not in lost}
    assert {item.option for item in dropped(merged, config)} == lost


def test_hexadecimal_is_compared_as_a_number() -> None:
    wanted = Assignment("START", "0x1000", "x", 1)
    assert dropped([wanted], {"START": "0x00001000"}) == ()
    assert dropped([wanted], {"START": "0x2000"}) == (wanted,)


@pytest.mark.parametrize("name", fragment_names())
def test_every_shipped_fragment_is_valid_and_has_a_title(name: str) -> None:
    part = load_fragment(name)
    assert part.title
    assert part.assignments
    foundation = foundation_of([part])
    parts = [load_fragment(foundation), part] if foundation else [part]
    assert merge(parts)


def test_dac_and_lsm_all_contradict_each_other() -> None:
    with pytest.raises(UsageError, match="dac and lsm-all cannot be combined"):
        merge([load_fragment("base"), load_fragment("dac"), load_fragment("lsm-all")])


def test_an_unknown_fragment_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UsageError, match="did you mean lsm-all"):
        load_fragment("lsm-al")
    with pytest.raises(UsageError, match=r"nowhere\.config: No such file"):
        load_fragment("./nowhere.config")
