# SPDX-License-Identifier: GPL-2.0-or-later
"""What people and programs get: the command, its formats, explanations, and the cache."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner

from lsmeter.cli.hooks import app
from lsmeter.errors import UsageError
from lsmeter.hooks.source import analyse, analysis, output
from lsmeter.hooks.source.explain import as_dot, as_svg, as_text, explain
from lsmeter.hooks.source.model import SourceAnalysis
from lsmeter.hooks.source.tables import all_tables

Writer = Callable[..., Path]


@pytest.fixture
def found(tree: Writer) -> SourceAnalysis:
    return analyse(tree(), cache=False, filesystems=("alpha", "beta"))


def test_json_has_what_is_promised(found: SourceAnalysis) -> None:
    content = json.loads(output.as_json(found))
    demo = next(one for one in content["modules"] if one["name"] == "demo")
    assert (demo["hooks"], demo["general_hooks"]) == (4, 3)
    assert demo["hooks_by_class"] == {"inode": 3, "file": 1}
    assert demo["code_lines"] == 13
    assert demo["lines_per_hook"] == pytest.approx(3.2)
    assert content["kernel_version"] == "6.1.7"
    assert content["framework"]["hooks"] == 9
    assert content["framework"]["general_hooks"] == 8
    call = next(
        one
        for one in content["syscalls"]
        if (one["syscall"], one["filesystem"]) == ("open", "beta")
    )
    use = next(one for one in call["hooks"] if one["interface"] == "security_inode_permission")
    assert use["ordinary"] == {"constant": 1, "per_component": 1}
    assert use["chain"][0] == "sys_open"
    verdicts = {(one["syscall"], one["module"]): one["verdict"] for one in content["mediation"]}
    assert verdicts["open", "demo"] == "over-worked"


def test_csv_is_one_tidy_table(found: SourceAnalysis) -> None:
    rows = list(csv.DictReader(io.StringIO(output.as_csv(all_tables(found, "alpha")))))
    assert {row["table"] for row in rows} == {
        "modules",
        "classes",
        "decisions",
        "mediation",
        "reached",
    }
    cells = {(row["table"], row["key"], row["column"]): row["value"] for row in rows}
    assert cells["modules", "demo", "hooks"] == "4"
    assert cells["classes", "inode", "demo"] == "3"
    assert cells["mediation", "read", "demo"] == "0 UNMEDIATED"


def test_markdown_says_problems_too(found: SourceAnalysis) -> None:
    text = output.as_markdown(all_tables(found, "alpha"), found)
    assert "| demo | 4 | 3 | 13 | 3 |" in text
    assert "Problem: system calls that this kernel does not have" in text


def test_a_chain_tells_places_and_ways(found: SourceAnalysis) -> None:
    text = as_text(explain(found, "chmod", "inode_permission", "alpha"))
    assert "via inode_operations.setattr of alpha_inode_operations" in text
    assert "fs/open.c:9" in text
    walk = as_text(explain(found, "open", "security_inode_permission", "alpha"))
    assert "once for each path component" in walk
    assert "runs at most: d+1 on an ordinary pass, 6d+3 with retries" in walk


def test_graphs_are_whole(found: SourceAnalysis) -> None:
    explanation = explain(found, "open", "inode_permission", "alpha")
    dot = as_dot(explanation)
    assert '"may_lookup" -> "inode_permission"' in dot
    assert '"path_openat" -> "inode_permission"' in dot, "all ways, not only the shortest"
    svg = ET.fromstring(as_svg(explanation))  # noqa: S314  (our own text)
    shown = {one.text for one in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert {"sys_open", "link_path_walk", "security_inode_permission"} <= shown


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
    with pytest.raises(UsageError, match="xfs was not analysed"):
        all_tables(found, "xfs")


def test_the_cache_spares_reading_and_sees_changes(
    tree: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree()
    reads: list[str] = []
    real = analysis.read_file

    def read_file(path: str, text: str) -> object:
        reads.append(path)
        return real(path, text)

    monkeypatch.setattr(analysis, "read_file", read_file)
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
    monkeypatch.setattr(analysis, "CHUNK_BYTES", 500)
    assert analyse(root, cache=False, filesystems=("alpha",)) == alone


def run(*words: str) -> str:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def whole_tree(tree: Writer) -> Path:
    """Return a tree that has the file systems that the command looks at unless told."""
    names = {f"fs/{name}/x.c": "int x;\n" for name in ("ext2", "ext4", "xfs")}
    return tree(**names, **{"mm/shmem.c": "int shmem;\n"})


def test_the_command(whole_tree: Path) -> None:
    assert "demo" in run("source", str(whole_tree))
    content = json.loads(run("source", str(whole_tree), "--format", "json"))
    assert [one["name"] for one in content["modules"]] == ["demo", "pathy"]
    assert run("source", str(whole_tree), "--format", "csv").startswith("table,row,key,column,")
    assert run("source", str(whole_tree), "--format", "markdown").startswith("### Hooks and code")
    words = ("source", str(whole_tree), "--explain", "open", "file_open")
    assert run(*words).startswith("open on ext4 reaches security_file_open")
    assert run(*words, "--filesystem", "alpha").startswith("open on alpha reaches")
    assert run(*words, "--graph", "dot").startswith("digraph")
    assert run(*words, "--graph", "svg").startswith("<svg")
