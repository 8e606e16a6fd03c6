# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's real kernel sources: what is counted here is counted there by other means too.

LSMETER_TEST_TREES may name a folder with linux-6.1 and linux-7.2 already unpacked.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from bench import hook_tables

from lsmeter.questions.hooks.source.analysis import analyse
from lsmeter.questions.hooks.source.document import explain
from lsmeter.questions.hooks.source.model import Count, SourceAnalysis
from lsmeter.sources.kernels.build.source import fetch_debian_source

pytestmark = pytest.mark.network

SERIES = ("6.1", "7.2")
READ = ("Makefile", "fs", "include/linux", "kernel", "lib/iov_iter.c", "mm", "security")
Trees = Callable[[str], Path]


@pytest.fixture(scope="session")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Trees:
    """Return a function that unpacks what is read of a series' source, once."""
    unpacked: dict[str, Path] = {}

    def tree(series: str) -> Path:
        named = os.environ.get("LSMETER_TEST_TREES")
        if named:
            return Path(named) / f"linux-{series}"
        if series not in unpacked:
            home = tmp_path_factory.mktemp(f"linux-{series}")
            tarball = fetch_debian_source(series)[1]
            wanted = [f"*/{path}" for path in READ]
            command = ["tar", "-xJf", str(tarball), "-C", str(home), "--strip-components=1"]
            subprocess.run(
                [*command, "--wildcards", "--no-wildcards-match-slash", *wanted], check=True
            )
            unpacked[series] = home
        return unpacked[series]

    return tree


@pytest.fixture(scope="session")
def analysed(trees: Trees) -> Callable[[str], SourceAnalysis]:
    done: dict[str, SourceAnalysis] = {}

    def found(series: str) -> SourceAnalysis:
        if series not in done:
            done[series] = analyse(trees(series), cache=False)
        return done[series]

    return found


Analysed = Callable[[str], SourceAnalysis]


def hooks(analysis: SourceAnalysis) -> dict[str, int]:
    return {one.name: one.hooks for one in analysis.modules}


def ordinary(analysis: SourceAnalysis, syscall: str, filesystem: str, interface: str) -> Count:
    for one in analysis.syscalls:
        if (one.syscall, one.filesystem) == (syscall, filesystem):
            counts = {use.interface: use.ordinary for use in one.hooks}
            return counts[f"security_{interface}"]
    raise AssertionError(f"{syscall} was not analysed")


@pytest.mark.parametrize("series", SERIES)
def test_hooks_are_those_that_a_plain_search_finds(
    series: str, trees: Trees, analysed: Analysed
) -> None:
    found = hooks(analysed(series))
    defined = (trees(series) / "include/linux/lsm_hook_defs.h").read_text()
    assert len(analysed(series).hooks) == len(re.findall(r"^LSM_HOOK\(", defined, re.MULTILINE))
    for name, files in {
        "selinux": "selinux/hooks.c",
        "apparmor": "apparmor/lsm.c",
        "smack": "smack/smack_lsm.c",
        "tomoyo": "tomoyo/tomoyo.c",
        "yama": "yama/yama_lsm.c",
        "capability": "commoncap.c",
    }.items():
        text = (trees(series) / "security" / files).read_text()
        named = re.findall(r"^\s*LSM_HOOK_INIT\((\w+),", text, re.MULTILINE)
        assert found[name] == len(set(named)), name
    assert found["bpf"] == len(analysed(series).hooks)


def test_modules_are_named_as_the_running_kernel_names_them(analysed: Analysed) -> None:
    old = {"apparmor", "bpf", "capability", "evm", "ima", "landlock", "loadpin", "lockdown",
           "safesetid", "selinux", "smack", "tomoyo", "yama"}  # fmt: skip
    assert set(hooks(analysed("6.1"))) == old
    assert set(hooks(analysed("7.2"))) == old | {"ipe"}
    by_name = {one.name for one in analysed("6.1").modules if one.called_by_name}
    assert by_name == {"ima", "evm"}
    assert not any(one.called_by_name for one in analysed("7.2").modules)


@pytest.mark.parametrize("series", SERIES)
@pytest.mark.parametrize("filesystem", ["tmpfs", "ext2", "ext4", "xfs"])
def test_what_reading_the_source_by_eye_gives(
    series: str, filesystem: str, analysed: Analysed
) -> None:
    analysis = analysed(series)
    assert ordinary(analysis, "read", filesystem, "file_permission") == Count(1)
    assert ordinary(analysis, "write", filesystem, "file_permission") == Count(1)
    assert ordinary(analysis, "newstat", filesystem, "inode_permission") == Count(0, 1)
    assert ordinary(analysis, "newstat", filesystem, "inode_getattr") == Count(1)
    assert ordinary(analysis, "open", filesystem, "file_open") == Count(1)
    # one for each directory that is searched, one for write access to the last
    for syscall in ("mkdir", "rmdir", "symlink", "unlink"):
        assert ordinary(analysis, syscall, filesystem, "inode_permission") == Count(1, 1)
        assert ordinary(analysis, syscall, filesystem, f"inode_{syscall}") == Count(1)
        assert ordinary(analysis, syscall, filesystem, f"path_{syscall}") == Count(1)
    # two paths; both names deleted or made in two directories
    assert ordinary(analysis, "rename", filesystem, "inode_permission") == Count(4, 2)


def test_sendfile_asks_again_for_every_piece_on_6_1_only(analysed: Analysed) -> None:
    assert ordinary(analysed("6.1"), "sendfile64", "ext4", "file_permission") > Count(2)
    assert ordinary(analysed("7.2"), "sendfile64", "ext4", "file_permission") == Count(2)


@pytest.mark.parametrize("series", SERIES)
def test_the_walk_of_a_path_is_in_the_chain(series: str, analysed: Analysed) -> None:
    document, _ = explain(analysed(series), "open", "inode_permission", "xfs")
    walk = [row[:2] for row in document.tables[0].rows if "path component" in str(row[3])]
    assert walk == [("link_path_walk", "may_lookup")]


def test_what_is_cached_is_what_was_read(trees: Trees) -> None:
    tree = trees("7.2")
    assert analyse(tree) == analyse(tree)


def test_the_documented_tables_are_what_the_code_gives(analysed: Analysed) -> None:
    analyses = [analysed(series) for series in SERIES]
    made, text = hook_tables.tables(analyses), hook_tables.DOCUMENT.read_text()
    if all(f"| {one.kernel_version} hooks |" in text for one in analyses):
        assert hook_tables.document_with(text, made) == text
    # The archive goes on within a series; lines of code change with every release of it.
    del made["modules"]
    assert [name for name, table in made.items() if table not in text] == []
