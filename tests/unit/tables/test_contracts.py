# SPDX-License-Identifier: GPL-2.0-or-later
"""JSON forms are what their stored schemas say, which the declarations of rows make.

Run as a script, this writes the schemas anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import lsmeter.questions
from lsmeter.questions.gate import document as gate
from lsmeter.questions.gate.judge import judge_runs
from lsmeter.questions.gate.rules import margin_rule
from lsmeter.questions.history import document as history
from lsmeter.questions.index import document as index
from lsmeter.questions.index.figures import run_indices
from lsmeter.tables.fields import Contract
from lsmeter.tables.model import Detail, Document
from lsmeter.tables.render import Options, render
from tests.unit.report.test_compared import AFTER, BEFORE, run

CONTRACTS = {"gate": gate.CONTRACT, "history": history.CONTRACT, "index": index.CONTRACT}


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
    gated = judge_runs(before, after, [margin_rule(0.01)], "skip")
    found = run_indices(after, before, "capability")
    return {
        "gate": gate.document(gated, Detail.DATA),
        "history": history.document(after, Detail.DATA),
        "index": index.index_document(after, found, "capability of a", Detail.DATA),
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
    heads, first, *_ = render(document, "csv", Options()).splitlines()
    assert "setup" in heads.split(",") and "selinux" in render(document, "csv", Options())
    assert first


def test_history_has_plots_as_files(documents: dict[str, Document]) -> None:
    (figure,) = documents["history"].figures
    drawing = figure.draw("plot-1")
    assert drawing.startswith("<svg") and "var(--series-0)" in drawing


if __name__ == "__main__":
    for _name, _contract in CONTRACTS.items():
        stored(_name, _contract).write_text(
            json.dumps(_contract.schema(), indent=1) + "\n", "utf-8"
        )
