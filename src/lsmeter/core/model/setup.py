# SPDX-License-Identifier: GPL-2.0-or-later
"""Security configurations of a kernel, and how a policy is put in force and checked in a guest.

What each action and access does in the guest: probe/init/steps.h, probe/policy/enforcement.h.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

# Besides the actions of probe/init/steps.h: `work` mounts the file system of the benchmarks, `try`
# makes the accesses of the enforcement checks while no policy is in force, `own` gives a file to
# the user that measures.
ACTIONS = (
    *("run", "write", "load", "file", "mkdir", "mount", "label", "visit", "enter", "key"),
    *("background", "work", "try", "own", "network", "cipso", "calipso"),
    *("secmark", "ipsec"),
)
ACCESSES = ("read", "write", "create", "execute", "stat", "copy", "chmod", "reread")

# What has to be in lsm= for IMA and EVM to work at all before Linux 6.4 (LSM_ORDER_LAST), and is
# never in the list of active modules, because it has no hooks of its own.
INTEGRITY = "integrity"
# The option that brings a module (security/*/Kconfig, Linux 7.2).
LSM_OPTIONS = {
    "apparmor": "SECURITY_APPARMOR",
    "bpf": "BPF_LSM",
    "ipe": "SECURITY_IPE",
    "landlock": "SECURITY_LANDLOCK",
    "loadpin": "SECURITY_LOADPIN",
    "lockdown": "SECURITY_LOCKDOWN_LSM",
    "safesetid": "SECURITY_SAFESETID",
    "selinux": "SECURITY_SELINUX",
    "smack": "SECURITY_SMACK",
    "tomoyo": "SECURITY_TOMOYO",
    "yama": "SECURITY_YAMA",
}


@dataclass(frozen=True)
class Step:
    """One thing that a guest does before anything is measured; one that fails ends the boot.

    title names it where its one-off cost is reported; "" where it is not.
    """

    action: str  # of ACTIONS
    words: tuple[str, ...] = ()
    title: str = ""


TRY = Step("try")


@dataclass(frozen=True)
class EnforcementCheck:
    """An access that the policy must deny, or must allow, made as a worker makes it.

    A denied access must have been possible before the policy came into force, which
    shows that it is not file modes that deny it.
    """

    name: str  # read-secret
    access: str  # of ACCESSES
    path: str  # FROM:TO for copy, of which only the second half may be denied
    denied: bool
    message: str = ""  # what the kernel's own line on the access contains; "": it logs nothing


@dataclass(frozen=True)
class SetupFile:
    """A file that the guest finds in /setup: text of the setup's own, an artifact, or a program."""

    name: str
    text: str = ""
    artifact: str = ""  # made with the kernel, such as a policy from its source
    base64: str = ""  # in place of text where the content may be no text
    program: str = ""  # compiled when lsmeter was installed (lsmeter.guest.probe)


@dataclass(frozen=True)
class StateFile:
    """A file in the guest that holds numbers by name."""

    name: str  # avc
    path: str


class Layer(StrEnum):
    """What a setup adds to the one below it: these tell hook overhead from policy evaluation."""

    HOOKS = "hooks"  # a module in the list that has no policy: its hooks are called and return
    PERMISSIVE = "permissive"  # a policy that is evaluated and denies nothing
    POLICY = "policy"  # a policy that is enforced
    AUDIT = "audit"
    INTEGRITY = "integrity"
    NETWORK = "network"  # labels of packets, where the one below it has a policy


@dataclass(frozen=True)
class Expectation:
    """A fact that the guest must report for the setup to count as verified."""

    fact: str  # selinux.enforce
    value: str  # 0
    why: str  # no policy may be enforced: this setup measures hooks only


@dataclass(frozen=True)
class Setup:
    """One security configuration of a kernel.

    over and layer say what its cost consists of: selinux-enforcing is the policy over selinux,
    which is the hooks over capability.
    """

    name: str  # canonical: selinux+bpf, landlock:layers=2,rules=8
    title: str
    # In the order of lsm=. None: the kernel's own default; empty: a kernel with CONFIG_SECURITY=n.
    lsms: tuple[str, ...] | None
    cmdline: tuple[str, ...] = ()
    expect: tuple[Expectation, ...] = ()
    guest: tuple[tuple[str, str], ...] = ()  # what the probe does to itself: landlock.layers, 2
    needs_config: tuple[str, ...] = ()  # kernel options without which it cannot work
    modules: tuple[str, ...] = ()  # of the kernel, where it has them as modules
    image: str = ""  # the root file system that the guest needs, "" for none
    files: tuple[SetupFile, ...] = ()
    steps: tuple[Step, ...] = ()  # bring the policy into force
    confine: tuple[tuple[str, str], ...] = ()  # path and text by which a worker enters its domain
    checks: tuple[EnforcementCheck, ...] = ()
    states: tuple[StateFile, ...] = ()  # read before and after each benchmark
    counters: tuple[StateFile, ...] = ()  # read around a single operation as well
    before: tuple[Step, ...] = ()  # before each single reading
    reads: tuple[tuple[str, str], ...] = ()  # further facts: name, and the guest's file
    # What it puts services under: module, and enforcing or permissive.
    policies: tuple[tuple[str, str], ...] = ()
    # Its rules are about every process: its checks prove them for services, which need no domain.
    all_processes: bool = False
    over: str = "capability"  # the setup to which this one adds something; "" for none
    layer: Layer | None = Layer.HOOKS  # what it adds
    # A machine can be under it as it runs: it needs nothing of the boot.
    live: bool = False
    partial: bool = False  # modules that the kernel was built without are left out, and named
    every_call: bool = False  # it adds to each system call, those of controls included
    # Files of such a machine and what they are to hold, for the length of each block.
    host: tuple[tuple[str, str], ...] = ()
    # AppArmor's profiles that it is given for as long: name and text.
    profiles: tuple[tuple[str, str], ...] = ()
    note: str = ""  # what a reader must know: e.g. "no policy loaded: hook overhead only"

    def lacking_lsms(self, config: Mapping[str, str]) -> tuple[str, ...]:
        """Return the modules that a partial setup goes without on a kernel of this configuration.

        A configuration that is not known lacks none.
        """
        if not self.partial or not config:
            return ()
        asked = (name for name in self.lsms or () if name in LSM_OPTIONS)
        return tuple(name for name in asked if config.get(LSM_OPTIONS[name]) != "y")

    def differs(self, other: Setup) -> tuple[str, ...]:
        """Name what a guest does differently under another setup; what only checks it is apart."""
        names = (
            *("lsms", "cmdline", "guest", "image", "files", "confine", "steps", "before", "host"),
            "profiles",
        )
        one, two = (
            replace(
                item,
                steps=tuple(replace(step, title="") for step in item.steps),
                before=tuple(replace(step, title="") for step in item.before),
            )
            for item in (self, other)
        )
        return tuple(name for name in names if getattr(one, name) != getattr(two, name))


_AGAIN = " again"


def again(baseline: Setup) -> Setup:
    """Return a baseline under another name: what differs between the two is noise (A/A control)."""
    return replace(
        baseline,
        name=f"{baseline.name}{_AGAIN}",
        title=f"{baseline.name} a second time: what differs is noise",
        over=baseline.name,
        layer=None,
        note="",
    )


def is_again(setup: str, baseline: str) -> bool:
    """Say whether a setup is the baseline under its other name."""
    return setup == f"{baseline}{_AGAIN}"


@dataclass(frozen=True)
class Link:
    """What a setup adds to the one below it; over is "" where there is none."""

    setup: str
    over: str
    adds: tuple[Layer, ...]


def ordered(steps: tuple[Step, ...], checks: tuple[EnforcementCheck, ...]) -> tuple[Step, ...]:
    """Return the steps as a guest takes them.

    Every check is tried once: where a step names it, at a bare TRY, else before all steps.
    """
    named = {word for step in steps if step.action == "try" for word in step.words}
    rest = tuple(check.name for check in checks if check.name not in named)
    if not rest:
        return tuple(step for step in steps if step != TRY)
    first = Step("try", rest) if named else TRY
    if TRY in steps:
        return tuple(first if step == TRY else step for step in steps)
    return (first, *steps)


def make_links(setups: Iterable[Setup], find: Callable[[str], Setup | None]) -> tuple[Link, ...]:
    """Return a link for each setup and for each that lies below one of them.

    find returns the setup that a name stands for, None where nothing knows it.
    """
    found: dict[str, Link] = {}
    for setup in setups:
        here: Setup | None = setup
        while here is not None and here.name not in found:
            below = find(here.over) if here.over else None
            over = below.name if below is not None else here.over
            found[here.name] = Link(here.name, over, _adds(here, find))
            here = below
    return tuple(found.values())


def _adds(setup: Setup, find: Callable[[str], Setup | None]) -> tuple[Layer, ...]:
    """Name the layers that a setup adds.

    A stack adds all of its last module: `yama+selinux-enforcing` has the hooks of SELinux as
    well, which `yama` has not. Audit and integrity come without a module.
    """
    if setup.layer is None:
        return ()
    last = setup.name.rpartition("+")[2]
    if last == setup.name or setup.layer in (Layer.AUDIT, Layer.INTEGRITY):
        return (setup.layer,)
    alone: dict[str, Setup] = {}
    below = find(last)
    while below is not None and below.name not in alone and below.name != "capability":
        alone[below.name] = below
        below = find(below.over) if below.over else None
    adds = (item.layer for item in reversed(alone.values()) if item.layer is not None)
    return tuple(dict.fromkeys(adds)) or (setup.layer,)
