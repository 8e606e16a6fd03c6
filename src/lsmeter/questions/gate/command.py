# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter gate`: hold one run against another under rules, for CI and `git bisect run`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lsmeter.cli import names, options
from lsmeter.cli.show import show, write

if TYPE_CHECKING:
    from lsmeter.measure.results.directory import RunData
    from lsmeter.questions.gate.rules import Rule

MaxOption = Annotated[
    list[str] | None,
    typer.Option(
        "--max",
        metavar="RULE",
        help="PATTERN[@SETUP]<=LIMIT: 'open*<=2%', 'stat*@selinux<=50insns'. Repeatable.",
        show_default="no more than the margin",
    ),
]
RulesOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Rules from a TOML file: `lsmeter help gate`.")
]
NumberOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Look at this number only: typical, mean or whole. Repeatable.",
        show_default="all",
    ),
]


def _known(word: str) -> str:
    from lsmeter.core.registry import unknown
    from lsmeter.questions.gate.document import INCONCLUSIVE

    if word not in INCONCLUSIVE:
        raise unknown("word", word, INCONCLUSIVE, where="--inconclusive")
    return word


InconclusiveOption = Annotated[
    str,
    typer.Option(
        metavar="WHAT",
        help="fail, skip (exit 125) or pass what is not known well enough.",
        callback=_known,
    ),
]


def gate(
    run_a: Annotated[Path, names.run_argument("RUN_A", "Run directory: the good one.")],
    run_b: Annotated[Path, names.run_argument("RUN_B", "Run directory: what is judged.")],
    maximum: MaxOption = None,
    rules: RulesOption = None,
    number: NumberOption = None,
    margin: options.MarginOption = None,
    inconclusive: InconclusiveOption = "skip",
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write JUnit XML for CI, too.")
    ] = None,
) -> int:
    """Judge by rules whether RUN_B costs too much more than RUN_A: an exit code for machines.

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
    from lsmeter.questions.gate.judged import judge_runs

    found = read_run(run_a), read_run(run_b)
    chosen = chosen_rules(maximum, rules, number, margin, found[1])
    gated = judge_runs(*found, chosen, inconclusive)
    if junit is not None:
        from lsmeter.questions.gate.document import junit as written

        write(junit, written(gated), "--junit")
    from lsmeter.questions.gate.document import document

    show(document(gated))
    return int(gated.code)


def chosen_rules(
    maximum: Sequence[str] | None,
    file: Path | None,
    number: Sequence[str] | None,
    margin: float | None,
    run: RunData | None = None,
) -> tuple[Rule, ...]:
    """Return the rules of the command line and of a file; without any, the margin's."""
    from lsmeter.core.model.conclusion import Number
    from lsmeter.questions.gate.rules import margin_rule, parse_rule, read_numbers, read_rules

    numbers = read_numbers(number, "--number") if number else tuple(Number)
    said = [parse_rule(text, numbers) for text in maximum or ()]
    if file is not None:
        said += read_rules(file)
    if said:
        return tuple(said)
    least = run.manifest.margin if run is not None else 0.01
    return (margin_rule(least if margin is None else margin, numbers),)
