# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of a study, checked before anything is measured: language, units, printed values; pure."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import product
from typing import Any

from lsmeter.catalogue.studies.shown import printed_cells
from lsmeter.catalogue.studies.study import STUDY_FILE, Study
from lsmeter.core.errors import UsageError
from lsmeter.questions.reproduce.facts import INSNS, Facts
from lsmeter.questions.reproduce.parts import Where
from lsmeter.questions.reproduce.quantities import PERCENT, MissingError, Quantity
from lsmeter.questions.reproduce.rules import Evaluation, Rule, RuleError, read_rule

_HINT = "the language: lsmeter help studies"
# Of what the functions of rules return; the others return plain numbers.
UNITS: Mapping[str, str] = {
    **dict.fromkeys(("ov", "work", "gain", "scatter"), PERCENT),
    **dict.fromkeys(("added", "cost", "in_hooks"), INSNS),
}


def check_rules(study: Study) -> dict[str, Rule]:
    """Read all rules of a study, by claim; UsageError names the file, the claim and what is wrong.

    Each is worked out once over numbers of the right units. So a rule that adds per cent to
    instructions, or reads a setup that no part measures, or a value that was not printed, is told
    before guests are booted.
    """
    facts, trial = _trial(study)
    found = {}
    for claim in study.claims:
        if claim.rule:
            try:
                rule = read_rule(claim.rule, facts.functions, [*study.lists])
                Evaluation(trial, study.lists).find(rule)
            except RuleError as error:
                raise UsageError(f"{study.where(claim)}: {error}", hint=_HINT) from None
            found[claim.id] = rule
    return found


def check_shown(study: Study) -> dict[str, Rule]:
    """Read the expressions of a study's tables (TABLE.ours, TABLE.several) and plots, by id.

    UsageError as for rules.
    """
    facts, trial = _trial(study)

    def read(key: str, text: str, uses: Iterable[Mapping[str, Any]]) -> Rule:
        try:
            known = list(uses)
            rule = read_rule(text, facts.functions, [*study.lists, *known[0]])
            for words in known:
                with contextlib.suppress(MissingError):
                    Evaluation(trial, {**study.lists, **words}).number(rule)
        except RuleError as error:
            where = f"{study.home / STUDY_FILE}: {key}"
            raise UsageError(f"{where}: {error}", hint=_HINT) from None
        return rule

    found = {}
    for table in study.compared:
        cells = printed_cells(table, study.home, study.tables)
        texts = {"ours": table.ours, "several": table.several}
        texts |= {f"own.{row}": text for row, text in table.own.items()}
        for key, text in texts.items():
            if text:
                words = (cell.known for cell in cells)
                found[f"{table.id}.{key}"] = read(f"compared.{table.id}.{key}", text, words)
        if unknown := {*table.own} - {cell.row for cell in cells}:
            where = f"{study.home / STUDY_FILE}: compared.{table.id}.own"
            raise UsageError(f"{where}: no printed row '{min(unknown)}'", hint=_HINT)
    for plot in study.plots:
        pairs = product(words_of(study, plot.series), words_of(study, plot.x))
        words = ({"series": series, "x": x} for series, x in pairs)
        found[plot.id] = read(f"plots.{plot.id}.value", plot.value, words)
    return found


def words_of(study: Study, words: Sequence[str]) -> list[str]:
    """Return words, or those of the list of the study that one word names."""
    return study.lists.get(words[0], [*words]) if len(words) == 1 else [*words]


def _trial(study: Study) -> tuple[Facts, dict[str, _Trial]]:
    facts = Facts({}, Where("", "", ""), printed={item.name: item for item in study.tables})
    setups = {name for part in study.parts.values() for name in part.get("setups", ())}
    return facts, {name: _Trial(name, do, facts, setups) for name, do in facts.functions.items()}


@dataclass(frozen=True)
class _Trial:
    """What stands for a function of rules: it gives one of its unit; what was printed, as it is.

    RuleError for a setup that no part measures, and for what was not printed.
    """

    name: str
    do: Callable[..., Any]
    facts: Facts
    setups: AbstractSet[str]

    def __call__(self, *args: str, **at: str) -> object:
        if self.name == "printed":
            try:
                return self.facts.printed(*args)
            except MissingError as error:
                raise RuleError(str(error)) from None
        words = inspect.signature(self.do).bind(*args, **at).arguments
        for key in ("setup", "base"):
            if (setup := words.get(key)) is not None and setup not in self.setups:
                said = ", ".join(sorted(self.setups)) or "none"
                raise RuleError(f"{self.name}(): no part measures the setup '{setup}': {said}")
        if self.name == "rows":
            return [words["pattern"]]
        return 1.0 if self.name == "failed" else Quantity(1.0, 1.0, 1.0, UNITS.get(self.name, ""))
