# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine as it runs: the baseline where nothing is booted, and its SELinux under other settings.

What is changed is put back after each block (machines/journal.py).
"""

from lsmeter.model import Expectation, Setup
from lsmeter.model.setup import Layer
from lsmeter.setups._definition import Choice, Parameter, SetupDefinition, Values

_SELINUX = "/sys/fs/selinux"
_ASKED = "the setting that was asked for"
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
        lsms=None,
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
)
