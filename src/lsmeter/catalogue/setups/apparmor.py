# SPDX-License-Identifier: GPL-2.0-or-later
"""AppArmor: without a profile, with one that complains, and with profiles in force.

The profiles come compiled with the image: compiling one in a guest takes longer than all that is
measured there, and one of ten thousand rules takes minutes. They are compiled for the features
that Debian pins, which every kernel from 5.10 on has, so that the same tables are measured on
each of them.
"""

from dataclasses import replace

from lsmeter.catalogue.setups import _guest as guest
from lsmeter.catalogue.setups._definition import (
    HOOKS_ONLY,
    Choice,
    Parameter,
    SetupDefinition,
    Values,
)
from lsmeter.core.errors import UsageError
from lsmeter.core.model.setup import Expectation, Layer, Setup, Step

_ENABLED = Expectation("apparmor.enabled", "Y", "the module can be off although it is listed")
_CONTROL = "/sys/kernel/security/apparmor"
_RULES = ("0", "10", "100", "1000", "10000")
_PLACE = "further rules for paths apart from those of the suite, or in the same directories"
_PARAMETERS = (
    Parameter("profiles", "profiles stacked upon each other", 1, (1, 8)),
    Choice("rules", "further rules for paths in the first profile", "0", _RULES),
    Choice("place", _PLACE, "apart", ("apart", "near")),
)
_WRITE = guest.allows("write-public", "write", guest.PUBLIC)
_LOG_THOUSAND = guest.do("write", "/proc/sys/kernel/printk_ratelimit_burst", "1000")

_APPARMOR = Setup(
    name="apparmor",
    title="AppArmor without a profile, every task unconfined",
    lsms=("apparmor",),
    cmdline=("apparmor=1",),
    expect=(_ENABLED, Expectation("apparmor.profiles", "0", "this setup measures hooks only")),
    needs_config=("SECURITY_APPARMOR",),
    note=HOOKS_ONLY,
)


def _loading(profile: str) -> Step:
    file = f"/etc/lsmeter/apparmor/{profile}.bin"
    return guest.do("load", f"{_CONTROL}/.load", file, title=f"loading the profile {profile}")


def _confined(profiles: tuple[str, ...], mode: str) -> Setup:
    """Return what setups whose workers are confined by all of `profiles` have in common."""
    # The kernel sorts the profiles of a stack by name.
    label = "//&".join(sorted(profiles))
    # Every profile of a stack logs a denial; after ten lines the kernel would drop the others.
    log_all = (_LOG_THOUSAND,) if len(profiles) > 1 else ()
    return replace(
        _APPARMOR,
        expect=(
            _ENABLED,
            Expectation("apparmor.profiles", str(len(profiles)), "no other profile is to be there"),
            Expectation("worker.context", f"{label} ({mode})", "every worker must be confined"),
        ),
        image="policy",
        steps=(guest.WORK, guest.MAKE_PUBLIC, *map(_loading, profiles), *log_all),
        confine=(("/proc/self/attr/apparmor/current", f"changeprofile {label}"),),
        policies=(("apparmor", "enforcing" if mode == "enforce" else "permissive"),),
        over="apparmor",
    )


def _enforcing(values: Values) -> Setup:
    rules, place, count = values.word("rules"), values.word("place"), values["profiles"]
    if (place, rules) == ("near", "10000"):
        raise UsageError(
            "apparmor-enforcing: the image has no profile of 10000 rules near the suite's paths",
            hint="it takes minutes to compile; at most rules=1000,place=near",
        )
    kind, where = ("near", " in the same directories") if place == "near" else ("rules", "")
    first = "lsmeter-enforce" if rules == "0" else f"lsmeter-{kind}-{rules}"
    stacked = (f"lsmeter-stack-{layer}" for layer in range(2, count + 1))
    message = 'apparmor="DENIED" operation="{}"'
    return replace(
        _confined((first, *stacked), "enforce"),
        name=values.name("apparmor-enforcing"),
        title=f"AppArmor enforcing, profiles: {count}, further rules{where}: {rules}",
        checks=(
            guest.denies("read-secret", "read", guest.SECRET, message.format("open")),
            guest.denies("create-new", "create", "/srv/lsmeter/new", message.format("mknod")),
            _WRITE,
        ),
        # The image has the plain profile in complain mode, too.
        over="apparmor-complain" if rules == "0" and count == 1 else "apparmor",
        layer=Layer.POLICY,
        note="only grants are measured: the profile allows all that the suite does",
    )


_ALLOWED = 'apparmor="ALLOWED" operation="open"'
SETUPS = (
    _APPARMOR,
    replace(
        _confined(("lsmeter-complain",), "complain"),
        name="apparmor-complain",
        title="AppArmor with one profile in complain mode",
        checks=(guest.allows("read-secret", "read", guest.SECRET, _ALLOWED), _WRITE),
        layer=Layer.PERMISSIVE,
        note="the profile allows all that the suite does: nothing is logged",
    ),
    SetupDefinition(_enforcing, _PARAMETERS),
)
