# SPDX-License-Identifier: GPL-2.0-or-later
"""What `history` says first: how each setup's overhead went from kernel to kernel."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.questions.cells.cells import versions
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


def test_kernels_of_one_release_are_in_the_order_of_their_packages(tmp_path: Path) -> None:
    """All of Debian's 6.1 are 6.1.0-N."""
    costs = dict.fromkeys("abc", 1100)
    run = run_over_kernels(tmp_path / "run", costs, ("capability", "selinux"))
    names = ("6.1.190-1", "6.1.9-1", "6.1.170-3")
    kernels = tuple(
        replace(kernel, release="6.1.0-47-amd64", version=name)
        for kernel, name in zip(run.manifest.kernels, names, strict=True)
    )
    run = replace(run, manifest=replace(run.manifest, kernels=kernels))
    assert "on b, +10.0 % on c, +10.0 % on a, over" in document(run).answer[0]
    assert {row["kernel"] for row in plot(run)["data"]["values"]} == {*names}
    assert len({*versions(run.manifest).values()}) == 3, "none is the baseline of another"


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
        (f"selinux ({arch})", k) for arch in ("x86_64", "arm64") for k in ("6.0-1", "6.1-1")
    }
