# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter reproduce`: published tables beside ours, and every claim with a verdict."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated

from lsmeter.cli.options import AllOption, argument, but, declared
from lsmeter.cli.show import show
from lsmeter.core.errors import ExitCode, UsageError
from lsmeter.core.registry import unknown
from lsmeter.questions.reproduce.options_command import ReproduceOptions

if TYPE_CHECKING:
    from lsmeter.catalogue.studies.study import Study

ALL = "all"


def _offer(incomplete: str) -> list[str]:
    from lsmeter.catalogue.studies.study import study_names

    return [name for name in (ALL, *study_names()) if name.startswith(incomplete)]


_Options = Annotated[
    ReproduceOptions,
    but(
        *("setup", "suite", "benchmark", "filesystem", "user", "image", "condition", "machine"),
        "seed",
    ),
]


def reproduce(
    options: _Options,
    studies: Annotated[
        list[str] | None, argument("STUDY", "Studies by name, all, or a folder (./mine/).", _offer)
    ] = None,
    claim: Annotated[list[str] | None, declared("reproduce.claim")] = None,
    listing: Annotated[bool, declared("reproduce.listing")] = False,
    everything: AllOption = False,
) -> int:
    """Measure anew what a study published, and judge its claims.

    Printed tables stand beside ours. A claim holds, does not hold today, cannot be told or is not
    comparable, by a rule over measured rows that stands in the study's folder. Kernels and images
    that are missing are fetched and built first; what has ended is kept, and nothing is measured
    twice. For claims that do not hold, the hooks and functions are found that the number comes
    from.

        lsmeter reproduce --list
        lsmeter reproduce uva03
        lsmeter reproduce asiaccs21 --kernel 6.1 --dry-run
        lsmeter reproduce all --quick -f html -o studies.html
    """
    from lsmeter.questions.reproduce import document as documents
    from lsmeter.questions.reproduce.listing import list_claims, list_studies
    from lsmeter.questions.reproduce.parts_command import Plan, foretell_studies, reproduce_study

    if listing and not studies:
        show(list_studies())
        return ExitCode.OK
    found = _studies(studies)
    _check_claims(found, claim)
    if len({*(options.arch or ())}) > 1:
        raise UsageError(
            "--arch: a claim is judged on one architecture",
            hint="one at a time: lsmeter reproduce STUDY --arch arm64 --run-dir DIR",
        )
    if listing:
        for study in found:
            show(list_claims(study))
        return ExitCode.OK
    plans = [Plan.of(study, options, claim or ()) for study in found]
    if options.dry_run:
        foretell_studies(plans, options)
        return ExitCode.OK
    done, code = [], ExitCode.OK
    for plan in plans:
        item, ended = reproduce_study(plan, options)
        done.append(item)
        code = ended if code is ExitCode.OK else code
        if ended is ExitCode.INTERRUPTED:
            return int(ended)
    command = shlex.join(["lsmeter", *sys.argv[1:]])
    show(partial(documents.document, done, command), everything=everything)
    return int(code)


def _studies(names: list[str] | None) -> list[Study]:
    from lsmeter.catalogue.studies.study import find_study, study_names

    if not names:
        raise UsageError("reproduce: which study?", hint="lsmeter reproduce --list has them")
    words = [*study_names()] if ALL in names else [*dict.fromkeys(names)]
    return [find_study(word) for word in words]


def _check_claims(studies: list[Study], wanted: list[str] | None) -> None:
    known = {claim.id for study in studies for claim in study.claims}
    for name in wanted or ():
        if name not in known:
            raise unknown("claim", name, known, where="--claim")
