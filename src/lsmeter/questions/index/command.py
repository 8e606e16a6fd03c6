# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter index`: one number for each suite, setup and user of a run."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

from lsmeter.cli.names import runs
from lsmeter.cli.options import argument, declared
from lsmeter.cli.show import show
from lsmeter.core.errors import UsageError


def index(
    run: Annotated[Path, argument("RUN", "A run that measured suites.", runs)],
    reference: Annotated[Path | None, declared("index.reference")] = None,
    setup: Annotated[
        str | None,
        declared(
            "only_setup", text="The setup that is 100.", default="the baseline of the reference"
        ),
    ] = None,
) -> int:
    """Show the geometric mean over a suite, as UnixBench does.

    100 is the reference; a lower index is always slower. Instruments are never mixed.

        lsmeter index runs/2026-11-20T10-00-00-suites
        lsmeter index after --reference before --setup selinux
    """
    from lsmeter.measure.results.directory import read_run
    from lsmeter.measure.tasks import cost_tasks
    from lsmeter.questions.cells.verify import damage_code, refuse_arches
    from lsmeter.questions.cost.build import check_comparable, differing
    from lsmeter.questions.index.document import index_document
    from lsmeter.questions.index.figures import run_indices

    data = read_run(run)
    other = read_run(reference) if reference is not None else data
    if other is not data:
        check_comparable(other, data)
        refuse_arches(data, other)
    name = setup or other.manifest.baseline_setup
    found = run_indices(data, other, name)
    if not found:
        raise UsageError(
            f"{run}: nothing to compare with {name} of {reference or run}",
            hint="both need the same suite, file system and user; --setup names what is 100",
        )
    unlike = differing(other.manifest, data.manifest)
    noted = replace(data, notes=(*data.notes, *unlike))
    show(partial(index_document, noted, found, f"{name} of {reference or 'this run'}"))
    return damage_code(data, cost_tasks())
