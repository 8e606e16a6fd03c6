# SPDX-License-Identifier: GPL-2.0-or-later
"""Audit with the rules of a baseline, as the audit package of Debian 12 brings them along.

No daemon takes the records: the kernel's own thread puts them into its log, and does so only
when nothing else can run. So what is measured is what the system call itself pays, for matching
the rules and for making records.
"""

from lsmeter.model import Expectation, Setup
from lsmeter.policy import WORK, WORK_DIRECTORY, Layer, Proof, Step, run, write
from lsmeter.setup import Choice, Values, name_with, with_parameters

_PARAMETERS = (
    Choice("rules", "whose rules", default="stig", choices=("stig", "ospp")),
    Choice(
        "session",
        "login: the audit ID of somebody who logged in; service: none",
        default="login",
        choices=("login", "service"),
    ),
)
_NUMBER = {"stig": 34, "ospp": 93}  # in auditd 3.0.9
# A record on a chmod, which is made only when a rule matches; both have a rule on it.
_CHMOD_RECORD = "arch=c000003e syscall=90 success=yes"

_DIRECTORY = f"{WORK_DIRECTORY}/audit"
_WATCHED = ("/etc/NetworkManager", "/etc/sudoers.d")  # rules on what is not there are refused
_FILE = f"{_DIRECTORY}/changed"


def _proofs(values: Values) -> tuple[Proof, ...]:
    if values.word("session") == "service":
        return ()  # no rule on files of anybody's applies to it
    return (Proof("audit-record", "chmod", _FILE, denied=False, message=_CHMOD_RECORD),)


def _configure(values: Values) -> Setup:
    name, session = values.word("rules"), values.word("session")
    return Setup(
        name=name_with("audit-rules", values, _PARAMETERS),
        title=f"audit with the rules of {name.upper()}, "
        + ("for somebody who logged in" if session == "login" else "for a service"),
        lsms=("capability",),
        cmdline=("audit=1", "audit_backlog_limit=8192"),
        expect=(
            Expectation("audit.enabled", "1", "rules do nothing without it"),
            Expectation("audit.rules", str(_NUMBER[name]), "those of Debian 12's auditd"),
        ),
        needs_config=("AUDIT", "AUDITSYSCALL"),
        image="policy",
        steps=(
            *(Step("mkdir", (path,)) for path in _WATCHED),
            WORK,
            Step("mkdir", (_DIRECTORY,)),
            Step("file", (_FILE, "x")),
            Step("own", (_FILE,)),
            # Else the record of the proof is lost among those on the rules.
            write("/proc/sys/kernel/printk_ratelimit", "0"),
            # It would take its turn within a reading: at the end of the system call that wakes it.
            Step("background", ("kauditd",)),
            run("/usr/sbin/auditctl", "-R", f"/etc/lsmeter/audit/{name}.rules", title="rules load"),
        ),
        confine=(("/proc/self/loginuid", "1000"),) if session == "login" else (),
        proofs=_proofs(values),
        over="audit",
        layer=Layer.AUDIT,
        note="no daemon takes the records: what they cost is what the system call pays itself",
    )


SETUP = with_parameters(_PARAMETERS, _configure)
