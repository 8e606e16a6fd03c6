# SPDX-License-Identifier: GPL-2.0-or-later
"""An agreement that is kept with its run, and how the run's page shows it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.cli.main import app
from lsmeter.errors import InfrastructureError, UsageError
from lsmeter.hooks.agreement.gather import Inputs, agree
from lsmeter.hooks.agreement.store import AGREEMENT_FILE, load_agreement, save_agreement
from lsmeter.hooks.attribution.load import load_run
from lsmeter.report.render import formats, render
from lsmeter.run.report import read_report
from tests.unit.agreement.test_command import slopes
from tests.unit.attribution.recorded import write_run
from tests.unit.report.test_html import Page, assert_needs_nothing, attacked


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run with an agreement kept by the command."""
    folder = tmp_path_factory.mktemp("store")
    path = write_run(folder / "run", "before")
    words = ("--run", str(path), "--slopes", str(slopes(folder / "s.json")), "--save")
    app(["hooks", "agree", *words], standalone_mode=False)
    return path


def test_what_is_kept_is_what_was_found(run: Path, tmp_path: Path) -> None:
    found = load_agreement(run)
    assert found is not None
    assert {item.place.setup for item in found.places} == {"capability", "smack", "selinux"}
    again = tmp_path / "again"
    again.mkdir()
    save_agreement(again, found)
    assert load_agreement(again) == found
    assert load_agreement(tmp_path) is None


def test_the_page_shows_it_between_figures_and_tables(run: Path) -> None:
    page = render(read_report(run), "html")
    found = Page(page)
    order = [a["id"] for tag, a in found.elements if tag == "section" and "id" in a]
    assert order == [
        *("summary", "grid-1", "whole", "origin", "agreement"),
        *("tables", "method", "problems"),
    ]
    words = " ".join("".join(found.words).split())
    assert "Runs of hooks in one operation: smack on vmlinux" in words
    assert "Smack does not decide while the path is walked under RCU" in words
    assert "source: not given" in words
    assert_needs_nothing(page)
    assert_needs_nothing(render(attacked(read_report(run)), "html"))


def test_other_formats_are_what_they_were(run: Path, tmp_path: Path) -> None:
    plain = read_report(write_run(tmp_path / "run", "before"))
    for item in formats():
        if item.name != "html":
            assert render(read_report(run), item.name) == render(plain, item.name)


def test_saving_needs_a_run(tmp_path: Path) -> None:
    file = str(slopes(tmp_path / "s.json"))
    with pytest.raises(UsageError, match="--save needs the run"):
        app(
            ["hooks", "agree", "--slopes", file, "--source", str(tmp_path), "--save"],
            standalone_mode=False,
        )


@given(damage=st.binary(max_size=60), cut=st.integers(0, 400))
def test_damage_is_named_and_the_rest_is_reported(
    tmp_path_factory: pytest.TempPathFactory, damage: bytes, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("damage")
    save_agreement(folder, agree(Inputs()))
    path = folder / AGREEMENT_FILE
    path.write_bytes(path.read_bytes()[:cut] + damage)
    try:
        assert load_agreement(folder) is not None
    except InfrastructureError as error:
        assert str(path) in error.title  # noqa: PT017 - both ends are right


def test_a_damaged_agreement_is_a_problem_of_the_report(run: Path, tmp_path: Path) -> None:
    other = write_run(tmp_path / "run", "before")
    (other / AGREEMENT_FILE).write_text('{"format": "lsmeter-run-agreement", "version": 1}')
    found = read_report(other)
    assert found.agreement == ()
    assert len(found.accounts) == 2
    (problem,) = found.problems
    assert "agreement" in problem.title
    cells = load_run(other)[1]
    assert len(agree(Inputs(cells=cells)).places) == 3
