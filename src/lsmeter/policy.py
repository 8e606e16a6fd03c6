# SPDX-License-Identifier: GPL-2.0-or-later
"""The nouns of a policy in a guest: how it gets into force, and how that is proved; no I/O.

A Setup holds them. What each action and access does in the guest is said in probe/steps.h and
probe/proof.h.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

# Besides the actions of probe/steps.h: `work` mounts the file system of the benchmarks at
# WORK_DIRECTORY, `try` makes the accesses of the proofs while no policy is in force, `own` gives a
# file to the user that measures.
ACTIONS = (
    *(
        "run",
        "write",
        "load",
        "file",
        "mkdir",
        "mount",
        "label",
        "visit",
        "enter",
        "key",
        "background",
    ),
    *("work", "try", "own"),
)
ACCESSES = ("read", "write", "create", "execute", "stat", "copy", "chmod", "reread")

# Where the guest mounts the file system of the benchmarks (probe/init.c).
WORK_DIRECTORY = "/data"

# What the proofs of policies try: a file that comes with the image and no policy lets a worker
# read, and one that each lets it use, also behind a Landlock, which grants the work directory.
SECRET = "/srv/lsmeter/secret"  # noqa: S105  (a path in the guest)
PUBLIC = f"{WORK_DIRECTORY}/public"

# What has to be in lsm= for IMA and EVM to work at all before Linux 6.4 (LSM_ORDER_LAST), and is
# never in the list of active modules, because it has no hooks of its own.
INTEGRITY = "integrity"

# Without CONFIG_IMA_WRITE_POLICY the kernel takes one policy in a boot, then this file is gone.
IMA_POLICY = "/sys/kernel/security/ima/policy"


@dataclass(frozen=True)
class Step:
    """One thing that a guest does before anything is measured; one that fails ends the boot.

    title names it where its one-off cost is reported; "" where nobody will ask.
    """

    action: str  # of ACTIONS
    words: tuple[str, ...] = ()
    title: str = ""


@dataclass(frozen=True)
class Proof:
    """An access that the policy must deny, or must allow, made as a worker makes it.

    message is what the kernel's own line on the access must contain, "" where it logs nothing.
    A denied access must have been possible before the policy came into force, which
    shows that it is not file modes that deny it.
    """

    name: str  # read-secret
    access: str  # of ACCESSES
    path: str  # FROM:TO for copy, of which only the second half may be denied
    denied: bool
    message: str = ""


@dataclass(frozen=True)
class SetupFile:
    """A file that the guest finds in /setup: text of the setup's own, an artifact, or a program.

    artifact names a file that belongs to the kernel, such as a policy made from its source;
    program one that was compiled when lsmeter was installed (lsmeter.guest.programs).
    """

    name: str
    text: str = ""
    artifact: str = ""
    base64: str = ""  # in place of text where the content may be no text
    program: str = ""


@dataclass(frozen=True)
class StateFile:
    """A file in the guest that holds numbers by name.

    A setup's states are read before and after each benchmark, its counters also right before and
    after a single operation.
    """

    name: str  # avc
    path: str


@dataclass(frozen=True)
class Image:
    """A root file system for guests: an ext4 that no guest ever writes to."""

    name: str
    file: Path
    sha256: str
    filesystem: str = "ext4"


@dataclass(frozen=True)
class StateReading:
    """The numbers of one state file around one benchmark."""

    benchmark: str
    state: str
    before: tuple[tuple[str, int], ...]
    after: tuple[tuple[str, int], ...]


class Layer(StrEnum):
    """What a setup adds to the one below it: hooking and deciding are told apart by these."""

    HOOKS = "hooks"  # a module in the list that has no policy: its hooks are called and return
    PERMISSIVE = "permissive"  # a policy that decides and refuses nothing
    POLICY = "policy"  # a policy that is enforced
    AUDIT = "audit"
    INTEGRITY = "integrity"


def run(*argv: str, title: str = "") -> Step:
    """Run a program of the guest's image; it must leave with status 0."""
    return Step("run", argv, title)


def write(path: str, text: str, title: str = "") -> Step:
    """Write text to a file that exists, such as one of securityfs, in one call."""
    return Step("write", (path, text), title)


def load(path: str, file: str, title: str = "") -> Step:
    """Write a whole file of the guest into another, in one call."""
    return Step("load", (path, file), title)


def label(path: str, name: str, value: str) -> Step:
    """Set an extended attribute."""
    return Step("label", (path, name, value))


WORK = Step("work")
MAKE_PUBLIC = Step("file", (PUBLIC, "public"))
TRY = Step("try")


def tried(*proofs: Proof) -> Step:
    """Make the accesses of these proofs alone: for setups that stand behind others in a stack."""
    return Step("try", tuple(proof.name for proof in proofs))


def ordered(steps: tuple[Step, ...], proofs: tuple[Proof, ...]) -> tuple[Step, ...]:
    """Return the steps as a guest takes them.

    Every proof is tried once: where a step names it, at a bare TRY, else before all steps.
    """
    named = {word for step in steps if step.action == "try" for word in step.words}
    rest = tuple(proof.name for proof in proofs if proof.name not in named)
    if not rest:
        return tuple(step for step in steps if step != TRY)
    first = Step("try", rest) if named else TRY
    if TRY in steps:
        return tuple(first if step == TRY else step for step in steps)
    return (first, *steps)
