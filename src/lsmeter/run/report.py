# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a run and makes its report, with where the cost comes from if it was made to tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from lsmeter.analysis import make_report
from lsmeter.errors import InfrastructureError
from lsmeter.hooks.agreement.model import Agreement
from lsmeter.hooks.agreement.store import load_agreement
from lsmeter.hooks.agreement.tables import agreement_tables
from lsmeter.hooks.attribution.account import Account, account
from lsmeter.hooks.attribution.layer import layer_origins
from lsmeter.hooks.attribution.load import AttributedCell, explain_run, run_cells
from lsmeter.model import Problem
from lsmeter.report.model import Report
from lsmeter.results.directory import RunData, read_run


def read_report(path: Path) -> Report:
    """Report the run at `path`; attribution that is damaged is a problem of the report.

    Raises what lsmeter.results.directory.read_run raises.
    """
    run = read_run(path)
    problems: list[Problem] = []
    cells: tuple[AttributedCell, ...] = ()
    found: Agreement | None = None
    try:
        cells = run_cells(run)
    except InfrastructureError as error:
        problems.append(Problem("no attribution is shown: it is damaged", detail=error.title))
    try:
        found = load_agreement(path)
    except InfrastructureError as error:
        problems.append(Problem("no agreement is shown: it is damaged", detail=error.title))
    accounts = tuple(account(item) for item in explain_run(run, cells) if item.operations)
    report = make_report(run, accounts, tuple(problems))
    return replace(
        report,
        notes=(*report.notes, *_unexplained(run, cells, accounts)),
        layer_origins=layer_origins(report.layers, cells),
        agreement=() if found is None else agreement_tables(found, notes=True),
    )


def _unexplained(
    run: RunData, cells: Iterable[AttributedCell], accounts: Iterable[Account]
) -> Iterator[str]:
    """Name the setups that were measured, and whose cost could not be taken apart."""
    explained = {(item.kernel, item.setup, item.filesystem, item.user) for item in accounts}
    baseline = run.manifest.baseline_setup
    for item in cells:
        cell = item.cell
        place = (cell.kernel, cell.setup, cell.filesystem, cell.user)
        if cell.setup != baseline and item.values and place not in explained:
            yield (
                f"{cell.setup} on {cell.kernel}: where its cost comes from is not shown; that "
                f"needs the attribution of it and of {baseline} on the same kernel"
            )
