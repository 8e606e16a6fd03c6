# SPDX-License-Identifier: GPL-2.0-or-later
"""Smack with rules, labelled files and workers that have a label of their own.

Smack lets a process with CAP_MAC_OVERRIDE pass. Its list `onlycap` takes that away from all
labels but the ones in it, so that a worker is decided upon although it is root's.
"""

from __future__ import annotations

from lsmeter.model import Expectation, Setup
from lsmeter.policy import (
    MAKE_PUBLIC,
    PUBLIC,
    SECRET,
    TRY,
    WORK,
    WORK_DIRECTORY,
    Layer,
    Proof,
    SetupFile,
    Step,
    label,
    load,
    write,
)
from lsmeter.setup import Choice, Parameter, Values, name_with, with_parameters

_PARAMETERS = (
    Parameter("rules", "further rules of the worker's label", default=0, minimum=0, maximum=10000),
    Choice(
        "found",
        "the kernel finds the rule that the suite needs before the further ones, or after them",
        default="last",
        choices=("first", "last"),
    ),
)
_SMACKFS = "/sys/fs/smackfs"
_LABEL = "security.SMACK64"
_CLOSED = f"{WORK_DIRECTORY}/closed"
# `_` is the label of the guest's first program, which makes the benchmarks' directories.
_NEEDED = (
    "_ Work rwxatl",
    "_ Worker rwx",
    "Worker Work rwxatl",
)
_LABELS = (
    label(SECRET, _LABEL, "Secret"),
    label(_CLOSED, _LABEL, "Secret"),
    label(WORK_DIRECTORY, _LABEL, "Work"),
    # What is made in it has its label, whoever makes it.
    label(WORK_DIRECTORY, "security.SMACK64TRANSMUTE", "TRUE"),
)
_PROOFS = (
    Proof("read-secret", "read", SECRET, denied=True, message="action=denied"),
    Proof("create-new", "create", f"{_CLOSED}/new", denied=True, message="action=denied"),
    Proof("write-public", "write", PUBLIC, denied=False),
)


def _rules(count: int, found: str) -> str:
    further = [f"Worker L{index:05d} rw" for index in range(count)]
    # The kernel puts each new rule of a label before the others.
    rules = [*further, *_NEEDED] if found == "first" else [*_NEEDED, *further]
    return "\n".join(rules) + "\n"


def _steps() -> tuple[Step, ...]:
    return (
        WORK,
        Step("mkdir", (_CLOSED,)),
        TRY,
        *_LABELS,
        load(f"{_SMACKFS}/load2", "/setup/smack-rules", title="loading the rules"),
        MAKE_PUBLIC,
        write(f"{_SMACKFS}/onlycap", "_"),
    )


def _configure(values: Values) -> Setup:
    rules = values["rules"]
    return Setup(
        name=name_with("smack-enforcing", values, _PARAMETERS),
        title=f"Smack with labelled files and rules, further rules: {rules}",
        lsms=("smack",),
        expect=(
            Expectation("smack.rules", str(len(_NEEDED) + rules), "every rule must be there"),
            Expectation("smack.label", "_", "only the workers are to be restricted"),
            Expectation("worker.context", "Worker", "every worker must have the label"),
        ),
        needs_config=("SECURITY_SMACK",),
        image="policy",
        files=(SetupFile("smack-rules", _rules(rules, values.word("found"))),),
        steps=(Step("mount", ("smackfs", _SMACKFS)), *_steps()),
        confine=(("/proc/self/attr/smack/current", "Worker"),),
        proofs=_PROOFS,
        over="smack",
        layer=Layer.POLICY,
        note="no capability overrides the rules (onlycap), so that root is decided upon as well",
    )


SETUP = with_parameters(_PARAMETERS, _configure)
