# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine as it runs: the baseline where nothing is booted, and its own modules otherwise.

SELinux gets other settings, AppArmor a profile more. What is changed is put back after each block
(machines/journal.py).
"""

from lsmeter.catalogue.setups import _guest as guest
from lsmeter.catalogue.setups._definition import Choice, Parameter, SetupDefinition, Values
from lsmeter.core.model import Expectation, Setup
from lsmeter.core.model.setup import Layer

_SELINUX = "/sys/fs/selinux"
_ASKED = "the setting that was asked for"
_MODE = Choice(
    "mode", "how the probe is confined", "enforce", ("unconfined", "complain", "enforce")
)
_PARAMETERS = (
    Choice("mode", "whether the policy is enforced", "enforcing", ("enforcing", "permissive")),
    Parameter("avc", "entries of the access vector cache", 512, (16, 65536)),
)


def _selinux(values: Values) -> Setup:
    mode, avc = values.word("mode"), str(values["avc"])
    enforced = "1" if mode == "enforcing" else "0"
    return Setup(
        name=values.name("running-selinux", always=("mode",)),
        title=f"the machine as it runs, SELinux {mode}, with a cache of {avc} entries",
        lsms=("selinux",),
        expect=(
            Expectation("selinux.policy_loaded", "1", "the machine has to run SELinux"),
            Expectation("selinux.enforce", enforced, _ASKED),
            Expectation("selinux.avc_threshold", avc, _ASKED),
        ),
        needs_config=("SECURITY_SELINUX",),
        over="running",
        layer=Layer.POLICY if mode == "enforcing" else Layer.PERMISSIVE,
        live=True,
        host=((f"{_SELINUX}/enforce", enforced), (f"{_SELINUX}/avc/cache_threshold", avc)),
        note="the whole machine has these settings while a block takes its readings",
    )


# All that the suites do, but nothing outside of the directory that they work in.
_RULES = """\
profile {name} {flags} {{
  capability,
  network,
  unix,
  signal,
  ptrace,
  / r,
  /{{usr,lib,lib64,bin,sbin}}/** mrix,
  /etc/** r,
  /proc/ r,
  /proc/** rw,
  /sys/ r,
  /sys/** r,
  /dev/ r,
  /dev/* rw,
  /dev/pts/* rw,
  /**/lsmeter-probe mrix,
  /**/lsmeter-here-*/data/ rw,
  /**/lsmeter-here-*/data/** rwklmix,
}}
"""
# By mode: what a worker must be confined as, flags of the profile, title, what lies below, layer.
_MODES = {
    "unconfined": ("unconfined", "", "the probe unconfined", "running", None),
    "complain": (
        *("lsmeter-here-complain (complain)", "flags=(complain)", "the probe in complain mode"),
        *("running-apparmor:mode=unconfined", Layer.PERMISSIVE),
    ),
    "enforce": (
        *("lsmeter-here-enforce (enforce)", "", "the probe confined by a profile in force"),
        *("running-apparmor:mode=complain", Layer.POLICY),
    ),
}
_OUTSIDE = "/outside"  # of no rule
_SECRET = f"{_OUTSIDE}/secret"


def _apparmor(values: Values) -> Setup:
    mode = values.word("mode")
    context, flags, what, over, layer = _MODES[mode]
    profile = context.partition(" ")[0]
    confined = mode != "unconfined"
    outside = guest.denies if mode == "enforce" else guest.allows
    return Setup(
        name=values.name("running-apparmor"),
        title=f"the machine as it runs with AppArmor, {what}",
        lsms=("apparmor",),
        expect=(
            Expectation("apparmor.enabled", "Y", "the machine has to run AppArmor"),
            Expectation("worker.context", context, "every worker must be confined so"),
        ),
        needs_config=("SECURITY_APPARMOR",),
        steps=(
            guest.WORK,
            guest.do("mkdir", _OUTSIDE),
            guest.do("own", _OUTSIDE),
            guest.do("file", _SECRET, "secret"),
            guest.MAKE_PUBLIC,
            guest.TRY,
        ),
        confine=(("/proc/self/attr/apparmor/current", f"changeprofile {profile}"),),
        checks=(
            outside("read-outside", "read", _SECRET),
            outside("create-outside", "create", f"{_OUTSIDE}/new"),
            guest.allows("write-public", "write", guest.PUBLIC),
        ),
        over=over,
        layer=layer,
        live=True,
        profiles=((profile, _RULES.format(name=profile, flags=flags)),) if confined else (),
        note="the profile is the machine's for the length of each block, and allows all that the "
        "suites do"
        if confined
        else "what the machine's own profiles confine stays confined",
    )


SETUPS = (
    Setup(
        name="running",
        title="the machine as it runs, with nothing added",
        lsms=None,
        expect=(Expectation("landlock.layers", "0", "nothing may be added"),),
        over="",
        layer=None,
        live=True,
        note="the modules and policies that the machine runs are in every number of it",
    ),
    SetupDefinition(_selinux, _PARAMETERS),
    SetupDefinition(_apparmor, (_MODE,)),
)
