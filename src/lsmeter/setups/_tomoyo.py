# SPDX-License-Identifier: GPL-2.0-or-later
"""What TOMOYO's setups with a policy have in common: its text, its coming into force, its domain.

The policy is written through securityfs, as TOMOYO's own loader does. It comes into force when
the program that the kernel's command line names as trigger is started for the first time; the
kernel then starts the program that it names as loader, which here has nothing left to do.
"""

from __future__ import annotations

from lsmeter.model import Expectation, Setup
from lsmeter.policy import (
    MAKE_PUBLIC,
    PUBLIC,
    SECRET,
    WORK,
    Layer,
    Proof,
    SetupFile,
    StateFile,
    load,
    run,
)
from lsmeter.setup import Choice, Parameter, Values, name_with

_CONTROL = "/sys/kernel/security/tomoyo"
_TRIGGER = "/usr/bin/true"
DOMAIN = "<kernel> /lsmeter"

PROFILES = {"disabled": 0, "learning": 1, "permissive": 2, "enforcing": 3}

PARAMETERS = (
    Parameter("rules", "further file rules of the domain", default=0, minimum=0, maximum=10000),
    Choice(
        "found",
        "the rules that the suite needs stand before the further ones, or after them",
        default="last",
        choices=("first", "last"),
    ),
)

# All that the file suite does, and what a worker looks at to report on itself. TOMOYO names
# directories with a slash at their end, and files of systems that cannot rename by system.
NEEDED = (
    r"file read/write/append/unlink/getattr/truncate/symlink /data/\{\*\}/\*",
    r"file read/getattr/rmdir /data/\{\*\}/",
    r"file create/chmod /data/\{\*\}/\* 0-07777",
    r"file mkdir /data/\{\*\}/ 0-07777",
    r"file link/rename /data/\{\*\}/\* /data/\{\*\}/\*",
    r"file read/write/getattr /data/\*",
    r"file read proc:/\{\*\}/\*",
    "file read securityfs:/tomoyo/self_domain",
    r"file read/write /dev/\*",
)

DENIED_PROOFS = (
    Proof(
        "read-secret",
        "read",
        SECRET,
        denied=True,
        message="mode=enforcing granted=no",
    ),
    Proof(
        "create-new", "create", "/srv/lsmeter/new", denied=True, message="mode=enforcing granted=no"
    ),
    Proof("write-public", "write", PUBLIC, denied=False),
)


def allowed_proofs(mode: str) -> tuple[Proof, ...]:
    """Return the proofs of a mode that refuses nothing, and logs what it would refuse."""
    message = f"mode={mode} granted=no"
    return (
        Proof("read-secret", "read", SECRET, denied=False, message=message),
        Proof("write-public", "write", PUBLIC, denied=False),
    )


def profile_text() -> str:
    """Return the four profiles, with the only version that the kernel accepts."""
    lines = ["PROFILE_VERSION=20150505"]
    for mode, number in PROFILES.items():
        lines += [
            f"{number}-COMMENT={mode}",
            f"{number}-PREFERENCE={{ max_audit_log=1024 max_learning_entry=2048 }}",
            f"{number}-CONFIG={{ mode={mode} grant_log=no reject_log=yes }}",
        ]
    return "\n".join(lines) + "\n"


def further_rules(count: int) -> list[str]:
    """Return rules that no benchmark ever meets, as the image's AppArmor profiles have them."""
    rules, number = [], 1
    for index in range(count):
        number = number * 16807 % 2147483647  # Lehmer's generator: names without order
        rules.append(f"file read/write /srv/lsmeter/rules/{number:08x}/{index % 97}")
    return rules


def domain_text(mode: str, needed: tuple[str, ...], further: list[str], found: str) -> str:
    """Return the policy of two domains: the system's, which nothing restricts, and a worker's."""
    rules = [*needed, *further] if found == "first" else [*further, *needed]
    return "\n".join(
        (
            "<kernel>",
            f"use_profile {PROFILES['disabled']}",
            f"task manual_domain_transition {DOMAIN}",
            DOMAIN,
            f"use_profile {PROFILES[mode]}",
            *rules,
            "",
        )
    )


def policy_setup(
    *,
    name: str,
    title: str,
    mode: str,
    values: Values,
    proofs: tuple[Proof, ...],
    note: str,
    needed: tuple[str, ...] = NEEDED,
) -> Setup:
    """Return a setup whose workers are in a domain of their own, in `mode` of PROFILES.

    values are those of PARAMETERS; needed are the rules that the suite needs.
    """
    rules, enforcing = values["rules"], mode == "enforcing"
    expect = [
        Expectation("tomoyo.policy_loaded", "1", "the policy must be in force"),
        Expectation("worker.tomoyo_domain", DOMAIN, "every worker must be in the domain"),
    ]
    if needed:
        # The kernel passes over a line that it does not understand.
        count = str(len(needed) + rules)
        expect.append(Expectation("tomoyo.rules", count, "every rule must have been accepted"))
    return Setup(
        name=name,
        title=title,
        lsms=("tomoyo",),
        cmdline=(f"TOMOYO_trigger={_TRIGGER}", f"TOMOYO_loader={_TRIGGER}"),
        expect=tuple(expect),
        needs_config=("SECURITY_TOMOYO",),
        image="policy",
        files=(
            SetupFile("tomoyo-profile", profile_text()),
            SetupFile(
                "tomoyo-domains",
                domain_text(mode, needed, further_rules(rules), values.word("found")),
            ),
        ),
        steps=(
            WORK,
            MAKE_PUBLIC,
            load(f"{_CONTROL}/profile", "/setup/tomoyo-profile"),
            load(f"{_CONTROL}/domain_policy", "/setup/tomoyo-domains", title="loading the policy"),
            run(_TRIGGER, title="bringing the policy into force"),
        ),
        confine=((f"{_CONTROL}/self_domain", DOMAIN),),
        proofs=proofs,
        states=(StateFile("tomoyo", f"{_CONTROL}/stat"),),
        over=name_with("tomoyo-permissive", values, PARAMETERS) if enforcing else "tomoyo",
        layer=Layer.POLICY if enforcing else Layer.PERMISSIVE,
        note=note,
    )
