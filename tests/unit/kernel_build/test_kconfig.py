# SPDX-License-Identifier: GPL-2.0-or-later
"""Why an option was dropped, on small Kconfig trees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core.errors import BuildError
from lsmeter.sources.kernels.build.fragment import Assignment, check_config
from lsmeter.sources.kernels.build.kconfig import (
    Value,
    conjuncts,
    evaluate,
    read_kconfig,
    reason,
    symbols,
)

TREE = {
    "Kconfig": """
mainmenu "Test"
if-success = $(shell,{ $(1); } && echo "$(2)" || echo "$(3)")
success = $(if-success,$(1),y,n)
source "arch/$(SRCARCH)/Kconfig"
source "security/Kconfig"
menu "Tracing"
\tdepends on TRACE
comment "Needs a cat"
\tdepends on CAT
config PROBES
\tbool "Probes"
\thelp
\t  Says "if" and
\t  depends on NOTHING

\t  in its help.
endmenu
""",
    "arch/x86/Kconfig": """
config X86
\tdef_bool y
if X86
config PVH
\tbool "PVH" if EXPERT
\tdepends on GUEST && \\
\t\t(PCI || !ACPI)
endif # X86
config HELPER
\tbool
config USER
\tbool "User"
\tselect HELPER if X86
""",
    "security/Kconfig": """
choice
\tprompt "Debug information"
config DWARF4
\tbool "DWARF 4"
config DWARF5
\tbool "DWARF 5"
\tdepends on $(success,true) # a comment
endchoice
config BTF
\tbool "BTF"
\tdepends on PAHOLE_VERSION >= 121
\tdepends on !REDUCED && DWARF5
config COMPILER
\tbool "Compiler"
\tdepends on $(cc-option,-fx)
config WHEN
\tbool "When"
\tdepends on CAT if DOG
""",
}


def why(option: str, wanted: str = "y", **config: str) -> str:
    return reason(read_kconfig(TREE.get), config, option, wanted)


def test_the_part_that_is_not_met_is_named_with_its_values() -> None:
    said = why("PVH", X86="y", ACPI="y")
    assert said == (
        "it depends on GUEST (GUEST=n) and (PCI || !ACPI) (PCI=n, ACPI=y) (arch/x86/Kconfig:5)"
    )
    assert why("PVH", X86="y", ACPI="y", GUEST="y").startswith("it depends on (PCI || !ACPI)")


def test_conditions_of_menus_and_ifs_count() -> None:
    assert why("PROBES") == "it depends on TRACE (TRACE=n) (Kconfig:11)"
    assert why("PVH", GUEST="y", PCI="y").startswith("it depends on X86 (X86=n)")


def test_a_question_that_is_not_asked_is_named() -> None:
    said = why("PVH", "n", X86="y", GUEST="y", PCI="y", PVH="y")
    assert said == "it can only be set with EXPERT (EXPERT=n) (arch/x86/Kconfig:5)"


def test_a_version_that_is_too_low_is_named() -> None:
    assert "PAHOLE_VERSION >= 121 (PAHOLE_VERSION=117)" in why(
        "BTF", DWARF5="y", PAHOLE_VERSION="117"
    )


def test_other_reasons() -> None:
    assert why("NOWHERE") == "this kernel has no such option"
    assert "cannot be set, it follows from other options (select it: USER)" in why("HELPER")
    assert why("HELPER", "n", X86="y", USER="y", HELPER="y") == "it is selected by USER (=y)"
    assert "another option of the choice 'Debug information' was taken" in why("DWARF4")
    assert "which the compiler decides" in why("COMPILER")
    assert why("WHEN", DOG="y").startswith("it depends on CAT || !(DOG) (CAT=n, DOG=y)")
    assert why("WHEN").startswith("kconfig gave no reason")


def test_the_check_names_option_fragment_and_reason_and_forgives_what_is_not_known() -> None:
    wanted = [
        Assignment("PROBES", "y", "tracing", 4),
        Assignment("NOWHERE", "y", "lsm-all", 9, optional=True),
        Assignment("COMPILER", "y", "x", 2, optional=True),
    ]
    with pytest.raises(BuildError) as caught:
        check_config(wanted, {}, TREE.get)
    assert "CONFIG_PROBES=y (tracing, line 4): it depends on TRACE" in caught.value.title
    assert len(caught.value.log_tail) == 1
    assert "CONFIG_COMPILER" in caught.value.log_tail[0]
    check_config(wanted[1:2], {}, TREE.get)
    with pytest.raises(BuildError, match="no such option"):
        check_config([Assignment("NOWHERE", "y", "lsm-all", 9)], {}, TREE.get)


@pytest.mark.parametrize(
    ("condition", "truth"),
    [
        ("A", Value.YES),
        ("M", Value.YES),
        ("!A || B", Value.NO),
        ("A && (B || !B)", Value.YES),
        ("A=y && B!=y", Value.YES),
        ("N > 3 && N <= 12", Value.YES),
        ("N < 3", Value.NO),
        ("$(x,(y)) && A", Value.UNKNOWN),
        ("$(x) && B", Value.NO),
        ("$(x) || A", Value.YES),
        ('S = "text"', Value.YES),
        ("A @ B", Value.UNKNOWN),
        ("", Value.UNKNOWN),
    ],
)
def test_expressions(condition: str, truth: Value) -> None:
    assert evaluate(condition, {"A": "y", "M": "m", "N": "12", "S": "text"}) is truth


@given(st.text("AB&|!()= \"'$<>x,1", max_size=40))
def test_no_text_breaks_the_evaluation(condition: str) -> None:
    evaluate(condition, {"A": "y"})
    conjuncts(condition)
    symbols(condition)


@given(st.text('config \nABif()"\\\t#help', max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    read_kconfig({"Kconfig": text}.get)


def test_a_file_that_sources_itself_ends() -> None:
    read_kconfig({"Kconfig": 'source "Kconfig"\n'}.get)
