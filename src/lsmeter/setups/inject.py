# SPDX-License-Identifier: GPL-2.0-or-later
"""The module whose costs are known to the instruction (kernel/inject-lsm), for the selftest."""

from lsmeter.model import Expectation, Setup
from lsmeter.policy import StateFile
from lsmeter.selftest.costs import NOTHING
from lsmeter.selftest.injections import INJECTIONS
from lsmeter.setup import Choice, Values, name_with, with_parameters

_DIRECTORY = "/sys/kernel/security/inject"
_FACT = "inject.costs"

_PARAMETERS = (
    Choice("cost", "what costs more", default="none", choices=tuple(INJECTIONS)),
    # What puts work off costs something by itself, which nobody injected: a boot without the
    # injected instructions, and with all the rest, is what to compare with.
    Choice(
        "burn",
        "run the injected instructions, or everything but them",
        default="yes",
        choices=("yes", "no"),
    ),
)


def _configure(values: Values) -> Setup:
    injection = INJECTIONS[values.word("cost")]
    burnt = values.word("burn") == "yes"
    text = (injection if burnt else injection.unburnt).text
    return Setup(
        name=name_with("inject", values, _PARAMETERS),
        title=f"known costs injected, for the selftest: {injection.title}"
        + ("" if burnt else ", but no instruction"),
        lsms=("inject",),
        cmdline=() if text == NOTHING else (f"inject={text}",),
        expect=(Expectation(_FACT, text, "other costs are another setup"),),
        reads=((_FACT, f"{_DIRECTORY}/costs"),),
        states=(StateFile("inject", f"{_DIRECTORY}/counters"),),
        needs_config=("SECURITY_INJECT",),
        note="costs that no module has: they show what an instrument sees, and what it does not",
    )


SETUP = with_parameters(_PARAMETERS, _configure)
