# SPDX-License-Identifier: GPL-2.0-or-later
"""The recipes for CI are what GitHub and GitLab take, and what lsmeter has."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import InProcess
from tests.contract.documents import ROOT, lines, words
from tests.contract.test_documents import wrong_in
from tests.recipes import GITHUB, GITLAB, RECIPES, RUNS, load, steps

SCHEMAS = {
    **dict.fromkeys(GITHUB.values(), "vendor.github-workflows"),
    **dict.fromkeys(GITLAB.values(), "vendor.gitlab-ci"),
}
HISTORY = RECIPES / "gitlab-history.yml"
UNITS = [RECIPES / f"lsmeter-history.{kind}" for kind in ("service", "timer")]
SHELLCHECK = Path(sys.executable).with_name("shellcheck")


def wrong_by_schema(path: Path, schema: str) -> str:
    """Return what the schema does not allow of a workflow."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema),
            *("--data-transform", "gitlab-ci", str(path)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr if done.returncode else ""


def test_every_recipe_is_known_and_linked() -> None:
    known = {*SCHEMAS, HISTORY, *UNITS}
    assert known == set(RECIPES.iterdir())
    names = ("ci", "program", "history")
    guides = "".join((ROOT / f"docs/guides/{name}.md").read_text() for name in names)
    assert [path.name for path in known if f"recipes/{path.name}" not in guides] == []


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.stem)
def test_a_recipe_is_a_workflow(path: Path, tmp_path: Path) -> None:
    assert wrong_by_schema(path, SCHEMAS[path]) == ""
    text = path.read_text("utf-8")
    spoilt = tmp_path / path.name
    spoilt.write_text(text.replace("runs-on:", "run-on:").replace("when: always", "when: at times"))
    assert "Schema validation errors" in wrong_by_schema(spoilt, SCHEMAS[path])


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.stem)
def test_steps_are_shell_and_their_commands_exist(path: Path) -> None:
    scripts = steps(path)
    text = "\n".join(scripts.values())
    found = subprocess.run(
        [str(SHELLCHECK), "--shell=bash", "-"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stdout == ""
    commands = list(lines(text))
    assert {words(command)[0] for command in commands} >= {"gate"}
    assert [wrong for command in commands if (wrong := wrong_in(command))] == []
    # What a pull request is called never becomes part of a script.
    assert "${{" not in text


@pytest.mark.parametrize("name", GITHUB)
def test_both_services_measure_and_judge_alike(name: str) -> None:
    github, gitlab = steps(GITHUB[name]), steps(GITLAB[name])
    (measure, judge) = (gitlab[f"script {place}"] for place in (0, 1))
    assert (
        measure.replace(" -e .lsmeter", "")
        .replace("$CI_COMMIT_SHA", "$GITHUB_SHA")
        .replace("$CI_MERGE_REQUEST_DIFF_BASE_SHA", "$GITHUB_SHA^1")
        == github["Measure"]
    )
    assert list(lines(judge)) == [" ".join(command.split()) for command in lines(github["Gate"])]


def test_a_kernels_gate_judges_stored_runs(in_process: InProcess) -> None:
    """The runs of a kernel are the example's: building two takes minutes."""
    (command,) = lines(steps(GITHUB["kernel"])["Gate"])
    stored = str(ROOT / "examples/main.lsmeter")
    asked = [stored if word.startswith(RUNS) else word for word in words(command)]
    assert stored in asked
    done = in_process(*asked)
    assert done.code == 0, done.err
    comment = (in_process.home / "comment.md").read_text().replace("\\", "")
    assert re.search(r"\b(\d+) kept of \1 comparisons, by 2 rules", comment)
    assert (in_process.home / "gate.xml").exists()


def wrong_by_systemd(*units: Path) -> str:
    """Return what systemd does not take of units."""
    done = subprocess.run(
        ["systemd-analyze", "verify", *map(str, units)], capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="without systemd")
def test_systemd_takes_the_units_of_the_timer(tmp_path: Path) -> None:
    assert wrong_by_systemd(*UNITS) == ""
    for unit, right, wrong in zip(UNITS, ("make", "daily"), ("no-make", "dayly"), strict=True):
        spoilt = tmp_path / unit.name
        spoilt.write_text(unit.read_text("utf-8").replace(f"={right}", f"={wrong}"))
        assert wrong in wrong_by_systemd(spoilt)


def test_timer_and_schedule_run_the_same_and_make_knows_it() -> None:
    assert wrong_by_schema(HISTORY, "vendor.gitlab-ci") == ""
    found = re.findall(r"^ExecStart=(.+)$", UNITS[0].read_text("utf-8"), re.MULTILINE)
    (job,) = load(HISTORY).values()
    assert [words[-1] for words in map(shlex.split, found)] == ["history", job["script"][1]]
    make = shlex.split(found[0])
    assert make == shlex.split(job["script"][0])
    said = subprocess.run(
        [*make, "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "scripts/history.sh" in said.stdout
    assert (
        subprocess.run(
            [SHELLCHECK, "-"], input=f"#!/bin/sh\n{job['script'][1]}\n", text=True, check=False
        ).returncode
        == 0
    )
