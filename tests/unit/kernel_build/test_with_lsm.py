# SPDX-License-Identifier: GPL-2.0-or-later
"""Modules of the user's: what a directory must have, and which files of the tree change."""

from __future__ import annotations

from pathlib import Path

import pytest

from lsmeter.core.errors import BuildError, UsageError
from lsmeter.sources.kernels.build.fragment import shipped_lsm
from lsmeter.sources.kernels.build.with_lsm import check_count, overlay, read_lsm

COUNT_HEADER = """#if IS_ENABLED(CONFIG_SECURITY)
#define CAPABILITIES_ENABLED 1,
#endif
#if IS_ENABLED(CONFIG_SECURITY_YAMA)
#define YAMA_ENABLED 1,
#endif
#define MAX_LSM_COUNT\t\t\t\\
\tCOUNT_LSMS(\t\t\t\\
\t\tCAPABILITIES_ENABLED\t\\
\t\tYAMA_ENABLED)
"""
ARGS = "#define __COUNT_ARGS(_0, _1, _2, _3, _n, X...) _n\n"
TREE = {
    "security/Kconfig": 'menu "Security"\nsource "security/yama/Kconfig"\nchoice\nendchoice\n',
    "security/Makefile": "obj-y += commoncap.o\n",
    "security/security.c": (
        "#define LSM_CONFIG_COUNT ( \\\n\t(IS_ENABLED(CONFIG_SECURITY) ? 1 : 0))\n"
    ),
    "include/linux/lsm_count.h": COUNT_HEADER,
    "include/linux/args.h": ARGS,
    "security/yama/Makefile": "",
}
KCONFIG = "config SECURITY_MINE\n\tbool\n"


def module(path: Path, **files: str) -> Path:
    path.mkdir()
    default = {"Kconfig": KCONFIG, "Makefile": "obj-y += mine.o\n", "mine.c": "int x;\n"}
    for name, text in {**default, **files}.items():
        if text:
            (path / name).write_text(text)
    return path


def test_every_file_that_counts_or_lists_modules_gets_the_new_one(tmp_path: Path) -> None:
    own = overlay([read_lsm(module(tmp_path / "mine"))], TREE.get)
    assert own["security/mine/mine.c"] == b"int x;\n"
    kconfig = own["security/Kconfig"].decode()
    assert kconfig.index("security/yama") < kconfig.index("security/mine") < kconfig.index("choice")
    assert "obj-$(CONFIG_SECURITY_MINE) += mine/\n" in own["security/Makefile"].decode()
    assert "(IS_ENABLED(CONFIG_SECURITY_MINE) ? 1 : 0) + \\" in own["security/security.c"].decode()
    header = own["include/linux/lsm_count.h"].decode()
    assert "CAPABILITIES_ENABLED SECURITY_MINE_COUNTED\t\\" in header
    assert header.index("#define SECURITY_MINE_COUNTED 1,") < header.index("#define MAX_LSM_COUNT")


def test_two_modules_are_both_added(tmp_path: Path) -> None:
    first = read_lsm(module(tmp_path / "mine"))
    second = read_lsm(module(tmp_path / "other", Kconfig="config SECURITY_OTHER\n\tbool\n"))
    own = overlay([first, second], TREE.get)
    for path in ("security/Kconfig", "security/Makefile"):
        assert b"mine/" in own[path]
        assert b"other/" in own[path]
    assert b"SECURITY_OTHER_COUNTED SECURITY_MINE_COUNTED" in own["include/linux/lsm_count.h"]


def test_a_kernel_before_numbered_modules_needs_no_count(tmp_path: Path) -> None:
    old = {"security/Kconfig": TREE["security/Kconfig"], "security/Makefile": ""}
    own = overlay([read_lsm(module(tmp_path / "mine"))], old.get)
    assert not [path for path in own if path.endswith(("lsm_count.h", "security.c"))]


def test_a_kernel_that_counts_in_a_new_way_is_an_error_not_a_wrong_count(tmp_path: Path) -> None:
    odd = {**TREE, "include/linux/lsm_count.h": "#define MAX_LSM_COUNT 12\n"}
    with pytest.raises(BuildError, match="cannot add the module to the count"):
        overlay([read_lsm(module(tmp_path / "mine"))], odd.get)


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"Kconfig": ""}, "it has no Kconfig"),
        ({"Makefile": ""}, "it has no Makefile"),
        ({"mine.c": ""}, "it has no C file"),
        ({"Kconfig": "menu x\nendmenu\n"}, "its Kconfig defines no option"),
    ],
)
def test_a_wrong_directory_says_what_it_lacks(
    tmp_path: Path, files: dict[str, str], says: str
) -> None:
    with pytest.raises(UsageError) as caught:
        read_lsm(module(tmp_path / "mine", **files))
    assert says in caught.value.title
    assert caught.value.hint


def test_other_wrong_directories(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        read_lsm(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="is no directory"):
        read_lsm(Path(__file__))
    with pytest.raises(UsageError, match="cannot be a directory's name"):
        read_lsm(module(tmp_path / "My LSM"))
    with pytest.raises(UsageError, match="already has security/yama"):
        overlay([read_lsm(module(tmp_path / "yama"))], TREE.get)
    twice = read_lsm(module(tmp_path / "mine"))
    with pytest.raises(UsageError, match="already has security/mine"):
        overlay([twice, twice], TREE.get)


def test_identity_follows_content_and_passes_over_what_a_build_or_editor_leaves(
    tmp_path: Path,
) -> None:
    path = module(tmp_path / "mine")
    before = read_lsm(path).identity
    (path / "mine.o").write_text("object")
    (path / "mine.c~").write_text("backup")
    (path / ".mine.o.d").write_text("dependencies")
    assert read_lsm(path).identity == before
    (path / "mine.c").write_text("int y;\n")
    assert read_lsm(path).identity != before


def test_more_modules_than_the_macro_counts_are_refused() -> None:
    config = {"SECURITY": "y", "SECURITY_YAMA": "y"}
    check_count(TREE.get, config)  # room for three
    small = {**TREE, "include/linux/args.h": "#define __COUNT_ARGS(_0, _1, _n, X...) _n\n"}
    with pytest.raises(UsageError, match="counts at most 1 security modules, and 2 are built in"):
        check_count(small.get, config)
    check_count(small.get, {"SECURITY": "y"})


def test_the_example_that_comes_with_lsmeter_is_a_module() -> None:
    lsm = read_lsm(shipped_lsm("example-lsm"))
    assert (lsm.name, lsm.option) == ("example-lsm", "SECURITY_EXAMPLE")
    assert [item.text for item in lsm.assignments] == [
        "CONFIG_SECURITY=y",
        "CONFIG_SECURITY_EXAMPLE=y",
    ]
