# SPDX-License-Identifier: GPL-2.0-or-later
"""SELinux with a policy: what the permissive and the enforcing setups share.

Two policies: `default` is the reference policy as Debian ships it, with the domain and the types
of lsmeter's own small module (images/policy/etc/lsmeter/selinux); `mdp` is the one that the
kernel's own source makes, in which one type may do everything to itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from lsmeter.errors import UsageError
from lsmeter.model import Expectation, Setup
from lsmeter.policy import (
    MAKE_PUBLIC,
    PUBLIC,
    SECRET,
    TRY,
    WORK,
    WORK_DIRECTORY,
    Layer,
    Proof,
    SetupFile,
    StateFile,
    Step,
    label,
    load,
    run,
    write,
)
from lsmeter.setup import Choice, Parameter, Values, default_values, name_with

SELINUXFS = "/sys/fs/selinux"
XATTR = "security.selinux"
DENIED = "avc:  denied"  # as the kernel's log has it, with two spaces (security/selinux/avc.c)
_AVC_DEFAULT = 512  # AVC_DEF_CACHE_THRESHOLD (security/selinux/avc.c, Linux 2.6.11 to 6.17)
_LABELS = "/labels"
# Each label met while the AVC may hold nothing makes the kernel reclaim 16 entries
# (AVC_CACHE_RECLAIM): 16 labels take out 256, and a benchmark brings in fewer than 30.
_COLD_LABELS = 16
# As long as records wait for their thread, none may be lost.
_BACKLOG = "audit_backlog_limit=65536"

PARAMETERS = (
    Parameter(
        "avc", "AVC entries (cache_threshold)", default=_AVC_DEFAULT, minimum=16, maximum=8192
    ),
    Parameter(
        "pressure",
        "labels that the domain meets before each reading",
        default=0,
        minimum=0,
        maximum=4096,
    ),
    Choice("policy", "where the policy is from", default="default", choices=("default", "mdp")),
    Choice(
        "domain", "what workers run in", default="unconfined", choices=("unconfined", "confined")
    ),
    Choice(
        "labels", "the benchmarks' files", default="labelled", choices=("labelled", "unlabelled")
    ),
    Choice("grants", "audit what is granted", default="off", choices=("off", "on")),
    Choice("cold", "empty the AVC before each reading", default="off", choices=("off", "on")),
)

DEFAULTS = Values(*default_values(PARAMETERS))
AVC = StateFile("avc", f"{SELINUXFS}/avc/cache_stats")
STATES = (
    AVC,
    StateFile("avc-chains", f"{SELINUXFS}/avc/hash_stats"),
    StateFile("sids", f"{SELINUXFS}/ss/sidtab_hash_stats"),
)


@dataclass(frozen=True)
class _Policy:
    """What setups need to know of a policy."""

    title: str
    image: str
    files: tuple[SetupFile, ...]
    file: str  # in the guest
    prepare: tuple[Step, ...]  # before the proofs are tried without a policy
    label: tuple[Step, ...]  # once it is loaded
    work: str  # the label of the benchmarks' files
    domains: dict[str, str]  # the context of each


_DEFAULT = _Policy(
    title="Debian's policy",
    image="policy",
    files=(),
    file="/etc/lsmeter/selinux/default.policy",
    prepare=(),
    label=(),
    work="system_u:object_r:lsmeter_work_t:s0",
    domains={
        "unconfined": "unconfined_u:unconfined_r:unconfined_t:s0",
        "confined": "system_u:system_r:lsmeter_confined_t:s0",
    },
)
_AUDITALLOW = "/etc/lsmeter/selinux/auditallow.policy"
_MDP = _Policy(
    title="the kernel's minimal policy",
    image="",
    files=(SetupFile("mdp-policy", artifact="mdp-policy"),),
    file="/setup/mdp-policy",
    prepare=(
        Step("mkdir", ("/srv",)),
        Step("mkdir", ("/srv/lsmeter",)),
        Step("mount", ("tmpfs", "/srv/lsmeter")),
        Step("file", (SECRET, "secret")),
    ),
    label=(label(SECRET, XATTR, "user_u:object_r:lsmeter_secret_t:s0"),),
    work="user_u:object_r:base_t:s0",
    domains={"unconfined": "user_u:base_r:base_t:s0"},
)


def check(name: str, values: Values) -> None:
    """Raise UsageError for parameters that do not go together."""
    if values.word("labels") == "unlabelled" and values.word("domain") == "confined":
        raise UsageError(
            f"{name}: labels=unlabelled cannot be had with domain=confined: "
            "the confined domain may use labelled files only"
        )
    if values.word("cold") == "on" and values["pressure"]:
        raise UsageError(f"{name}: pressure cannot be had with cold=on: the AVC is emptied anyway")
    if values.word("policy") != "mdp":
        return
    reasons = {
        "domain=confined": "it has one domain",
        "grants=on": "it has no rule that audits what is granted",
        "cold=on": "all processes share its few entries of the AVC",
    }
    for setting, why in reasons.items():
        parameter, _, word = setting.partition("=")
        if values.word(parameter) == word:
            raise UsageError(f"{name}: {setting} cannot be had with policy=mdp: {why}")
    if values["pressure"]:
        raise UsageError(f"{name}: pressure cannot be had with policy=mdp: it has two categories")


def setup(values: Values, *, enforcing: bool) -> Setup:
    """Return the setup for these parameters."""
    base = "selinux-enforcing" if enforcing else "selinux-permissive"
    check(base, values)
    policy = _MDP if values.word("policy") == "mdp" else _DEFAULT
    context = policy.domains[values.word("domain")]
    return Setup(
        name=name_with(base, values, PARAMETERS),
        title=_title(policy, values, enforcing=enforcing),
        lsms=("selinux",),
        # Debian's kernels have the parameter only up to 6.1; where it is unknown it is ignored.
        cmdline=(
            "selinux=1",
            "enforcing=0",
            *([_BACKLOG] if values.word("grants") == "on" else []),
        ),
        expect=_expectations(policy, values, enforcing=enforcing),
        needs_config=("SECURITY_SELINUX", "SECURITY_SELINUX_DEVELOP", "AUDIT"),
        image=policy.image,
        files=policy.files + _label_files(_labels(values)),
        steps=steps(policy, values, enforcing=enforcing),
        # The minimal policy has one domain, in which every process is already.
        confine=() if policy is _MDP else (("/proc/self/attr/current", context),),
        proofs=(
            Proof("read-secret", "read", SECRET, denied=enforcing, message=DENIED),
            Proof("read-public", "read", PUBLIC, denied=False),
        ),
        states=STATES,
        counters=(AVC,),
        before=before(values, context),
        over=name_with("selinux-permissive", values, PARAMETERS) if enforcing else "selinux",
        layer=Layer.POLICY if enforcing else Layer.PERMISSIVE,
        note=_note(policy, values, enforcing=enforcing),
    )


def steps(policy: _Policy, values: Values, *, enforcing: bool) -> tuple[Step, ...]:
    """Return what brings the policy into force, and labels what the benchmarks work on."""
    file = _AUDITALLOW if values.word("grants") == "on" else policy.file
    made: list[Step] = [
        *policy.prepare,
        TRY,
        # Else the proofs' lines could be lost among those of the start.
        write("/proc/sys/kernel/printk_ratelimit", "0"),
        Step("mount", ("selinuxfs", SELINUXFS)),
        *((_read(file),) if policy.image else ()),
        load(f"{SELINUXFS}/load", file, title="policy load"),
        *policy.label,
        WORK,
    ]
    if values.word("labels") == "labelled":
        made.append(label(WORK_DIRECTORY, XATTR, policy.work))
    made.append(MAKE_PUBLIC)
    if values["avc"] != _AVC_DEFAULT:
        made.append(write(f"{SELINUXFS}/avc/cache_threshold", str(values["avc"])))
    made += _label_steps(_labels(values))
    if values.word("grants") == "on":
        # What it does with the records would else be in some readings, and not in others.
        made.append(Step("background", ("kauditd",)))
    if enforcing:
        made.append(write(f"{SELINUXFS}/enforce", "1"))
    return tuple(made)


def _read(file: str) -> Step:
    """Return what has a file in memory: how long a disk takes is not the policy's doing."""
    return run("/usr/bin/busybox", "sh", "-c", f"cat {file} > /dev/null")


def before(values: Values, context: str) -> tuple[Step, ...]:
    """Return what is done before each reading.

    The AVC is emptied by what the kernel does when it is full: it may hold nothing for as long as
    a few labels are met. Its other ways, a change of mode, a boolean or a policy, wait for grace
    periods of RCU, and the last two also have every open file checked anew.
    """
    threshold = f"{SELINUXFS}/avc/cache_threshold"
    visit = Step("visit", (_LABELS,))
    if values.word("cold") == "on":
        return (write(threshold, "0"), visit, write(threshold, str(values["avc"])))
    # The labels are met by the domain that is measured, in the same chains of the AVC.
    enter = Step("enter", ("/proc/self/attr/current", context))
    return (enter, visit) if values["pressure"] else ()


def _labels(values: Values) -> int:
    """Return how many labels are met before each reading."""
    return max(values["pressure"], _COLD_LABELS if values.word("cold") == "on" else 0)


def categories(count: int) -> tuple[str, ...]:
    """Return as many different sets of one or two of 1,024 categories."""
    singles = [f"c{number}" for number in range(1024)]
    pairs = (f"c{i},c{j}" for i in range(1024) for j in range(i + 1, 1024))
    rest = max(count - len(singles), 0)
    return (*singles[:count], *(pair for pair, _ in zip(pairs, range(rest), strict=False)))


def _label_files(count: int) -> tuple[SetupFile, ...]:
    if not count:
        return ()
    text = "".join(
        f'# file: labels/f{number}\n{XATTR}="{_DEFAULT.work}:{word}"\n\n'
        for number, word in enumerate(categories(count))
    )
    return (SetupFile("labels", text=text),)


def _label_steps(count: int) -> tuple[Step, ...]:
    """Return what makes one file for each label, in a tmpfs: its labels need no disk."""
    if not count:
        return ()
    loop = f"i=0; while [ $i -lt {count} ]; do : > {_LABELS}/f$i; i=$((i + 1)); done"
    return (
        Step("mkdir", (_LABELS,)),
        Step("mount", ("tmpfs", _LABELS)),
        label(_LABELS, XATTR, _DEFAULT.work),
        run("/usr/bin/busybox", "sh", "-c", f"cd / && {loop}"),
        run("/usr/bin/busybox", "sh", "-c", "cd / && setfattr --restore=/setup/labels"),
    )


def _expectations(policy: _Policy, values: Values, *, enforcing: bool) -> tuple[Expectation, ...]:
    context = policy.domains[values.word("domain")]
    labelled = Expectation("work.label", policy.work, "the file system must keep labels")
    return (
        Expectation(
            "selinux.enforce",
            str(int(enforcing)),
            "what is refused has to be refused" if enforcing else "nothing may be refused",
        ),
        Expectation("selinux.policy_loaded", "1", "this setup measures a policy's decisions"),
        Expectation("worker.context", context, "every worker has to be in its domain"),
        Expectation("selinux.avc_threshold", str(values["avc"]), "the AVC has to be of this size"),
        *((labelled,) if values.word("labels") == "labelled" else ()),
    )


def _title(policy: _Policy, values: Values, *, enforcing: bool) -> str:
    mode = "enforcing" if enforcing else "permissive"
    said = [f"SELinux {mode}, {policy.title}"]
    if policy is _DEFAULT:
        said.append(f"{values.word('domain')} domain")
    if values.word("labels") == "unlabelled":
        said.append("files without a label of their own")
    if values["avc"] != _AVC_DEFAULT:
        said.append(f"AVC of {values['avc']}")
    if values.word("grants") == "on":
        said.append("grants audited")
    if values.word("cold") == "on":
        said.append("AVC emptied before each reading")
    if values["pressure"]:
        said.append(f"{values['pressure']} labels met before each reading")
    return ", ".join(said)


def _note(policy: _Policy, values: Values, *, enforcing: bool) -> str:
    said = []
    if policy is _MDP:
        said.append("one type may do everything: only a type that lsmeter added is refused")
    elif values.word("domain") == "unconfined":
        said.append("a domain that may do nearly everything, decided on as any other")
    else:
        said.append("a domain that may use its own files only")
    if values.word("grants") == "on":
        said.append("the thread that passes on audit records runs when nothing else does")
    if not enforcing:
        said.append("what would be refused is logged and allowed")
    return "; ".join(said)
