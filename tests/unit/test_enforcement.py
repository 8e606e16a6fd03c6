# SPDX-License-Identifier: GPL-2.0-or-later
"""A policy that is not shown to be enforced gives no numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.core.model.setup import TRY, EnforcementCheck, Step, ordered
from lsmeter.guest.conclude import verify
from tests.unit.model_builders import kernel

WORK = Step("work")
DENIED = EnforcementCheck("secret", "read", "/secret", denied=True, message="avc:  denied")
ALLOWED = EnforcementCheck("public", "read", "/public", denied=False)
SETUP = replace(parse_setup("capability"), checks=(DENIED, ALLOWED))
GOOD = {
    "lsm": "capability",
    "proof.secret.before": "allowed",
    "proof.secret": "denied",
    "proof.secret.errno": "EACCES",
    "proof.secret.message": "audit: avc:  denied  { read }",
    "proof.public": "allowed",
}


def test_a_denial_and_a_grant_show_enforcement() -> None:
    assert verify(SETUP, kernel(), GOOD) == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"proof.secret": "allowed"}, "must be denied, and was allowed"),
        ({"proof.secret": None}, "was not tried"),
        ({"proof.secret": "failed", "proof.secret.errno": "ENOENT"}, "was failed (ENOENT)"),
        ({"proof.secret.before": "denied"}, "this shows nothing"),
        ({"proof.secret.message": None}, "without a line 'avc:  denied'"),
        ({"proof.public": "denied"}, "must be allowed, and was denied"),
    ],
)
def test_whatever_is_missing_is_told(change: dict[str, str | None], said: str) -> None:
    facts = {key: value for key, value in (GOOD | change).items() if value is not None}
    problems = verify(SETUP, kernel(), facts)
    assert len(problems) == 1
    assert said in problems[0]


def test_accesses_are_tried_first_unless_the_setup_says_when() -> None:
    assert ordered((WORK,), (DENIED,)) == (TRY, WORK)
    own = (Step("file", ("/secret", "x")), TRY, WORK)
    assert ordered(own, (DENIED,)) == own
    assert ordered((WORK,), ()) == (WORK,)


def test_what_a_permissive_policy_allows_has_its_message_too() -> None:
    check = EnforcementCheck("secret", "read", "/secret", denied=False, message="granted=no")
    setup = replace(SETUP, checks=(check,))
    facts = {"lsm": "capability", "proof.secret": "allowed"}
    (problem,) = verify(setup, kernel(), facts)
    assert problem.endswith("in the kernel's log: the policy may not have been consulted")
    assert verify(setup, kernel(), {**facts, "proof.secret.message": "granted=no"}) == ()
