# SPDX-License-Identifier: GPL-2.0-or-later
"""IMA and EVM: measuring, appraising and auditing files, and protecting their labels.

The rules of IMA cover what the benchmarks work on, whoever works on it: tmpfs and
overlay by their magic numbers, what lies on a disk by the UUID that lsmeter gives it, because the
root of a guest may be another ext4.
"""

import hashlib
from dataclasses import dataclass
from functools import partial

from lsmeter.catalogue.setups import _guest as guest
from lsmeter.catalogue.setups._definition import Parameter, SetupDefinition, Values
from lsmeter.core.model.filesystems import FILESYSTEMS, UUID
from lsmeter.core.model.setup import (
    INTEGRITY,
    EnforcementCheck,
    Expectation,
    Layer,
    Setup,
    SetupFile,
    StateFile,
    Step,
)

DIRECTORY = f"{guest.WORK_DIRECTORY}/integrity"

# Those that the kernel's own policy "tcb" does not measure (ima_policy.c, dont_measure_rules),
# but for tmpfs: proc, sysfs, debugfs, devpts, binfmtfs, securityfs, selinuxfs, smackfs, cgroup,
# cgroup2, nsfs, efivarfs.
_PSEUDO = (
    *(0x9FA0, 0x62656572, 0x64626720, 0x1CD1, 0x42494E4D, 0x73636673),
    *(0xF97CFF8C, 0x43415D53, 0x27E0EB, 0x63677270, 0x6E736673, 0xDE5E81E4),
)
_TITLE = "rules on other file systems before those that count"
_PARAMETERS = (Parameter("rules", _TITLE, len(_PSEUDO), (0, 1000)),)

_LOG = (guest.LOG_ALL, guest.KAUDITD_LAST)  # loading a policy logs more than ten lines
_PLACE = (guest.WORK, guest.do("mkdir", DIRECTORY), guest.do("own", DIRECTORY))

# The label of a file with this SHA-256, which is nobody's: type (hash with algorithm), algorithm.
_WRONG = "\x04\x04" + "0" * 32
_FILE, _MEASURED = f"{DIRECTORY}/measured", "measured\n"
_LISTED = "the list must hold a file that was read"
_AUDITED = f"{DIRECTORY}/audited"


@dataclass(frozen=True)
class _Action:
    """One thing that IMA does with a file: its rules, and how it is shown that it does it."""

    title: str
    exempt: str  # the rule's first word for other file systems
    rule: str
    before: tuple[Step, ...] = ()  # the policy is loaded
    after: tuple[Step, ...] = ()
    checks: tuple[EnforcementCheck, ...] = ()
    expect: tuple[Expectation, ...] = ()
    needs: tuple[str, ...] = ()


def digest(text: str) -> str:
    """Return a file's hash as IMA writes it."""
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _wrong_file(name: str) -> tuple[Step, ...]:
    """Make a file whose label does not fit."""
    path = f"{DIRECTORY}/{name}"
    return (*guest.made(path, f"{name}\n"), guest.do("label", path, "security.ima", _WRONG))


_WRONG_HASH = guest.denies(
    "ima-wrong-hash", "read", f"{DIRECTORY}/wrong", "op=appraise_data cause="
)
_MEASURE = _Action(
    title="IMA measuring every file that is opened for reading",
    exempt="dont_measure",
    rule="measure func=FILE_CHECK mask=^MAY_READ",
    # It is measured when it is opened.
    after=(*guest.made(_FILE, _MEASURED), guest.do("load", "/dev/null", _FILE)),
    expect=(Expectation("ima.file.measured", digest(_MEASURED), _LISTED),),
)
_APPRAISE = _Action(
    title="IMA appraising the hash of every file that is opened",
    exempt="dont_appraise",
    rule="appraise func=FILE_CHECK",
    before=(*_wrong_file("wrong"), guest.tried(_WRONG_HASH)),
    checks=(_WRONG_HASH, guest.allows("ima-new-file", "reread", f"{DIRECTORY}/new")),
    needs=("IMA_APPRAISE",),
)
_RECORD = f'file="{_AUDITED}" hash="{digest("x")}"'
_AUDIT = _Action(
    title="IMA auditing the hash of every file that is opened for reading",
    exempt="audit func=FILE_CHECK",
    rule="audit func=FILE_CHECK mask=^MAY_READ",
    checks=(guest.allows("ima-audit-record", "reread", _AUDITED, _RECORD),),
    needs=("AUDIT",),
)


def _policy(actions: tuple[_Action, ...], exempt: int) -> str:
    """Return the text of a policy."""
    lines = []
    others = (*_PSEUDO, *(0x6C736D00 + number for number in range(exempt - len(_PSEUDO))))
    for action in actions:
        lines += [f"{action.exempt} fsmagic={magic:#x}" for magic in others[:exempt]]
        tmpfs, overlay = (FILESYSTEMS[name].magic for name in ("tmpfs", "overlay"))
        lines += [f"{action.rule} fsmagic={tmpfs:#x}", f"{action.rule} fsuuid={UUID}"]
        lines.append(f"{action.rule} fsmagic={overlay:#x}")
    return "".join(f"{line}\n" for line in lines)


def _ima(values: Values, *, name: str, title: str, actions: tuple[_Action, ...]) -> Setup:
    """Return the setup of one policy."""
    file = f"{name}.policy"
    return Setup(
        name=values.name(name),
        title=title,
        lsms=("capability", INTEGRITY),
        # What a distribution's kernel was built with differs.
        cmdline=("ima_hash=sha256",),
        expect=tuple(item for action in actions for item in action.expect),
        needs_config=("IMA", *(need for action in actions for need in action.needs)),
        files=(SetupFile(file, _policy(actions, values["rules"])),),
        steps=(
            *_PLACE,
            *(step for action in actions for step in action.before),
            *_LOG,
            guest.do("write", guest.IMA_POLICY, f"/setup/{file}", title="loading the IMA policy"),
            *(step for action in actions for step in action.after),
        ),
        checks=tuple(check for action in actions for check in action.checks),
        states=(
            StateFile("ima_measurements", "/sys/kernel/security/ima/runtime_measurements_count"),
            StateFile("ima_violations", "/sys/kernel/security/ima/violations"),
        ),
        layer=Layer.INTEGRITY,
        note="the guest has no TPM: nothing is extended into one",
    )


_UNCERTIFIED = guest.denies(
    "evm-uncertified", "chmod", f"{DIRECTORY}/uncertified", "op=appraise_metadata cause="
)
_EVM = Setup(
    name="evm",
    title="EVM protecting security labels by HMAC",
    lsms=("capability", INTEGRITY),
    expect=(Expectation("evm", "1", "EVM must have its HMAC key"),),
    needs_config=("EVM", "ENCRYPTED_KEYS"),
    steps=(
        *_PLACE,
        # A label that EVM did not see being made, as after changes from outside.
        *_wrong_file("uncertified"),
        guest.tried(_UNCERTIFIED),
        Step("key", ("user", "lsmeter-kmk", "k" * 32)),
        Step("key", ("encrypted", "evm-key", "new user:lsmeter-kmk 64")),
        *_LOG,
        guest.do("write", "/sys/kernel/security/evm", "1", title="loading EVM's key"),
        *guest.made(f"{DIRECTORY}/certified", "certified\n"),
    ),
    checks=(_UNCERTIFIED, guest.allows("evm-new-file", "chmod", f"{DIRECTORY}/certified")),
    layer=Layer.INTEGRITY,
    note="without IMA or a module that labels files, only changes of owner and mode meet EVM",
)

_ALL = "IMA measuring, appraising and auditing"
SETUPS = (
    *(
        SetupDefinition(partial(_ima, name=name, title=title, actions=actions), _PARAMETERS)
        for name, title, actions in (
            ("ima-measure", _MEASURE.title, (_MEASURE,)),
            ("ima-appraise", _APPRAISE.title, (_APPRAISE,)),
            ("ima-audit", _AUDIT.title, (_AUDIT,)),
            # By one policy: any kernel with IMA takes one.
            ("ima", _ALL, (_MEASURE, _APPRAISE, _AUDIT)),
        )
    ),
    _EVM,
)
