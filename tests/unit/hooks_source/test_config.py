# SPDX-License-Identifier: GPL-2.0-or-later
"""Conditional code, and what a configuration leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core.errors import UsageError
from lsmeter.questions.hooks.source.config import (
    Config,
    chosen,
    judge_enabled,
    left_out,
    read_config,
    without_directives,
)
from lsmeter.questions.hooks.source.syntax import read_file

# --- conditional code ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("ifdef CONFIG_X", "first"),
        ("ifndef CONFIG_X", "second"),
        ("ifndef _LINUX_FS_H", "first"),
        ("if 0", "second"),
        ("if defined(CONFIG_A) && defined(CONFIG_B)", "first"),
        ("if defined(CONFIG_A) && !defined(CONFIG_B)", "second"),
        ("if !IS_ENABLED(CONFIG_A) || 0", "second"),
        ("if IS_ENABLED(CONFIG_A)", "first"),
        ("if BITS_PER_LONG == 32 && (X > (3 + 4))", "first"),
        ("ifdef CONFIG_PREEMPT_RT", "second"),
        ("ifdef __cplusplus", "second"),
    ],
)
def test_a_kernel_with_every_option_is_read(condition: str, kept: str) -> None:
    found = chosen(f"#{condition}\nfirst\n#else\nsecond\n#endif\nafter\n")
    assert without_directives(found.text).split() == [kept, "after"]
    assert (found.text.count("\n"), found.dropped_lines) == (6, 2)


def test_one_branch_of_elif_is_read() -> None:
    found = chosen("#if 0\na\n#elif defined(CONFIG_B)\nb\n#elif 1\nc\n#else\nd\n#endif\n")
    assert without_directives(found.text).split() == ["b"]


def test_lines_know_their_conditions() -> None:
    text = (
        "a\n#ifdef CONFIG_A\nb\n#if CONFIG_B\nc\n#endif\nd\n#endif\ne\n#ifdef CONFIG_C\nf\n#endif\n"
    )
    condition = chosen(text).condition
    places = {name: f"\n{text}".index(f"\n{name}\n") for name in "abcdef"}
    assert {name: condition(place) for name, place in places.items()} == {
        "a": "",
        "b": "CONFIG_A",
        "c": "CONFIG_A && CONFIG_B",
        "d": "CONFIG_A",
        "e": "",
        "f": "CONFIG_C",
    }


@given(st.text(alphabet="#ifndefelse()!&|01 \n\\AC_OG/*", max_size=400))
def test_conditions_of_any_text_keep_its_lines(text: str) -> None:
    lines = text.count("\n")
    for config in (Config(), Config({"A": "y"})):
        found = chosen(text, config)
        assert found.text.count("\n") == lines
        assert without_directives(found.text).count("\n") == lines


@given(st.binary(max_size=600))
def test_any_bytes_are_read(data: bytes) -> None:
    assert read_file("fs/x.c", data.decode("utf-8", "replace")).path == "fs/x.c"


# --- configurations -----------------------------------------------------------------------------

CONFIG = Config({"X": "y", "M": "m", "N": "200"}, "test")


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("ifdef CONFIG_X", "first"),
        ("ifdef CONFIG_OFF", "second"),
        ("ifndef CONFIG_OFF", "first"),
        ("ifdef CONFIG_M", "second"),
        ("ifdef CONFIG_M_MODULE", "first"),
        ("if IS_ENABLED(CONFIG_M) && !IS_BUILTIN(CONFIG_M) && IS_MODULE(CONFIG_M)", "first"),
        ("if IS_REACHABLE(CONFIG_OFF) || defined(CONFIG_N)", "first"),
        ("if defined(CONFIG_X) && !(defined(CONFIG_X) && CONFIG_OFF)", "first"),
        ("ifdef CONFIG_PREEMPT_RT", "second"),
        ("ifdef __KERNEL__", "first"),
        ("if 0", "second"),
    ],
)
def test_a_configuration_chooses_the_branch(condition: str, kept: str) -> None:
    text = chosen(f"#{condition}\nfirst\n#else\nsecond\n#endif\n", CONFIG).text
    assert without_directives(text).split() == [kept]
    assert f"#{condition}" in text


def test_what_is_off_is_no_branch_of_an_if() -> None:
    code = "int f(void) { if (IS_ENABLED(CONFIG_OFF) && a) g(); else h(); }"
    assert judge_enabled(code, CONFIG).count("0 ") > 0
    for config, branch in ((CONFIG, ()), (Config(), (("call", 1),))):
        (body,) = read_file("fs/x.c", code, config).functions[0].body
        assert body[3] == branch


def test_makefiles_say_what_is_not_compiled() -> None:
    makefiles = {
        "fs": "obj-y := open.o \\\n\tread.o # not.o\nobj-$(CONFIG_OFF) += dax.o off/\n"
        "obj-$(CONFIG_M) += mod/\nobj-$(CONFIG_OFF) += both.o\nobj-$(CONFIG_X) += both.o\n",
        "fs/mod": "obj-$(CONFIG_OFF) += b.o\nb-y := part.o\nb-$(CONFIG_X) += more.o\n"
        "obj-$(CONFIG_M) += a.o\na-objs := kept.o\na-$(CONFIG_OFF) += acl.o\n",
    }
    off = {"fs/dax.o", "fs/off/", "fs/mod/b.o", "fs/mod/part.o", "fs/mod/more.o", "fs/mod/acl.o"}
    assert left_out(makefiles, CONFIG) == off
    assert left_out({"fs": "obj-y += a.o\na-y := b.o\nb-y := a.o\n"}, CONFIG) == frozenset()


def test_a_configuration_is_read(tmp_path: Path) -> None:
    file = tmp_path / ".config"
    file.write_text("# Linux/x86 6.12.3 Kernel Configuration\nCONFIG_A=y\n# CONFIG_B is not set\n")
    config = read_config(file)
    assert (config.options, config.series) == ({"A": "y"}, "6.12")
    file.write_bytes(b"\x7fELF")
    with pytest.raises(UsageError, match="no line CONFIG_"):
        read_config(file)
    with pytest.raises(UsageError, match="No such file"):
        read_config(tmp_path / "none")
