# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds what a guest says of itself against what the setup asked for; pure.

A mismatch means that the numbers would be those of another setup: there is no result then.
"""

from __future__ import annotations

from collections.abc import Mapping

from lsmeter.model import Kernel, Setup
from lsmeter.policy import INTEGRITY, Proof

# Active whatever `lsm=` says: capability always; lockdown where it starts early (Debian); the
# IMA and EVM have hooks of their own, and are in the list, since Linux 6.9.
ALWAYS_ON = ("capability", "lockdown", "ima", "evm", "integrity")


def active_lsms(facts: Mapping[str, str]) -> tuple[str, ...]:
    """Return the modules that the guest reported, in order; empty without securityfs."""
    return tuple(name for name in facts.get("lsm", "").split(",") if name)


def verify(setup: Setup, kernel: Kernel, facts: Mapping[str, str]) -> tuple[str, ...]:
    """Return one line for each way in which the guest is not what `setup` asked for."""
    problems = list(_lsm_problems(setup, kernel, facts))
    for expected in setup.expect:
        reported = facts.get(expected.fact)
        if reported != expected.value:
            said = "nothing" if reported is None else f"'{reported[:80]}'"
            problems.append(
                f"{expected.fact}: expected '{expected.value}', the guest reported {said} "
                f"({expected.why})"
            )
    for proof in setup.proofs:
        problems += proof_problems(proof, facts)
    return tuple(problems)


def proof_problems(proof: Proof, facts: Mapping[str, str]) -> list[str]:
    """Return how the guest fails to show that the policy denies, or allows, one access."""
    what = f"proof {proof.name} did not hold: {proof.access} {proof.path}"
    said = facts.get(f"proof.{proof.name}")
    asked = "denied" if proof.denied else "allowed"
    if said is None:
        return [f"{what} has to be {asked}, and was not tried"]
    if said != asked:
        error = facts.get(f"proof.{proof.name}.errno", "0")
        shown = "" if error == "0" else f" ({error[:20]})"
        return [f"{what} has to be {asked}, and was {said[:20]}{shown}{_meaning(proof, said)}"]
    before = facts.get(f"proof.{proof.name}.before", "allowed")
    if proof.denied and before != "allowed":
        return [f"{what} was {before[:20]} before there was a policy: this proves nothing"]
    if proof.message and f"proof.{proof.name}.message" not in facts:
        lacking = f"without a line '{proof.message}' in the kernel's log"
        other = "something else than the policy may have denied it"
        why = other if proof.denied else "the policy may not have been asked"
        return [f"{what} was {asked} {lacking}: {why}"]
    return []


def _meaning(proof: Proof, said: str) -> str:
    """Say what an access that went wrong means."""
    if proof.denied and said == "allowed":
        return ": the policy is not enforced"
    if said == "denied":
        return ": the policy denies what the measured process needs"
    return ""


def _lsm_problems(setup: Setup, kernel: Kernel, facts: Mapping[str, str]) -> tuple[str, ...]:
    if setup.lsms == ():
        said = facts.get("lsm", "")
        return (f"active LSMs: asked for none, the guest reported '{said}'",) if said else ()
    if "lsm" not in facts:
        return ("the guest could not read the list of active LSMs",)
    active = active_lsms(facts)
    if setup.lsms is None:
        return _default_problems(kernel, active)
    asked = tuple(name for name in setup.lsms if name != INTEGRITY)
    extra = [name for name in ALWAYS_ON if name not in asked]
    chosen = tuple(name for name in active if name not in extra)
    if chosen == asked or _early_lockdown(asked, chosen, kernel):
        return ()
    said = f"asked for '{','.join(asked)}', the guest reported '{','.join(active)}'"
    return (f"active LSMs: {said}{_why_missing(asked, active)}",)


def _early_lockdown(asked: tuple[str, ...], chosen: tuple[str, ...], kernel: Kernel) -> bool:
    """Accept lockdown at the front wherever it was asked for, if the kernel starts it early."""
    if kernel.config.get("SECURITY_LOCKDOWN_LSM_EARLY") != "y" or "lockdown" not in asked:
        return False
    rest = tuple(name for name in asked if name != "lockdown")
    return chosen == ("lockdown", *rest)


def _default_problems(kernel: Kernel, active: tuple[str, ...]) -> tuple[str, ...]:
    """Check the kernel's own stack: every active module must be in CONFIG_LSM, in its order."""
    if not active:
        return ("active LSMs: the kernel's default stack is empty",)
    default = kernel.config.get("LSM")
    if default is None:
        return ()
    order = [name for name in default.split(",") if name]
    listed = [name for name in active if name in order and name not in ALWAYS_ON]
    strangers = [name for name in active if name not in order and name not in ALWAYS_ON]
    if strangers or listed != sorted(listed, key=order.index):
        return (f"active LSMs: CONFIG_LSM is '{default}', the guest reported '{','.join(active)}'",)
    return ()


def _why_missing(asked: tuple[str, ...], active: tuple[str, ...]) -> str:
    missing = [name for name in asked if name not in active]
    if not missing:
        return "; the kernel does not allow this order"
    return (
        f"; not active: {', '.join(missing)} (not in this kernel, or exclusive with a module "
        "that stands before it)"
    )
