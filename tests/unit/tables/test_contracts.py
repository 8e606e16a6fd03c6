# SPDX-License-Identifier: GPL-2.0-or-later
"""JSON forms are what their stored schemas say, which the declarations of rows make.

Run as a script, this writes the schemas anew.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import lsmeter.questions
from lsmeter.measure.tasks.sweep import Point, Sweep
from lsmeter.questions.bisect import document as bisect
from lsmeter.questions.bisect.history import Commit
from lsmeter.questions.bisect.search import Question, Ruling, State, Step
from lsmeter.questions.estimate import document as estimate
from lsmeter.questions.estimate.figures import estimate as estimated
from lsmeter.questions.estimate.known import Cost, Known
from lsmeter.questions.estimate.profiles.model import Calls, Profile
from lsmeter.questions.gate import document as gate
from lsmeter.questions.gate.judge import judge_runs
from lsmeter.questions.gate.rules import margin_rule
from lsmeter.questions.history import document as history
from lsmeter.questions.index import document as index
from lsmeter.questions.index.figures import run_indices
from lsmeter.questions.patches import document as patches
from lsmeter.questions.patches.figures import Member, Outcome, compare_commits, judge_member
from lsmeter.questions.slopes import document as slopes
from lsmeter.questions.slopes.figures import Slopes, fit_slope
from lsmeter.tables.fields import Contract
from lsmeter.tables.model import Detail, Document
from lsmeter.tables.render import Options, render
from tests.unit.model_builders import benchmark
from tests.unit.report import builders
from tests.unit.report.test_compared import AFTER, BEFORE, run

DECLARED = (gate, history, index, slopes, estimate, bisect, patches)
CONTRACTS = {item.CONTRACT.name.removeprefix("lsmeter-"): item.CONTRACT for item in DECLARED}


def stored(name: str, contract: Contract) -> Path:
    home = Path(lsmeter.questions.__file__).parent
    return home / name / f"{name}-{contract.version}.json"


@pytest.mark.parametrize("name", CONTRACTS)
def test_the_stored_schema_is_that_of_the_declaration(name: str) -> None:
    contract = CONTRACTS[name]
    assert json.loads(stored(name, contract).read_text("utf-8")) == contract.schema()


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Document]:
    home = tmp_path_factory.mktemp("contracts")
    before, after = run(home / "a", BEFORE), run(home / "b", AFTER, "new")
    kind = benchmark("open", depth=1)
    points = tuple(Point(at, at + 1.0, 1000.0 + 2 * at) for at in (0, 100, 200, 300))
    slope = fit_slope(Sweep(kind, points), builders.place("tunable"))
    slopes_of = Slopes((0, 100, 200, 300), (slope,), (), (), ())
    step = Step("c" * 40, Ruling.BAD, "open: typical +100 insns", 1.0, 2.0, "typical")
    state = State(Question("a" * 40, "c" * 40, ()), (step,))
    commits = {letter * 40: Commit("subject", "A", "2026-11-01") for letter in "ac"}
    profile = Profile("strace", (Calls("openat", 10.0),), errors_unknown=frozenset({"openat"}))
    costs = {"selinux": {("file", "open depth=1"): Cost(5.0, 4.0, 6.0)}}
    known = Known("exact", "insns", "k", "6.1", "tmpfs", "root", "capability", ("r",), costs)
    told, lost = Commit("subject", "A", "2026-11-01"), Outcome.NOT_BUILT
    members = (
        Member("b" * 40, told, lost, "oops", "a" * 40),
        judge_member(Member("c" * 40, told, lost, "", "a" * 40), before, after),
    )
    total = compare_commits(before, after)
    facts = (("kernel", "Linux 6.1"),)
    series = patches.Series("a" * 40, told, members, "c" * 40, total, facts, "lsmeter patches")
    gated = judge_runs(before, after, [margin_rule(0.01)], "skip")
    found = run_indices(after, before, "capability")
    return {
        "gate": gate.document(gated, Detail.DATA),
        "history": history.document(after, Detail.DATA),
        "index": index.index_document(after, found, "capability of a", Detail.DATA),
        "slopes": slopes.shown(after, slopes_of),
        "estimate": estimate.document("calls", [estimated(profile, known)], Detail.DATA),
        "bisect": bisect.document(state, ["c" * 40], commits, ["*<=1%"], bisect.Difference()),
        "patches": patches.document(series, Detail.DATA),
    }


@pytest.mark.parametrize("name", CONTRACTS)
def test_a_document_keeps_its_schema(documents: dict[str, Document], name: str) -> None:
    contract, document = CONTRACTS[name], documents[name]
    assert (document.name, document.version) == (contract.name, contract.version)
    said: dict[str, Any] = json.loads(render(document, "json", Options()))
    jsonschema.validate(said, contract.schema())
    # The schema is strict: it notices a key that is not declared.
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**said, "undeclared": 1}, contract.schema())


@pytest.mark.parametrize("name", ["gate", "history", "index", "patches"])
def test_rows_for_data_frames_say_what_they_are_of(
    documents: dict[str, Document], name: str
) -> None:
    heads, *rows = csv.reader(render(documents[name], "csv", Options()).splitlines())
    assert "selinux" in {row[heads.index("setup")] for row in rows}
    lost = [row for row in rows if not row[heads.index("kernel")]]
    assert [row[heads.index("outcome")] for row in lost] == ["not built"] * (name == "patches")


def test_a_bisection_says_the_commit_and_the_number_that_decided(
    documents: dict[str, Document],
) -> None:
    first, why = documents["bisect"].answer
    assert first.startswith("First bad commit: cccccccccccc subject (A, 2026-11-01)")
    assert why == "open: typical +100 insns"
    said = json.loads(render(documents["bisect"], "json", Options()))
    assert said["steps"][0]["decided_by"] == "typical"


def test_history_has_plots_as_files(documents: dict[str, Document]) -> None:
    (figure,) = documents["history"].figures
    drawing = figure.draw("plot-1")
    assert drawing.startswith("<svg") and "var(--series-0)" in drawing


if __name__ == "__main__":
    for _name, _contract in CONTRACTS.items():
        stored(_name, _contract).write_text(
            json.dumps(_contract.schema(), indent=1) + "\n", "utf-8"
        )
