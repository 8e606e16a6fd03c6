# SPDX-License-Identifier: GPL-2.0-or-later
"""What the setups of IMA and EVM share: their policies, and the files that prove them.

The rules cover what the benchmarks work on, whoever works on it: tmpfs by its magic number, ext4
by the UUID that lsmeter gives it, because the root of a guest may be another ext4.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from lsmeter.model import Expectation, Setup
from lsmeter.policy import (
    IMA_POLICY,
    INTEGRITY,
    WORK,
    WORK_DIRECTORY,
    Layer,
    Proof,
    SetupFile,
    StateFile,
    Step,
    label,
    load,
    tried,
    write,
)
from lsmeter.setup import Parameter, Values, name_with

DIRECTORY = f"{WORK_DIRECTORY}/integrity"
EXT4_UUID = "6c736d65-7465-4000-8000-000000000001"  # as lsmeter.guest.filesystem makes it
_TMPFS = 0x01021994

# Those that the kernel's own policy "tcb" does not measure (ima_policy.c, dont_measure_rules),
# but for tmpfs: proc, sysfs, debugfs, devpts, binfmtfs, securityfs, selinuxfs, smackfs, cgroup,
# cgroup2, nsfs, efivarfs.
_PSEUDO = (
    *(0x9FA0, 0x62656572, 0x64626720, 0x1CD1, 0x42494E4D, 0x73636673),
    *(0xF97CFF8C, 0x43415D53, 0x27E0EB, 0x63677270, 0x6E736673, 0xDE5E81E4),
)
RULES = Parameter(
    "rules",
    "rules on other file systems before those that count",
    default=len(_PSEUDO),
    minimum=0,
    maximum=1000,
)

# The kernel's audit logs at most ten lines in five seconds, of which loading a policy uses up all;
# and the thread that writes them would take its turn within readings.
_LOG = (
    write("/proc/sys/kernel/printk_ratelimit", "0"),
    Step("background", ("kauditd",)),
)
PLACE = (WORK, Step("mkdir", (DIRECTORY,)), Step("own", (DIRECTORY,)))

# The label of a file with this SHA-256, which is nobody's: type (hash with algorithm), algorithm.
_WRONG = "\x04\x04" + "0" * 32
_MEASURED = "measured\n"


@dataclass(frozen=True)
class Kind:
    """One thing that IMA does with a file: its rules, and how it is shown that it does it."""

    name: str
    title: str
    exempt: str  # the rule's first word for other file systems
    rule: str
    before: tuple[Step, ...] = ()  # the policy is loaded
    after: tuple[Step, ...] = ()
    proofs: tuple[Proof, ...] = ()
    expect: tuple[Expectation, ...] = ()
    needs: tuple[str, ...] = ()


def digest(text: str) -> str:
    """Return a file's hash as IMA writes it."""
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _made(name: str, text: str) -> tuple[Step, ...]:
    path = f"{DIRECTORY}/{name}"
    return (Step("file", (path, text)), Step("own", (path,)))


def wrong_file(name: str) -> tuple[Step, ...]:
    """Make a file whose label does not fit."""
    return (*_made(name, f"{name}\n"), label(f"{DIRECTORY}/{name}", "security.ima", _WRONG))


_WRONG_HASH = Proof(
    "ima-wrong-hash", "read", f"{DIRECTORY}/wrong", denied=True, message="op=appraise_data cause="
)
_NEW_HASH = Proof("ima-new-file", "reread", f"{DIRECTORY}/new", denied=False)
_AUDITED = Proof(
    "ima-audit-record",
    "reread",
    f"{DIRECTORY}/audited",
    denied=False,
    message=f'file="{DIRECTORY}/audited" hash="{digest("x")}"',
)

MEASURE = Kind(
    name="measure",
    title="IMA measuring every file that is opened for reading",
    exempt="dont_measure",
    rule="measure func=FILE_CHECK mask=^MAY_READ",
    # It is measured when it is opened.
    after=(*_made("measured", _MEASURED), load("/dev/null", f"{DIRECTORY}/measured")),
    expect=(
        Expectation(
            "ima.file.measured", digest(_MEASURED), "the list must hold a file that was read"
        ),
    ),
)
APPRAISE = Kind(
    name="appraise",
    title="IMA appraising the hash of every file that is opened",
    exempt="dont_appraise",
    rule="appraise func=FILE_CHECK",
    before=(*wrong_file("wrong"), tried(_WRONG_HASH)),
    proofs=(_WRONG_HASH, _NEW_HASH),
    needs=("IMA_APPRAISE",),
)
AUDIT = Kind(
    name="audit",
    title="IMA auditing the hash of every file that is opened for reading",
    exempt="audit func=FILE_CHECK",
    rule="audit func=FILE_CHECK mask=^MAY_READ",
    proofs=(_AUDITED,),
    needs=("AUDIT",),
)


def rules(kinds: tuple[Kind, ...], exempt: int) -> str:
    """Return the text of a policy."""
    lines = []
    for kind in kinds:
        others = (*_PSEUDO, *(0x6C736D00 + number for number in range(exempt - len(_PSEUDO))))
        lines += [f"{kind.exempt} fsmagic={magic:#x}" for magic in others[:exempt]]
        lines += [f"{kind.rule} fsmagic={_TMPFS:#x}", f"{kind.rule} fsuuid={EXT4_UUID}"]
    return "".join(f"{line}\n" for line in lines)


def ima(name: str, title: str, kinds: tuple[Kind, ...], values: Values) -> Setup:
    """Return the setup of one policy."""
    file = f"{name}.policy"
    return Setup(
        name=name_with(name, values, (RULES,)),
        title=title,
        lsms=("capability", INTEGRITY),
        # What a distribution's kernel was built with differs.
        cmdline=("ima_hash=sha256",),
        expect=tuple(item for kind in kinds for item in kind.expect),
        needs_config=("IMA", *dict.fromkeys(need for kind in kinds for need in kind.needs)),
        files=(SetupFile(file, rules(kinds, values["rules"])),),
        steps=(
            *PLACE,
            *(step for kind in kinds for step in kind.before),
            *_LOG,
            write(IMA_POLICY, f"/setup/{file}", title="loading the IMA policy"),
            *(step for kind in kinds for step in kind.after),
        ),
        proofs=tuple(proof for kind in kinds for proof in kind.proofs),
        states=(
            StateFile("ima_measurements", "/sys/kernel/security/ima/runtime_measurements_count"),
            StateFile("ima_violations", "/sys/kernel/security/ima/violations"),
        ),
        layer=Layer.INTEGRITY,
        note="the guest has no TPM: nothing is extended into one",
    )


_UNCERTIFIED = Proof(
    "evm-uncertified",
    "chmod",
    f"{DIRECTORY}/uncertified",
    denied=True,
    message="op=appraise_metadata cause=",
)
_CERTIFIED = Proof("evm-new-file", "chmod", f"{DIRECTORY}/certified", denied=False)


def evm() -> Setup:
    """Return the setup of EVM with a symmetric key."""
    return Setup(
        name="evm",
        title="EVM protecting security labels by HMAC",
        lsms=("capability", INTEGRITY),
        expect=(Expectation("evm", "1", "EVM must have its HMAC key"),),
        needs_config=("EVM", "ENCRYPTED_KEYS"),
        steps=(
            *PLACE,
            # A label that EVM did not see being made, as after changes from outside.
            *wrong_file("uncertified"),
            tried(_UNCERTIFIED),
            Step("key", ("user", "lsmeter-kmk", "k" * 32)),
            Step("key", ("encrypted", "evm-key", "new user:lsmeter-kmk 64")),
            *_LOG,
            write("/sys/kernel/security/evm", "1", title="loading EVM's key"),
            *_made("certified", "certified\n"),
        ),
        proofs=(_UNCERTIFIED, _CERTIFIED),
        layer=Layer.INTEGRITY,
        note="without IMA or a module that labels files, only changes of owner and mode meet EVM",
    )
