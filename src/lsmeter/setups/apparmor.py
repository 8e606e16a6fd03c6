# SPDX-License-Identifier: GPL-2.0-or-later
"""AppArmor: without a profile, with one that complains, and with profiles in force.

The profiles come compiled with the image: compiling one in a guest takes longer than all that is
measured there, and one of ten thousand rules takes minutes. They are compiled for the features
that Debian pins, which every kernel from 5.10 on has, so that the same tables are measured on
each of them.
"""

from __future__ import annotations

from lsmeter.base.errors import UsageError
from lsmeter.model.setup import EnforcementCheck, Expectation, Layer, Setup, Step
from lsmeter.setups import _guest as guest
from lsmeter.setups._definition import HOOKS_ONLY, Choice, Parameter, SetupDefinition, Values

_ENABLED = Expectation("apparmor.enabled", "Y", "the module can be off although it is listed")
_CONTROL = "/sys/kernel/security/apparmor"
_PARAMETERS = (
    Parameter("profiles", "profiles stacked upon each other", 1, (1, 8)),
    Choice(
        "rules",
        "further rules for paths in the first profile",
        "0",
        ("0", "10", "100", "1000", "10000"),
    ),
    Choice(
        "place",
        "further rules for paths apart from those of the suite, or in the same directories",
        "apart",
        ("apart", "near"),
    ),
)
_WRITE = guest.allows("write-public", "write", guest.PUBLIC)
_LOG_THOUSAND = guest.write("/proc/sys/kernel/printk_ratelimit_burst", "1000")
# The image has this one in complain mode, too.
_SAME = "lsmeter-enforce"


def _logged(
    name: str, access: str, path: str, operation: str, *, enforcing: bool
) -> EnforcementCheck:
    check, said = (guest.denies, "DENIED") if enforcing else (guest.allows, "ALLOWED")
    return check(name, access, path, f'apparmor="{said}" operation="{operation}"')


def _loading(profile: str) -> Step:
    file = f"/etc/lsmeter/apparmor/{profile}.bin"
    return guest.load(f"{_CONTROL}/.load", file, title=f"loading the profile {profile}")


def _confined(
    name: str,
    title: str,
    profiles: tuple[str, ...],
    over: str,
    checks: tuple[EnforcementCheck, ...],
    note: str,
    *,
    enforcing: bool,
) -> Setup:
    """Return a setup whose workers are confined by all of `profiles`."""
    # The kernel sorts the profiles of a stack by name.
    label = "//&".join(sorted(profiles))
    mode = "enforce" if enforcing else "complain"
    # Every profile of a stack logs a denial; after ten lines the kernel would drop the others.
    log_all = (_LOG_THOUSAND,) if len(profiles) > 1 else ()
    return Setup(
        name=name,
        title=title,
        lsms=("apparmor",),
        cmdline=("apparmor=1",),
        expect=(
            _ENABLED,
            Expectation("apparmor.profiles", str(len(profiles)), "no other profile is to be there"),
            Expectation("worker.context", f"{label} ({mode})", "every worker must be confined"),
        ),
        needs_config=("SECURITY_APPARMOR",),
        image="policy",
        steps=(guest.WORK, guest.MAKE_PUBLIC, *map(_loading, profiles), *log_all),
        confine=(("/proc/self/attr/apparmor/current", f"changeprofile {label}"),),
        checks=(_logged("read-secret", "read", guest.SECRET, "open", enforcing=enforcing), *checks),
        over=over,
        layer=Layer.POLICY if enforcing else Layer.PERMISSIVE,
        note=note,
    )


def _enforcing(values: Values) -> Setup:
    rules, place, count = values.word("rules"), values.word("place"), values["profiles"]
    if (place, rules) == ("near", "10000"):
        raise UsageError(
            "apparmor-enforcing: the image has no profile of 10000 rules near the suite's paths",
            hint="it takes minutes to compile; at most rules=1000,place=near",
        )
    kind, where = ("near", " in the same directories") if place == "near" else ("rules", "")
    first = _SAME if rules == "0" else f"lsmeter-{kind}-{rules}"
    stacked = (f"lsmeter-stack-{layer}" for layer in range(2, count + 1))
    return _confined(
        name=values.name("apparmor-enforcing"),
        title=f"AppArmor enforcing, profiles: {count}, further rules{where}: {rules}",
        profiles=(first, *stacked),
        over="apparmor-complain" if first == _SAME and count == 1 else "apparmor",
        checks=(
            _logged("create-new", "create", "/srv/lsmeter/new", "mknod", enforcing=True),
            _WRITE,
        ),
        note="only grants are measured: the profile allows all that the suite does",
        enforcing=True,
    )


SETUPS = (
    Setup(
        name="apparmor",
        title="AppArmor without a profile, every task unconfined",
        lsms=("apparmor",),
        cmdline=("apparmor=1",),
        expect=(_ENABLED, Expectation("apparmor.profiles", "0", "this setup measures hooks only")),
        needs_config=("SECURITY_APPARMOR",),
        note=HOOKS_ONLY,
    ),
    _confined(
        name="apparmor-complain",
        title="AppArmor with one profile in complain mode",
        profiles=("lsmeter-complain",),
        over="apparmor",
        checks=(_WRITE,),
        note="the profile allows all that the suite does: nothing is logged",
        enforcing=False,
    ),
    SetupDefinition(_enforcing, _PARAMETERS),
)
