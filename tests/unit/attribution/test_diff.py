# SPDX-License-Identifier: GPL-2.0-or-later
"""`hooks diff` says what it did not compare, and does not pass where it compared nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from lsmeter.app import make_app
from lsmeter.core.errors import UsageError
from tests.unit.attribution.drawn import OPEN, STAT, Drawn, draw_run, reading, steady


def _said(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    make_app()(["hooks", "diff", *map(str, words)], standalone_mode=False)
    return " ".join(capsys.readouterr().out.split())


def test_runs_without_a_benchmark_in_common_are_refused(tmp_path: Path) -> None:
    opened = draw_run(tmp_path / "a", lambda _: steady(open=10))
    looked = draw_run(tmp_path / "b", lambda _: steady(stat=10))
    with pytest.raises(UsageError, match="no benchmark in common"):
        make_app()(["hooks", "diff", str(opened), str(looked)], standalone_mode=False)


def test_what_only_one_run_has_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = draw_run(tmp_path / "a", lambda _: steady(open=10, stat=20))
    after = draw_run(tmp_path / "b", lambda _: steady(open=15), "capability", "smack")
    said = _said(capsys, before, after)
    assert f"Only in the first run, not compared: {STAT.id}." in said
    assert "selinux on vmlinux, file, tmpfs, root: only in the first run, not compared" in said
    assert "smack on vmlinux, file, tmpfs, root: only in the second run, not compared" in said


def test_conditions_that_differ_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = draw_run(tmp_path / "a", lambda _: steady(open=10))
    other = {"mitigations": "auto"}
    after = draw_run(tmp_path / "b", lambda _: steady(open=10), conditions=other)
    assert "the runs differ in conditions (mitigations: off and auto)" in _said(
        capsys, before, after
    )


def test_a_change_whose_tree_was_not_kept_has_a_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def slower(_: object) -> Drawn:
        (tree,) = steady(open=10)[OPEN.id][1]
        value = reading(tree)
        return {OPEN.id: ((value + 250,) * 5 + (value,) * 3, (tree,))}

    before = draw_run(tmp_path / "a", lambda _: steady(open=10))
    said = _said(capsys, before, draw_run(tmp_path / "b", slower), "-s", "selinux")
    assert f"{OPEN.id} 1,005 1,255 +250" in said
