# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter gate`: hold one run against another under rules, for CI and `git bisect run`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from lsmeter.cli.names import runs
from lsmeter.cli.options import AllOption, MarginOption, argument, declared
from lsmeter.cli.show import show, write

if TYPE_CHECKING:
    from lsmeter.measure.results.directory import RunData
    from lsmeter.questions.gate.rules import Rule


def _known(word: str) -> str:
    from lsmeter.core.registry import find
    from lsmeter.questions.gate.judge import INCONCLUSIVE

    find("word", word, INCONCLUSIVE, where="--inconclusive")
    return word


InconclusiveOption = Annotated[str, declared("gate.inconclusive", callback=_known)]


@dataclass(frozen=True)
class RuleOptions:
    """The options of commands that judge."""

    maximum: Annotated[list[str] | None, declared("gate.maximum")] = None
    rules: Annotated[Path | None, declared("gate.rules")] = None
    number: Annotated[list[str] | None, declared("gate.number")] = None
    margin: MarginOption = None
    inconclusive: InconclusiveOption = "skip"

    def choose(self, run: RunData | None = None) -> tuple[Rule, ...]:
        """Return the rules of the command line and of a file; without any, the margin's."""
        from lsmeter.core.model.conclusion import Number
        from lsmeter.questions.gate.rules import margin_rule, parse_rule, read_numbers, read_rules

        numbers = read_numbers(self.number, "--number") if self.number else tuple(Number)
        found = [parse_rule(text, numbers) for text in self.maximum or ()]
        if self.rules is not None:
            found += read_rules(self.rules)
        if found:
            return tuple(found)
        least = run.manifest.margin if run is not None else 0.01
        return (margin_rule(least if self.margin is None else self.margin, numbers),)


def gate(
    options: RuleOptions,
    run_a: Annotated[Path, argument("RUN_A", "Run directory: the good one.", runs)],
    run_b: Annotated[Path, argument("RUN_B", "Run directory: what is judged.", runs)],
    junit: Annotated[Path | None, declared("gate.junit")] = None,
    everything: AllOption = False,
) -> int:
    """Judge by rules whether RUN_B costs too much more than RUN_A.

    A rule holds for every number there is (typical, in-line mean, whole cost). The verdict is
    that of reports with the limit for a margin: slower beyond it for certain breaks the rule,
    faster or equivalent keeps it. Limits are in % or in the unit of the runs. Without rules,
    nothing may get worse by more than the margin. With runs made with --attribute, each
    broken rule is named with the hook and the function that moved.

        lsmeter gate runs/before runs/after
        lsmeter gate before after --max 'open*<=2%' --max 'stat*@selinux<=50insns'
        lsmeter gate before after --rules gate.toml --junit gate.xml

    Exit code 0: kept; 1: a rule is broken; 125: a side has no number for what a rule names
    (it was not built, did not boot, or was not asked for it), or it is inconclusive: `git
    bisect run` skips it.
    """
    from lsmeter.measure.results.directory import read_run
    from lsmeter.questions.cells.verify import refuse_arches
    from lsmeter.questions.gate.document import document
    from lsmeter.questions.gate.judge import judge_runs
    from lsmeter.tables.model import Detail
    from lsmeter.tables.render import render

    found = read_run(run_a), read_run(run_b)
    refuse_arches(*found)
    gated = judge_runs(*found, options.choose(found[1]), options.inconclusive)
    if junit is not None:
        write(junit, render(document(gated, Detail.DATA), "junit").encode(), "--junit")
    show(partial(document, gated), everything=everything)
    return int(gated.code)
