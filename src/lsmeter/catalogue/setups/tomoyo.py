# SPDX-License-Identifier: GPL-2.0-or-later
"""TOMOYO: without a policy, and with one in each of its four modes.

The policy is written through securityfs, as TOMOYO's own loader does. It comes into force when
the program that the kernel's command line names as trigger is started for the first time; the
kernel then starts the program that it names as loader, which here has nothing left to do.
"""

from dataclasses import replace
from functools import partial

from lsmeter.catalogue.setups import _guest as guest
from lsmeter.catalogue.setups._definition import (
    FOUND,
    HOOKS_ONLY,
    Choice,
    Parameter,
    SetupDefinition,
    Values,
)
from lsmeter.core.model.setup import (
    EnforcementCheck,
    Expectation,
    Layer,
    Setup,
    SetupFile,
    StateFile,
)

_CONTROL = "/sys/kernel/security/tomoyo"
_TRIGGER = "/usr/bin/true"
_DOMAIN = "<kernel> /lsmeter"
# By the number of their profile: what the title and the note say of each.
_MODES = {
    "disabled": (
        "with a policy in force, disabled",
        "no rule is looked at: only the mode of the worker's domain",
    ),
    "learning": (
        "learning, learned before: {learned}",
        "the rules allow all that the suite does: nothing is left to learn",
    ),
    "permissive": ("permissive", "the rules allow all that the suite does: nothing is logged"),
    "enforcing": ("enforcing", "only grants are measured: the rules allow all that the suite does"),
}
_UNLEARNED = "each new name adds a rule, up to 2048 of them, so that later samples cost more"

_PARAMETERS = (Parameter("rules", "further file rules of the domain", 0, (0, 10000)), FOUND)
_HAS_RULES = "all that the suite does has rules already, or nothing has"
_LEARNED = Choice("learned", _HAS_RULES, "all", ("all", "nothing"))

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

_TOMOYO = Setup(
    name="tomoyo",
    title="TOMOYO without a policy",
    lsms=("tomoyo",),
    expect=(Expectation("tomoyo.policy_loaded", "0", "this setup measures hooks only"),),
    needs_config=("SECURITY_TOMOYO",),
    note=HOOKS_ONLY,
)


def _checks(mode: str) -> tuple[EnforcementCheck, ...]:
    """Return the checks of a mode: all but disabled log what no rule grants."""
    message = "" if mode == "disabled" else f"mode={mode} granted=no"
    refused = guest.denies if mode == "enforcing" else guest.allows
    secret = refused("read-secret", "read", guest.SECRET, message)
    new = refused("create-new", "create", "/srv/lsmeter/new", message)
    public = guest.allows("write-public", "write", guest.PUBLIC)
    return {"disabled": (secret,), "enforcing": (secret, new, public)}.get(mode, (secret, public))


def _profiles() -> str:
    """Return the four profiles, with the only version that the kernel accepts."""
    lines = ["PROFILE_VERSION=20150505"]
    for number, mode in enumerate(_MODES):
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


def _configure(values: Values, *, mode: str) -> Setup:
    """Return a setup whose workers are in a domain of their own, in one of the modes."""
    title, note = _MODES[mode]
    learned = values.settings.get("learned") != "nothing"
    needed = NEEDED if learned else ()
    further = further_rules(values["rules"])
    rules = [*needed, *further] if values.word("found") == "first" else [*further, *needed]
    expect = [
        Expectation("tomoyo.policy_loaded", "1", "the policy must be in force"),
        Expectation("worker.tomoyo_domain", _DOMAIN, "every worker must be in the domain"),
    ]
    if needed:
        # The kernel passes over a line that it does not understand.
        every = Expectation("tomoyo.rules", str(len(rules)), "every rule must have been accepted")
        expect.append(every)
    profile, domains = f"{_CONTROL}/profile", f"{_CONTROL}/domain_policy"
    # The system's domain, which nothing restricts, and a worker's.
    profiles = {name: f"use_profile {number}" for number, name in enumerate(_MODES)}
    system = ("<kernel>", profiles["disabled"], f"task manual_domain_transition {_DOMAIN}")
    policy = "\n".join((*system, _DOMAIN, profiles[mode], *rules, ""))
    enforcing = mode == "enforcing"
    return replace(
        _TOMOYO,
        name=values.name(f"tomoyo-{mode}"),
        title=f"TOMOYO {title.format(**values.settings)}, further rules: {len(further)}",
        cmdline=(f"TOMOYO_trigger={_TRIGGER}", f"TOMOYO_loader={_TRIGGER}"),
        expect=tuple(expect),
        image="policy",
        files=(SetupFile("tomoyo-profile", _profiles()), SetupFile("tomoyo-domains", policy)),
        steps=(
            guest.WORK,
            guest.MAKE_PUBLIC,
            guest.do("load", profile, "/setup/tomoyo-profile"),
            guest.do("load", domains, "/setup/tomoyo-domains", title="loading the policy"),
            guest.do("run", _TRIGGER, title="bringing the policy into force"),
        ),
        confine=((f"{_CONTROL}/self_domain", _DOMAIN),),
        checks=_checks(mode),
        states=(StateFile("tomoyo", f"{_CONTROL}/stat"),),
        over=values.name("tomoyo-permissive") if enforcing else "tomoyo",
        layer=Layer.POLICY if enforcing else Layer.PERMISSIVE,
        note=note if learned else _UNLEARNED,
    )


SETUPS = (
    _TOMOYO,
    *(
        SetupDefinition(
            partial(_configure, mode=mode),
            (*_PARAMETERS, _LEARNED) if mode == "learning" else _PARAMETERS,
        )
        for mode in _MODES
    ),
)
