# SPDX-License-Identifier: GPL-2.0-or-later
"""What people and programs get: the command, its formats, explanations, and the cache."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from lsmeter.app import make_app
from lsmeter.cli.console import SCREEN
from lsmeter.core.errors import UsageError
from lsmeter.questions.hooks.source import analysis
from lsmeter.questions.hooks.source.analysis import analyse
from lsmeter.questions.hooks.source.config import Config
from lsmeter.questions.hooks.source.document import document, explain
from lsmeter.questions.hooks.source.model import Count, FileFacts, SourceAnalysis
from lsmeter.questions.hooks.source.syntax import read_file
from lsmeter.tables.model import Table

Writer = Callable[..., Path]


@pytest.fixture
def found(tree: Writer) -> SourceAnalysis:
    return analyse(tree(), cache=False, filesystems=("alpha", "beta"))


def cells(table: Table) -> dict[tuple[str, str], object]:
    """Return the text of each cell by its row's name and its column."""
    found: dict[tuple[str, str], object] = {}
    name = ""
    for row in table.rows:
        name = str(row[0]) or name
        for column, value in zip(table.columns, row, strict=True):
            found.setdefault((name, column.head), getattr(value, "text", value))
    return found


def test_data_has_what_is_promised(found: SourceAnalysis) -> None:
    content = cast("Mapping[str, Any]", document(found, "alpha").data)
    demo = next(one for one in content["modules"] if one.name == "demo")
    assert (demo.hooks, demo.general_hooks, demo.code_lines) == (4, 3, 13)
    assert demo.hooks_by_class == {"inode": 3, "file": 1}
    assert demo.lines_per_hook == pytest.approx(3.2)
    assert content["kernel_version"] == "6.1.7"
    assert (content["framework"]["hooks"], content["framework"]["general_hooks"]) == (9, 8)
    calls = {(one.syscall, one.filesystem): one.hooks for one in content["syscalls"]}
    use = next(one for one in calls["open", "beta"] if one.interface == "security_inode_permission")
    assert (use.ordinary, use.chain[0]) == (Count(1, 1), "sys_open")
    verdicts = {(one.syscall, one.module): one.verdict for one in content["mediation"]}
    assert verdicts["open", "demo"] == "over-worked"


def test_tables_are_those_of_the_study(found: SourceAnalysis) -> None:
    tables = {table.key: cells(table) for table in document(found, "alpha").tables}
    assert set(tables) == {"modules", "classes", "decisions", "mediation", "reached"}
    assert tables["modules"]["demo", "hooks"] == 4
    assert tables["classes"]["inode", "demo"] == 3
    assert tables["decisions"]["chmod", "interface"] == "security_inode_permission"
    assert tables["mediation"]["read", "demo"] == "0 UNMEDIATED"
    assert tables["reached"]["open", "interfaces"] == 4


def test_the_answer_counts_hooks_and_verdicts(found: SourceAnalysis) -> None:
    hooks, *modules = document(found, "alpha").answer
    assert hooks.startswith("Linux 6.1.7: 9 hooks; modules: demo 4")
    (demo,) = (text for text in modules if text.startswith("demo on alpha, of "))
    assert "unmediated" in demo
    assert "over-worked" in demo


def test_problems_are_in_the_document(found: SourceAnalysis) -> None:
    problems = [item.text for item in document(found).sections[-1].items]
    assert any("system calls that this kernel does not have" in one for one in problems)


def test_a_chain_tells_places_and_ways(found: SourceAnalysis) -> None:
    shown = explain(found, "chmod", "inode_permission", "alpha")[0]
    assert (
        "notify_change",
        "alpha_setattr",
        "fs/open.c:9",
        "inode_operations.setattr of alpha_inode_operations",
    ) in shown.tables[0].rows
    walk = explain(found, "open", "security_inode_permission", "alpha")[0]
    assert any(
        "once for each path component" in str(row) for one in walk.tables for row in one.rows
    )
    assert dict(walk.facts)["runs at most"] == "d+1 on an ordinary pass, 6d+3 with retries"


def test_graphs_are_whole(found: SourceAnalysis) -> None:
    _, dot = explain(found, "open", "inode_permission", "alpha")
    assert '"may_lookup" -> "inode_permission"' in dot
    assert '"path_openat" -> "inode_permission"' in dot, "all ways, not only the shortest"


@pytest.mark.parametrize(
    ("syscall", "hook", "message", "hint"),
    [
        ("opn", "file_open", "unknown system call 'opn'; did you mean open?", "known:"),
        ("open", "file_opne", "unknown hook 'file_opne'; did you mean file_open?", "known:"),
        ("read", "file_open", "read does not reach file_open", "it reaches: file_permission"),
        ("close", "file_open", "close does not reach file_open", "it reaches no hook at all"),
    ],
)
def test_what_cannot_be_explained(
    found: SourceAnalysis, syscall: str, hook: str, message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as caught:
        explain(found, syscall, hook, "alpha")
    assert message in caught.value.title
    assert hint in caught.value.hint


def test_a_file_system_that_was_not_analysed(found: SourceAnalysis) -> None:
    with pytest.raises(UsageError, match="unknown file system 'xfs'"):
        explain(found, "open", "file_open", "xfs")
    with pytest.raises(UsageError, match="unknown file system 'xfs'"):
        document(found, "xfs")


def test_the_cache_spares_reading_and_sees_changes(
    tree: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree()
    reads: list[str] = []

    def read(path: str, text: str, config: Config) -> FileFacts:
        reads.append(path)
        return read_file(path, text, config)

    monkeypatch.setattr(analysis, "read_file", read)
    first = analyse(root, filesystems=("alpha",))
    assert reads
    reads.clear()
    assert analyse(root, filesystems=("alpha",)) == first
    assert not reads
    lsm = root / "security" / "demo" / "hooks.c"
    lsm.write_text(lsm.read_text().replace("LSM_HOOK_INIT(file_open", "LSM_HOOK_INIT(inode_x"))
    again = analyse(root, filesystems=("alpha",))
    assert reads
    assert again.modules[0].hooks == first.modules[0].hooks - 1


def test_what_is_stored_is_of_one_version_of_a_kernel(tree: Writer) -> None:
    root = tree()
    first = analyse(root, filesystems=("alpha",)).kernel_version
    makefile = root / "Makefile"
    makefile.write_text(makefile.read_text().replace("VERSION = 6", "VERSION = 9"))
    again = analyse(root, filesystems=("alpha",)).kernel_version
    assert (first[0], again[0]) == ("6", "9")


def test_a_damaged_cache_is_made_anew(tree: Writer, tmp_path: Path) -> None:
    root = tree()
    first = analyse(root, filesystems=("alpha",))
    (stored,) = (tmp_path / "cache" / "hooks-source").iterdir()
    whole = stored.read_bytes()
    for damage in (b"", whole[: len(whole) // 2], b"x" * 40):
        stored.write_bytes(damage)
        assert analyse(root, filesystems=("alpha",)) == first


def test_a_large_tree_is_read_by_two_processes(
    tree: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree()
    alone = analyse(root, cache=False, filesystems=("alpha",))
    monkeypatch.setattr(analysis, "PARALLEL_FROM_BYTES", 0)
    monkeypatch.setattr(analysis, "FILES_AT_ONCE", 2)
    assert analyse(root, cache=False, filesystems=("alpha",)) == alone


def run(*words: str) -> str:
    result = CliRunner().invoke(make_app(), ["hooks", *words])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def whole_tree(tree: Writer) -> Path:
    """Return a tree that has the file systems that the command looks at unless told."""
    names = {f"fs/{name}/x.c": "int x;\n" for name in ("ext2", "ext4", "xfs")}
    return tree(**names, **{"mm/shmem.c": "int shmem;\n"})


def test_the_command(whole_tree: Path) -> None:
    words: tuple[str, ...] = ("source", str(whole_tree))
    assert "demo" in run(*words)
    content = json.loads(run(*words, "--format", "json"))
    assert content["format"] == "lsmeter-hooks-source"
    assert [one["name"] for one in content["modules"]] == ["demo", "pathy"]
    for form, begin in (("csv", "table,module,hooks,"), ("markdown", "# Hooks in the source")):
        assert run(*words, "--format", form).startswith(begin)
    words += ("--explain", "open", "file_open")
    assert "open on ext4 reaches security_file_open" in run(*words, "--format", "text")
    assert "open on alpha reaches" in run(*words, "--filesystem", "alpha", "--format", "html")
    assert run(*words, "--graph", "dot").startswith("digraph")
    for option, message in (("--format", "unknown format"), ("--config", "unknown kernel")):
        wrong = ["hooks", *words, option, "nothing"]
        with pytest.raises(UsageError, match=f"{message} 'nothing'"):
            CliRunner().invoke(make_app(), wrong, catch_exceptions=False)


def test_a_source_is_named_as_everywhere(
    whole_tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a tarball, or as Debian's source of a series, which is unpacked into the cache."""
    for name in ("Kconfig", "security/Kconfig"):
        (whole_tree / name).touch()
    home = tmp_path / "cache" / "kernel-source" / "deb-6.1"
    home.mkdir(parents=True)
    (home / "version").write_text("6.1.7-1")
    tarball = home / "linux-source-6.1.tar.xz"
    with tarfile.open(tarball, "w:xz") as archive:
        archive.add(whole_tree, "linux-source-6.1")
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path / "cache"))
    folder = json.loads(run("source", str(whole_tree), "--format", "json"))
    for named in (str(tarball), "debian-source:6.1"):
        found = json.loads(run("source", named, "--format", "json"))
        assert found["modules"] == folder["modules"] != []


ESCAPES = "\x1b[31m\u202e"


@pytest.mark.parametrize(
    "words",
    [
        *((), ("--format", "json"), ("--format", "csv"), ("--filesystem", "none")),
        ("--explain", "open", "none"),
        *(("--explain", "open", "file_open", *more) for more in ((), ("--graph", "dot"))),
    ],
    ids=" ".join,
)
def test_no_text_of_a_tree_acts_on_a_terminal(
    whole_tree: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    for path, plain in {
        "Makefile": "EXTRAVERSION = -x",
        "security/demo/hooks.c": '"demo"',
        "include/linux/lsm_hook_defs.h": "CONFIG_SECURITY_PATH",
    }.items():
        text = (whole_tree / path).read_text().replace("EXTRAVERSION =", "EXTRAVERSION = -x")
        (whole_tree / path).write_text(text.replace(plain, plain[:-1] + ESCAPES + plain[-1:]))
    (whole_tree / "fs" / ESCAPES).mkdir()
    (whole_tree / "fs" / ESCAPES / "Kconfig").touch()
    (whole_tree / "fs" / f"{ESCAPES}.c").symlink_to("/etc/passwd")
    try:
        said = run("source", str(whole_tree), *words)
    except AssertionError:
        with pytest.raises(UsageError) as caught:
            CliRunner().invoke(
                make_app(), ["hooks", "source", str(whole_tree), *words], catch_exceptions=False
            )
        SCREEN.show_error(caught.value)
        said = capsys.readouterr().err
    assert said
    assert not set(ESCAPES[:1] + ESCAPES[-1:]) & set(said)


MAKEFILES = {
    "security/Makefile": "obj-$(CONFIG_PATHY) += pathy/\nobj-$(CONFIG_DEMO) += demo/\n",
    "fs/Makefile": "obj-$(CONFIG_EXT2_FS) += ext2/\n",
}


def test_what_is_not_compiled_does_not_count(whole_tree: Path, tmp_path: Path) -> None:
    for name, text in MAKEFILES.items():
        (whole_tree / name).write_text(text)
    other = tmp_path / "config"
    other.write_text("CONFIG_PATHY=y\nCONFIG_DEMO=y\nCONFIG_DEMO_MORE=y\nCONFIG_EXT2_FS=m\n")
    (whole_tree / ".config").write_text("# Linux/x86 6.12.1 Kernel\nCONFIG_DEMO=y\n")

    def content(*words: str) -> dict[str, Any]:
        shown = run("source", str(whole_tree), "--format", "json", *words)
        return cast("dict[str, Any]", json.loads(shown))

    own = content()
    assert own["configuration"].endswith("linux/.config")
    assert [(one["name"], one["hooks"]) for one in own["modules"]] == [("demo", 3)]
    assert own["framework"]["hooks"] == 8, "without CONFIG_SECURITY_PATH"
    assert {one["filesystem"] for one in own["syscalls"]} == {"tmpfs", "ext4", "xfs"}
    problems = "\n".join(own["problems"])
    assert f"ext2 is not analysed: {own['configuration']} has it off" in problems
    assert "configures Linux 6.12, the source is 6.1.7" in problems
    modules = content("--config", str(other))["modules"]
    assert [(one["name"], one["hooks"]) for one in modules] == [("demo", 4), ("pathy", 1)]
    everything = content("--config", "none")
    assert (everything["configuration"], everything["framework"]["hooks"]) == ("", 9)
