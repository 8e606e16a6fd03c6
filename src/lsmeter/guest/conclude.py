# SPDX-License-Identifier: GPL-2.0-or-later
"""From what came out of a guest to a Boot: parsed, diagnosed, held against the setup; pure.

The console is untrusted: it is cut, cleaned of control characters, and only ever shown. A guest
that is not what its setup asked for loses its numbers: they would be those of another setup.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from lsmeter.guest.capture import Capture, Ending
from lsmeter.guest.session import Session, parse_session
from lsmeter.model import BenchmarkStatus, Boot, BootStatus, Kernel, Setup
from lsmeter.model.setup import INTEGRITY, EnforcementCheck

# Raised whenever the same bytes are read as something else: stored boots are then read again.
PARSER = 1
TAIL_LINES = 20
LINE_CHARS = 200
_SEARCH_BYTES = 4 << 20

_PANIC = re.compile(r"Kernel panic - not syncing: ?(.*)")
_OOPS = re.compile(
    r"(?:\] |^)(BUG: .*|Oops: .*|general protection fault.*|invalid opcode: .*|"
    r"stack segment: .*|double fault: .*|divide error: .*|kernel BUG at .*)"
)
_STAMP = re.compile(r"^\[ *\d+\.\d+\](?:\[[^\]]{1,12}\])? ")
_LOOKS_LIKE_LINUX = re.compile(r"^\[ *\d+\.\d+\]", re.MULTILINE)

# Active whatever `lsm=` says: capability always; lockdown where it starts early (Debian); the
# IMA and EVM have hooks of their own, and are in the list, since Linux 6.9.
ALWAYS_ON = ("capability", "lockdown", "ima", "evm", "integrity")
# What an access means that was this, and must not be.
_MEANINGS = {
    "allowed": ": the policy is not enforced",
    "denied": ": the policy denies what the measured process needs",
}


def conclude(
    asked: Boot, setup: Setup, kernel: Kernel, benchmarks: tuple[str, ...], capture: Capture
) -> Boot:
    """Parse, diagnose and verify one boot; asked has the cell's hash, the index and the seed."""
    session = parse_session(capture.complete_lines, benchmarks)
    found = diagnose(capture, session)
    boot = replace(
        asked,
        status=found.status,
        facts=session.facts,
        detail=found.detail,
        console_tail=found.tail,
        wall_s=round(capture.wall_s, 3),
        idle=session.idle,
    )
    if not found.status.usable:
        return boot
    mismatches = verify(setup, kernel, dict(session.facts))
    if mismatches:
        return replace(
            boot,
            status=BootStatus.WRONG_SETUP,
            detail="; ".join(mismatches),
            console_tail=tail(clean_lines(capture.console)),
        )
    return replace(boot, samples=session.samples, states=session.states, counts=session.counts)


@dataclass(frozen=True)
class Diagnosis:
    """How a boot ended: its status, one line that says why ("" when it is ok), the last lines."""

    status: BootStatus
    detail: str
    tail: tuple[str, ...]


def diagnose(capture: Capture, session: Session) -> Diagnosis:
    """Tell the ways apart in which a boot can end.

    A damaged kernel counts before all else, then damaged results, then how QEMU ended. What
    ended badly, or was ended, after some benchmark had finished is PARTIAL, unless it is garbage:
    then nothing of the boot can be trusted.
    """
    lines = clean_lines(capture.console)
    status, detail = (
        kernel_damage(lines) or _outside(session, capture.ending) or _ended(lines, session, capture)
    )
    kept = any(samples.status is BenchmarkStatus.OK for samples in session.samples)
    if kept and status not in {BootStatus.OK, BootStatus.GARBAGE}:
        status, detail = BootStatus.PARTIAL, f"{status.value}: {detail}"
    return Diagnosis(status, detail, tail(lines) if status is not BootStatus.OK else ())


def clean_lines(console: bytes) -> tuple[str, ...]:
    """Split a console into lines with neither control characters nor escape sequences."""
    text = console[-_SEARCH_BYTES:].decode("utf-8", "replace")
    text = re.sub(r"\x1b(?:\[[0-9;?]{0,20}[A-Za-z]|.)", "", text)
    lines = re.split(r"\r*\n", text)
    cleaned = (
        "".join(c if c.isprintable() else "?" for c in line.strip("\r")[:LINE_CHARS])
        for line in lines
    )
    return tuple(line for line in cleaned if line.strip())


def tail(lines: tuple[str, ...], count: int = TAIL_LINES) -> tuple[str, ...]:
    """Return the most telling lines: those from the first damage on, else the last ones."""
    for number, line in enumerate(lines):
        if _PANIC.search(line) or _OOPS.search(line):
            return lines[number : number + count]
    return lines[-count:]


def kernel_damage(lines: tuple[str, ...]) -> tuple[BootStatus, str] | None:
    """Return whether the kernel oopsed or panicked, with its own message.

    An oops that ends in a panic is an oops: the oops names the cause.
    """
    panic: str | None = None
    for line in lines:
        oops = _OOPS.search(line)
        if oops is not None:
            return BootStatus.OOPS, oops[1].strip()
        found = _PANIC.search(line)
        if found is not None and panic is None:
            panic = found[1].strip() or "no reason was given"
    return None if panic is None else (BootStatus.PANIC, panic)


def _outside(session: Session, ending: Ending) -> tuple[BootStatus, str] | None:
    """Return what is wrong with the results, or why the guest was killed."""
    if ending is Ending.FLOODED:
        return BootStatus.GARBAGE, "its output exceeds the limit"
    if session.garbage:
        more = f" (and {len(session.garbage) - 1} more)" if len(session.garbage) > 1 else ""
        return BootStatus.GARBAGE, f"the result channel: {session.garbage[0]}{more}"
    if ending is Ending.STOPPED:
        return BootStatus.INFRASTRUCTURE, "stopped by the user"
    if ending is Ending.EXITED:
        return None
    how = "no output for too long" if ending is Ending.SILENT else "deadline exceeded"
    if not session.greeted:
        return BootStatus.HANG, f"{how}; the probe never started"
    running = _unfinished(session)
    return BootStatus.HANG, f"{how} {f'in {running!r}' if running else 'after the last benchmark'}"


def _ended(lines: tuple[str, ...], session: Session, capture: Capture) -> tuple[BootStatus, str]:
    if session.errors:
        return BootStatus.EARLY_EXIT, f"probe error: {session.errors[0]}"
    if session.complete:
        return BootStatus.OK, ""
    if capture.exit_code:
        said = clean_lines(capture.stderr.encode())
        reason = f": {said[-1]}" if said else ""
        return BootStatus.INFRASTRUCTURE, f"QEMU ended with status {capture.exit_code}{reason}"
    if session.greeted:
        running = _unfinished(session)
        where = f"before the end of {running!r}" if running else "after the last benchmark"
        return BootStatus.EARLY_EXIT, f"the guest ended {where}"
    if not any(_LOOKS_LIKE_LINUX.match(line) for line in lines):
        return BootStatus.EARLY_EXIT, "no kernel output: is the image a Linux kernel?"
    last = f"last kernel message: {_STAMP.sub('', lines[-1])}"
    return BootStatus.EARLY_EXIT, f"the guest ended before the probe started; {last}"


def _unfinished(session: Session) -> str:
    """Return the benchmark that was running, else the first that was not reached."""
    missing = (
        samples.benchmark
        for samples in session.samples
        if samples.status is BenchmarkStatus.CRASHED and samples.detail.startswith("the guest")
    )
    return session.running or next(missing, "")


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
    for check in setup.checks:
        problems += check_problems(check, facts)
    return tuple(problems)


def check_problems(check: EnforcementCheck, facts: Mapping[str, str]) -> list[str]:
    """Return how the guest fails to show that the policy denies, or allows, one access."""
    what = f"enforcement check {check.name} failed: {check.access} {check.path}"
    fact = f"proof.{check.name}"
    said = facts.get(fact)
    asked = "denied" if check.denied else "allowed"
    if said is None:
        return [f"{what} must be {asked}, and was not tried"]
    if said != asked:
        error = facts.get(f"{fact}.errno", "0")
        shown = "" if error == "0" else f" ({error[:20]})"
        return [f"{what} must be {asked}, and was {said[:20]}{shown}{_MEANINGS.get(said, '')}"]
    before = facts.get(f"{fact}.before", "allowed")
    if check.denied and before != "allowed":
        return [f"{what} was {before[:20]} before there was a policy: this shows nothing"]
    if check.message and f"{fact}.message" not in facts:
        lacking = f"without a line '{check.message}' in the kernel's log"
        other = "something else than the policy may have denied it"
        why = other if check.denied else "the policy may not have been consulted"
        return [f"{what} was {asked} {lacking}: {why}"]
    return []


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
