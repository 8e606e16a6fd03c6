# SPDX-License-Identifier: GPL-2.0-or-later
"""Words and rows that show that policies are enforced, with the kernel's own messages; pure."""

from __future__ import annotations

from dataclasses import replace

from lsmeter.evidence import ProofOutcome
from lsmeter.report import numbers
from lsmeter.report.listing import Chapter, Column, Kind, Listing, Saying, names
from lsmeter.report.model import Report

_COLUMNS = (
    *names("proof", "tried", "had to be", "was", "before the policy", "held in"),
    Column("the kernel's message", Kind.CODE),
)
_RULE = (
    "Each guest made these accesses just before it measured, as the measured process makes them. "
    "A guest in which one went otherwise gave no numbers."
)


def chapter(report: Report) -> Chapter:
    """Show the outcome of every proof of every setup."""
    found: dict[tuple[str, ...], list[ProofOutcome]] = {}
    places: dict[tuple[tuple[str, str], tuple[ProofOutcome, ...]], list[str]] = {}
    for item in report.proofs:
        key = (item.setup, item.kernel, item.filesystem, item.user)
        found.setdefault(key, []).append(item)
    for (setup, kernel, filesystem, user), outcomes in found.items():
        # What went the same way on every file system and for every user is told once.
        same = tuple(replace(item, filesystem="", user="") for item in outcomes)
        places.setdefault(((setup, kernel), same), []).append(f"{filesystem}, user {user}")
    listings = (
        _listing(f"{setup} on {kernel} ({'; '.join(dict.fromkeys(where))})", outcomes)
        for ((setup, kernel), outcomes), where in places.items()
    )
    return Chapter("proofs", "Proof of enforcement", _RULE, tuple(listings))


def _listing(title: str, outcomes: tuple[ProofOutcome, ...]) -> Listing:
    return Listing(
        title,
        _COLUMNS,
        tuple(_row(item) for item in outcomes),
        sayings=tuple(
            Saying(_sentence(item), (item.message,) if item.message else ()) for item in outcomes
        ),
    )


def _row(item: ProofOutcome) -> tuple[str, ...]:
    return (
        item.name,
        f"{item.access} {item.path}",
        _asked(item),
        _happened(item),
        item.before or ("not there yet" if item.happened else numbers.MISSING),
        _held(item),
        item.message or numbers.MISSING,
    )


def _asked(item: ProofOutcome) -> str:
    return "denied" if item.denied else "allowed"


def _happened(item: ProofOutcome) -> str:
    if not item.happened:
        return "not tried"
    return f"{item.happened} ({item.error})" if item.error else item.happened


def _held(item: ProofOutcome) -> str:
    if not item.boots:
        return numbers.MISSING
    return f"{item.held} of {item.boots} {'boot' if item.boots == 1 else 'boots'}"


def _sentence(item: ProofOutcome) -> str:
    before = f"; {item.before} before there was a policy" if item.denied and item.before else ""
    held = f"Held in {_held(item)}." if item.boots else "No boot reported anything."
    return (
        f"{item.name}: {item.access} {item.path} had to be {_asked(item)}, and was "
        f"{_happened(item)}{before}. {held}"
    )
