# SPDX-License-Identifier: GPL-2.0-or-later
"""From what came out of a guest to a Boot: parsed, diagnosed, held against the setup; pure.

The console is untrusted: it is cut, cleaned of control characters, and only ever shown. A guest
that is not what its setup asked for loses its numbers: they would be those of another setup.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from lsmeter.core.model import BenchmarkStatus, Boot, BootId, BootStatus, Cell, Kernel, Setup
from lsmeter.core.model.setup import INTEGRITY, EnforcementCheck
from lsmeter.core.printable import printable
from lsmeter.guest.boot_image import make_request
from lsmeter.guest.capture import Capture, Ending
from lsmeter.guest.request import Request
from lsmeter.guest.session import Session, parse_session
from lsmeter.measure.tasks import find_task

Lines = tuple[str, ...]  # of a console, clean

# Raised whenever the same bytes are read as something else: stored boots are then read again.
PARSER = 4
TAIL_LINES = 20
LINE_CHARS = 200
_SEARCH_BYTES = 4 << 20
_FACT_CHARS = 1000  # the probe reads 1,023 bytes of a command line

_DAMAGE = {
    BootStatus.OOPS: re.compile(
        r"(?:\] |^)(BUG: .*|Oops: .*|general protection fault.*|invalid opcode: .*|"
        r"stack segment: .*|double fault: .*|divide error: .*|kernel BUG at .*)"
    ),
    BootStatus.PANIC: re.compile(r"Kernel panic - not syncing: ?(.*)"),
}
_STAMP = re.compile(r"^\[ *\d+\.\d+\](?:\[[^\]]{1,12}\])? ")

# Active whatever `lsm=` says: capability always; lockdown where it starts early (Debian); the
# IMA and EVM have hooks of their own, and are in the list, since Linux 6.9.
ALWAYS_ON = ("capability", "lockdown", "ima", "evm", "integrity")
# What an access means that was this, and must not be.
_MEANINGS = {
    "allowed": ": the policy is not enforced",
    "denied": ": the policy denies what the measured process needs",
}


def conclude(
    asked: BootId,
    cell: Cell,
    command: Sequence[str],
    capture: Capture,
    kept: Request | None = None,
) -> Boot:
    """Parse, diagnose and verify one boot of `cell`, whose guests are started by `command`.

    kept is what a stored boot was asked for: what would be asked today may be something else.
    """
    request, task = kept or make_request(cell, asked.seed), find_task(cell.task.name)
    session = parse_session(capture.complete_lines, request)
    lines = clean_lines(capture.console)
    status, detail = diagnose(lines, session, capture)
    facts = {**dict(session.facts), **capture.facts}
    if status.usable and (others := contradictions(request, cell.kernel, command, facts)):
        status, detail = BootStatus.CONTRADICTION, "; ".join(others)
    elif status.usable and (
        mismatches := (*verify(cell.setup, cell.kernel, facts), *task.verify(cell, facts))
    ):
        status, detail = BootStatus.WRONG_SETUP, "; ".join(mismatches)
    boot = Boot(
        **vars(asked),
        status=status,
        facts=tuple(sorted(facts.items())),
        detail=printable(detail),
        console_tail=() if status is BootStatus.OK else tail(lines),
        wall_s=round(capture.wall_s, 3),
    )
    if not status.usable:
        return boot
    samples = tuple(task.judge(cell, item) for item in session.samples)
    samples = task.derive(cell, capture.outputs, samples)
    return replace(boot, samples=samples, states=session.states, counts=session.counts)


def diagnose(lines: Lines, session: Session, capture: Capture) -> tuple[BootStatus, str]:
    """Return how a boot ended, and one line that says why ("" when it is ok).

    A damaged kernel counts before all else, then damaged results, then how QEMU ended. What
    ended badly, or was ended, after some benchmark had finished is PARTIAL, unless it is garbage
    or a contradiction: then nothing of the boot can be trusted.
    """
    status, detail = (
        kernel_damage(lines) or _outside(session, capture) or _ended(lines, session, capture)
    )
    kept = any(samples.status is BenchmarkStatus.OK for samples in session.samples)
    bad = {BootStatus.GARBAGE, BootStatus.CONTRADICTION}
    if kept and status not in {BootStatus.OK, *bad}:
        return BootStatus.PARTIAL, f"{status.value}: {detail}"
    return status, detail


def clean_lines(console: bytes) -> Lines:
    """Split a console into lines with neither control characters nor escape sequences."""
    text = console[-_SEARCH_BYTES:].decode("utf-8", "replace")
    text = re.sub(r"\x1b(?:\[[0-9;?]{0,20}[A-Za-z]|.)", "", text)
    cleaned = (
        "".join(c if c.isprintable() else "?" for c in line.strip("\r")[:LINE_CHARS])
        for line in text.split("\n")
    )
    return tuple(line for line in cleaned if line.strip())


def tail(lines: Lines) -> Lines:
    """Return the most telling lines: those from the first damage on, else the last ones."""
    damage = (number for number, line in enumerate(lines) if kernel_damage((line,)))
    return lines[next(damage, -TAIL_LINES) :][:TAIL_LINES]


def kernel_damage(lines: Lines) -> tuple[BootStatus, str] | None:
    """Return whether the kernel oopsed or panicked, with its own message.

    An oops that ends in a panic is an oops: the oops names the cause.
    """
    for status, form in _DAMAGE.items():
        for found in filter(None, map(form.search, lines)):
            return status, found[1].strip() or "no reason was given"
    return None


def _outside(session: Session, capture: Capture) -> tuple[BootStatus, str] | None:
    """Return what is wrong with the results, or why the guest was killed."""
    if capture.ending is Ending.FLOODED:
        size = f"{len(capture.results)} bytes of results, {len(capture.console)} of console"
        errors = f"{len(capture.stderr)} of errors"
        return BootStatus.GARBAGE, f"its output exceeds the limit: {size}, {errors}"
    if session.contradiction:
        return BootStatus.CONTRADICTION, session.contradiction
    if session.garbage:
        more = f" (and {len(session.garbage) - 1} more)" if len(session.garbage) > 1 else ""
        return BootStatus.GARBAGE, f"the result channel: {session.garbage[0]}{more}"
    if capture.ending is Ending.EXITED:
        return None
    if capture.ending is Ending.LOST:
        return BootStatus.INFRASTRUCTURE, _last_words(capture) or "the connection was lost"
    how = "no output for too long" if capture.ending is Ending.SILENT else "deadline exceeded"
    where = f" {_where('in', session)}" if session.greeted else "; the probe never started"
    longer = f"ended after {capture.wall_s:.0f} s; --boot-deadline SECONDS gives it longer"
    return BootStatus.HANG, f"{how}{where}; {longer}"


def _ended(lines: Lines, session: Session, capture: Capture) -> tuple[BootStatus, str]:
    if session.errors:
        return BootStatus.EARLY_EXIT, f"probe error: {session.errors[0]}"
    if session.complete:
        return BootStatus.OK, ""
    said = f": {words}" if (words := _last_words(capture)) else ""
    if capture.exit_code:
        return BootStatus.INFRASTRUCTURE, f"{_ended_qemu(capture.exit_code)}{said}"
    if session.greeted:
        return BootStatus.EARLY_EXIT, f"the guest ended {_where('before the end of', session)}"
    if not any(_STAMP.match(line) for line in lines):
        said = f" QEMU's last words{said}" if said else ""
        return BootStatus.EARLY_EXIT, f"no kernel output: is the image a Linux kernel?{said}"
    last = f"last kernel message: {_STAMP.sub('', lines[-1])}"
    return BootStatus.EARLY_EXIT, f"the guest ended before the probe started; {last}"


def _last_words(capture: Capture) -> str:
    """Return the last complaint of what ran the guest: advice may follow it."""
    lines = clean_lines(capture.stderr.encode())
    return "".join([line for line in lines if line.startswith("qemu")][-1:] or lines[-1:])


def _ended_qemu(code: int) -> str:
    """Say how QEMU ended: by itself, or killed by somebody else."""
    if code >= 0:
        return f"QEMU ended with status {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    memory = " (out of memory? see dmesg)" if name == "SIGKILL" else ""
    return f"QEMU was killed by {name}, not by lsmeter{memory}"


def _where(inside: str, session: Session) -> str:
    return f"{inside} {session.unfinished!r}" if session.unfinished else "after the last benchmark"


def contradictions(
    request: Request, kernel: Kernel, command: Sequence[str], facts: Mapping[str, str]
) -> tuple[str, ...]:
    """Return one line for each fact that is another than what was booted, and asked for."""
    expected = {
        "filesystem": request.filesystem,
        "worker.uid": _user(request, kernel, facts),
        "kernel.cmdline": dict(pairwise(command)).get("-append", ""),
        "kernel.release": kernel.release if kernel.release[:1].isdigit() else "",
        "copies": str(request.copies or ""),
    }
    if kernel.runs and request.clients:  # the services' own, of which nothing was asked
        del expected["filesystem"], expected["worker.uid"]
    said = facts.get("kernel.cmdline", "")
    if kernel.config.get("CMDLINE_BOOL") == "y" and said.endswith(expected["kernel.cmdline"]):
        del expected["kernel.cmdline"]  # parameters of the kernel's own stand before it
    return tuple(
        f"{fact}: asked for '{value}', the guest reported '{facts.get(fact, '')[:_FACT_CHARS]}'"
        for fact, value in expected.items()
        if value and facts.get(fact, "")[:_FACT_CHARS] != value[:_FACT_CHARS]
    )


def _user(request: Request, kernel: Kernel, facts: Mapping[str, str]) -> str:
    """Return the number of the user that was asked for: any but root's on a machine as it runs."""
    said = facts.get("worker.uid", "")
    if request.user == "root":
        return "0"
    return said if kernel.runs and said.isdecimal() and said != "0" else "1000"


def active_lsms(facts: Mapping[str, str]) -> tuple[str, ...]:
    """Return the modules that the guest reported, in order; empty without securityfs."""
    return tuple(name for name in facts.get("lsm", "").split(",") if name)


def verify(setup: Setup, kernel: Kernel, facts: Mapping[str, str]) -> tuple[str, ...]:
    """Return one line for each way in which the guest is not what `setup` asked for."""
    problems = list(filter(None, [_lsm_problem(setup, kernel, facts)]))
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


def _lsm_problem(setup: Setup, kernel: Kernel, facts: Mapping[str, str]) -> str:
    if kernel.runs:
        return ""  # it was asked for none: what it has is named by its facts
    active = active_lsms(facts)
    said = f"the guest reported '{','.join(active)}'"
    if setup.lsms == ():
        return f"active LSMs: asked for none, {said}" if active else ""
    if "lsm" not in facts:
        return "the guest could not read the list of active LSMs"
    if setup.lsms is None:
        return _default_problem(kernel, active, said)
    lacking = setup.lacking_lsms(kernel.config)
    asked = tuple(name for name in setup.lsms if name != INTEGRITY and name not in lacking)
    chosen = tuple(name for name in active if name in asked or name not in ALWAYS_ON)
    early = kernel.config.get("SECURITY_LOCKDOWN_LSM_EARLY") == "y" and "lockdown" in asked
    # A kernel that starts lockdown early has it at the front, wherever it was asked for.
    first = ("lockdown", *(name for name in asked if name != "lockdown")) if early else asked
    if chosen in {asked, first}:
        return ""
    missing = ", ".join(name for name in asked if name not in active)
    why = (
        f"not active: {missing} (not in this kernel, or exclusive with a module that stands "
        "before it)"
        if missing
        else "the kernel does not allow this order"
    )
    return f"active LSMs: asked for '{','.join(asked)}', {said}; {why}"


def _default_problem(kernel: Kernel, active: tuple[str, ...], said: str) -> str:
    """Check the kernel's own stack: every active module must be in CONFIG_LSM, in its order."""
    default = kernel.config.get("LSM")
    chosen = [name for name in active if name not in ALWAYS_ON]
    if not active:
        return "active LSMs: the kernel's default stack is empty"
    if default is None or chosen == [name for name in default.split(",") if name in chosen]:
        return ""
    return f"active LSMs: CONFIG_LSM is '{default}', {said}"
