# SPDX-License-Identifier: GPL-2.0-or-later
"""Smack: with its built-in floor label alone, and with rules, labelled files and workers.

No distribution's cloud kernel has it. It lets a process with CAP_MAC_OVERRIDE pass. Its list
`onlycap` takes that away from all labels but the ones in it, so that a worker's accesses are
checked although it is root's.
"""

from dataclasses import replace

from lsmeter.catalogue.setups import _guest as guest
from lsmeter.catalogue.setups._definition import (
    FOUND,
    HOOKS_ONLY,
    Parameter,
    SetupDefinition,
    Values,
)
from lsmeter.core.model.setup import Expectation, Layer, Setup, SetupFile

_PARAMETERS = (Parameter("rules", "further rules of the worker's label", 0, (0, 10000)), FOUND)
SMACKFS = "/sys/fs/smackfs"
_LABEL = "security.SMACK64"
_CLOSED = f"{guest.WORK_DIRECTORY}/closed"
# `_` is the label of the guest's first program, which makes the benchmarks' directories.
_NEEDED = ("_ Work rwxatl", "_ Worker rwx", "Worker Work rwxatl")
_STEPS = (
    guest.do("mount", "smackfs", SMACKFS),
    guest.WORK,
    guest.do("mkdir", _CLOSED),
    guest.TRY,
    guest.do("label", guest.SECRET, _LABEL, "Secret"),
    guest.do("label", _CLOSED, _LABEL, "Secret"),
    guest.do("label", guest.WORK_DIRECTORY, _LABEL, "Work"),
    # What is made in it has its label, whoever makes it.
    guest.do("label", guest.WORK_DIRECTORY, "security.SMACK64TRANSMUTE", "TRUE"),
    guest.do("load", f"{SMACKFS}/load2", "/setup/smack-rules", title="loading the rules"),
    guest.MAKE_PUBLIC,
    guest.do("write", f"{SMACKFS}/onlycap", "_"),
)
_DENIED = "action=denied"

_SMACK = Setup(
    name="smack",
    title="Smack without rules, everything labelled floor",
    lsms=("smack",),
    expect=(Expectation("smack.rules", "0", "this setup measures hooks only"),),
    needs_config=("SECURITY_SMACK",),
    note=HOOKS_ONLY + "; Smack checks its built-in rules all the same",
)


def _enforcing(values: Values) -> Setup:
    further = [f"Worker L{index:05d} rw" for index in range(values["rules"])]
    # The kernel puts each new rule of a label before the others.
    first = values.word("found") == "first"
    rules = [*further, *_NEEDED] if first else [*_NEEDED, *further]
    return replace(
        _SMACK,
        name=values.name("smack-enforcing"),
        title=f"Smack with labelled files and rules, further rules: {len(further)}",
        expect=(
            Expectation("smack.rules", str(len(rules)), "every rule must be there"),
            Expectation("smack.label", "_", "only the workers are to be restricted"),
            Expectation("worker.context", "Worker", "every worker must have the label"),
        ),
        image="policy",
        files=(SetupFile("smack-rules", "\n".join((*rules, ""))),),
        steps=_STEPS,
        confine=(("/proc/self/attr/smack/current", "Worker"),),
        checks=(
            guest.denies("read-secret", "read", guest.SECRET, _DENIED),
            guest.denies("create-new", "create", f"{_CLOSED}/new", _DENIED),
            guest.allows("write-public", "write", guest.PUBLIC),
        ),
        over="smack",
        layer=Layer.POLICY,
        note="no capability overrides the rules (onlycap): root's accesses are checked as well",
    )


# What setups of labelled networks stand upon.
ENFORCING = _enforcing(Values(_PARAMETERS))

SETUPS = (_SMACK, SetupDefinition(_enforcing, _PARAMETERS))
