# SPDX-License-Identifier: GPL-2.0-or-later
"""Audit: on without a rule, off for good, and with the rules of a baseline.

The rules are those of the audit package of Debian 12. No daemon takes the records: the kernel's
own thread writes them to its log, and runs only when nothing else can. So what is measured is what
the system call itself pays, for matching the rules and for making records.
"""

from dataclasses import replace

from lsmeter.catalogue.setups import _guest as guest
from lsmeter.catalogue.setups._definition import Choice, SetupDefinition, Values
from lsmeter.core.model.setup import Expectation, Layer, Setup

_SESSION = "login: the audit ID of somebody who logged in; service: none"
_PARAMETERS = (
    Choice("rules", "whose rules", "stig", ("stig", "ospp")),
    Choice("session", _SESSION, "login", ("login", "service")),
)
_NUMBER = {"stig": 34, "ospp": 93}  # in auditd 3.0.9
_DIRECTORY = f"{guest.WORK_DIRECTORY}/audit"
_FILE = f"{_DIRECTORY}/changed"
_WATCHED = ("/etc/NetworkManager", "/etc/sudoers.d")  # rules on what is not there are refused
# A record on a chmod, which is made only when a rule matches; both have a rule on it.
_RECORD = guest.allows("audit-record", "chmod", _FILE, "arch=c000003e syscall=90 success=yes")


_AUDIT = Setup(
    name="audit",
    title="audit on, no rules",
    lsms=("capability",),
    cmdline=("audit=1",),
    expect=(
        Expectation("audit.enabled", "1", "it is what is measured"),
        Expectation("audit.rules", "0", "rules are another setup"),
    ),
    needs_config=("AUDIT", "AUDITSYSCALL"),
    layer=Layer.AUDIT,
    note="audit is in every system call: getppid and the like cost more as well",
)


def _with_rules(values: Values) -> Setup:
    name, login = values.word("rules"), values.word("session") == "login"
    whom = "somebody who logged in" if login else "a service"
    file = f"/etc/lsmeter/audit/{name}.rules"
    return replace(
        _AUDIT,
        name=values.name("audit-rules"),
        title=f"audit with the rules of {name.upper()}, for {whom}",
        cmdline=("audit=1", "audit_backlog_limit=8192"),
        expect=(
            Expectation("audit.enabled", "1", "rules do nothing without it"),
            Expectation("audit.rules", str(_NUMBER[name]), "those of Debian 12's auditd"),
        ),
        image="policy",
        steps=(
            *(guest.do("mkdir", path) for path in _WATCHED),
            guest.WORK,
            guest.do("mkdir", _DIRECTORY),
            *guest.made(_FILE),
            guest.LOG_ALL,
            guest.KAUDITD_LAST,
            guest.do("run", "/usr/sbin/auditctl", "-R", file, title="rules load"),
        ),
        confine=(("/proc/self/loginuid", "1000"),) if login else (),
        # No rule on files of anybody's applies to a service.
        checks=(_RECORD,) if login else (),
        over="audit",
        note="no daemon takes the records: what they cost is what the system call pays itself",
    )


SETUPS = (
    _AUDIT,
    # By default audit waits for a daemon, and logs denials until then.
    replace(
        _AUDIT,
        name="audit-off",
        title="audit off (audit=0)",
        cmdline=("audit=0",),
        expect=(Expectation("audit.enabled", "none", "it can be switched on otherwise"),),
        needs_config=("AUDIT",),
        note="modules cannot log what they deny: no stack with a policy whose denials are checked",
    ),
    SetupDefinition(_with_rules, _PARAMETERS),
)
