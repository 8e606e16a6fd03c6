# SPDX-License-Identifier: GPL-2.0-or-later
"""What `history` says first: how each setup's overhead went from kernel to kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from lsmeter.questions.history.document import document, plot
from tests.unit.run_builders import run_over_kernels


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("a", "b"), "selinux: median +10.0 % on a, +20.0 % on b, over capability ("),
        (
            ("a", "b", "c", "d", "e"),
            "selinux: median +10.0 % on a, +50.0 % on e; +10.0 % to +50.0 % over 5 kernels, over",
        ),
    ],
)
def test_the_answer_names_the_ends(tmp_path: Path, names: tuple[str, ...], said: str) -> None:
    costs = {name: 1100 + 100 * at for at, name in enumerate(names)}
    (answer,) = document(
        run_over_kernels(tmp_path / "run", costs, ("capability", "selinux"))
    ).answer
    assert answer.startswith(said)


def test_a_baseline_alone_is_no_history(tmp_path: Path) -> None:
    (answer,) = document(run_over_kernels(tmp_path / "run", {"a": 1000}, ("capability",))).answer
    assert answer == "Nothing was compared: no setup beside capability has a number."


def test_two_architectures_are_two_sentences_and_two_lines(tmp_path: Path) -> None:
    costs = {"a": 1100, "b": 1200, "a:arm64": 1300, "b:arm64": 1400}
    run = run_over_kernels(tmp_path / "run", costs, ("capability", "selinux"))
    assert [text.partition(", over")[0] for text in document(run).answer] == [
        "selinux: median +10.0 % on a, +20.0 % on b",
        "selinux: median +30.0 % on a:arm64, +40.0 % on b:arm64",
    ]
    rows = plot(run)["data"]["values"]
    assert {(row["setup"], row["kernel"]) for row in rows} == {
        (f"selinux ({arch})", kernel) for arch in ("x86_64", "arm64") for kernel in ("6.0", "6.1")
    }
