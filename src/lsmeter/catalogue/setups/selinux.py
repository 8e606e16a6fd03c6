# SPDX-License-Identifier: GPL-2.0-or-later
"""SELinux: without a policy, and with one that is permissive or enforced.

Without a policy every hook is called and grants. Most hooks ask the AVC all the same: as long as
there is no policy the security server says that everything is allowed
(security/selinux/ss/services.c, security_compute_av).

Two policies: `default` is the reference policy as Debian ships it, with the domain and the types
of lsmeter's own small module (images/policy/etc/lsmeter/selinux); `mdp` is the one that the
kernel's own source makes, in which one type may do everything to itself.
"""

from dataclasses import dataclass, replace
from functools import partial

from lsmeter.catalogue.setups import _guest as guest
from lsmeter.catalogue.setups._definition import (
    HOOKS_ONLY,
    Choice,
    Parameter,
    SetupDefinition,
    Values,
    Word,
)
from lsmeter.core.errors import UsageError
from lsmeter.core.model.setup import Expectation, Layer, Setup, SetupFile, StateFile, Step

_XATTR = "security.selinux"
_SELINUXFS = "/sys/fs/selinux"
_THRESHOLD = f"{_SELINUXFS}/avc/cache_threshold"
_DENIED = "avc:  denied"  # as the kernel's log has it, with two spaces (security/selinux/avc.c)
# Debian's kernels have the first only up to 6.1; where it is unknown it is ignored.
_CMDLINE = ("selinux=1", "enforcing=0")
_AVC_DEFAULT = 512  # AVC_DEF_CACHE_THRESHOLD (security/selinux/avc.c, Linux 2.6.11 to 6.17)
_LABELS = "/labels"
_CONTEXTS = "/etc/selinux/default/contexts/files/file_contexts"
# Each label met while the AVC may hold nothing makes the kernel reclaim 16 entries
# (AVC_CACHE_RECLAIM): 16 labels take out 256, and a benchmark brings in fewer than 30.
_COLD_LABELS = 16
# As long as records wait for their thread, none may be lost.
_BACKLOG = "audit_backlog_limit=65536"

_BOOLEAN = "its name, with - for _"
# Content as scripts that nothing confines: httpd_t may read those only where it may start them.
_CONTENT = "system_u:object_r:httpd_unconfined_script_exec_t:s0"
_CGI = "httpd_enable_cgi"

_PARAMETERS = (
    Parameter("avc", "AVC entries (cache_threshold)", _AVC_DEFAULT, (16, 8192)),
    Parameter("pressure", "labels that the domain meets before each reading", 0, (0, 4096)),
    Choice("policy", "where the policy is from", "default", ("default", "mdp")),
    Choice("domain", "what workers run in", "unconfined", ("unconfined", "confined")),
    Choice("labels", "the benchmarks' files", "labelled", ("labelled", "unlabelled")),
    Choice("grants", "audit what is granted", "off", ("off", "on")),
    Choice("cold", "empty the AVC before each reading", "off", ("off", "on")),
    Choice("content", "what web servers give out", "confined", ("confined", "unconfined")),
    Word("on", "a boolean that is set", _BOOLEAN),
    Word("off", "a boolean that is cleared", _BOOLEAN),
)
_DEFAULTS = Values(_PARAMETERS)

_AVC = StateFile("avc", f"{_SELINUXFS}/avc/cache_stats")
_STATES = (
    _AVC,
    StateFile("avc-chains", f"{_SELINUXFS}/avc/hash_stats"),
    StateFile("sids", f"{_SELINUXFS}/ss/sidtab_hash_stats"),
)
# What settings add to the title.
_TITLES = (
    ("policy=default", "{domain} domain"),
    ("labels=unlabelled", "files without a label of their own"),
    ("avc", "AVC of {avc}"),
    ("grants=on", "grants audited"),
    ("cold=on", "AVC emptied before each reading"),
    ("pressure", "{pressure} labels met before each reading"),
    ("content=unconfined", "web content of the unconfined script type"),
    ("on", "{on} on"),
    ("off", "{off} off"),
)
_GRANTS_NOTE = "the thread that passes on audit records runs when nothing else does"

# As `semanage fcontext -a` would; what a workload's files are labelled by, below /data as well.
_CONTENT_STEPS = (
    guest.shell(f"printf '/var/www/.*\\t--\\t{_CONTENT}\\n' >> {_CONTEXTS}.local"),
    guest.shell(f'test "$(matchpathcon -n /data/www/page)" = {_CONTENT}'),
)

# Which settings do not go together, and why.
_CONFLICTS = (
    ("labels=unlabelled", "domain=confined", "the confined domain may use labelled files only"),
    ("pressure", "cold=on", "the AVC is emptied anyway"),
    ("domain=confined", "policy=mdp", "it has one domain"),
    ("grants=on", "policy=mdp", "it has no rule that audits what is granted"),
    ("cold=on", "policy=mdp", "all processes share its few entries of the AVC"),
    ("pressure", "policy=mdp", "it has two categories"),
    ("content=unconfined", "policy=mdp", "it has one type"),
    ("on", "policy=mdp", "it has no booleans"),
    ("off", "policy=mdp", "it has no booleans"),
)


@dataclass(frozen=True)
class _Policy:
    """What setups need to know of a policy."""

    title: str
    file: str  # in the guest
    work: str  # the label of the benchmarks' files
    domains: dict[str, tuple[str, str]]  # the context of each, and what a reader must know of it
    image: str = ""
    files: tuple[SetupFile, ...] = ()
    prepare: tuple[Step, ...] = ()  # before the checks are tried without a policy
    label: tuple[Step, ...] = ()  # once it is loaded


_DEFAULT = _Policy(
    title="Debian's policy",
    file="/etc/lsmeter/selinux/default.policy",
    work="system_u:object_r:lsmeter_work_t:s0",
    domains={
        "unconfined": (
            "unconfined_u:unconfined_r:unconfined_t:s0",
            "a domain that may do nearly everything, checked as any other",
        ),
        "confined": (
            "system_u:system_r:lsmeter_confined_t:s0",
            "a domain that may use its own files only",
        ),
    },
    image="policy",
)
_NETWORK = "/etc/lsmeter/selinux/network.policy"
_AUDITALLOW = "/etc/lsmeter/selinux/auditallow.policy"
_MDP = _Policy(
    title="the kernel's minimal policy",
    file="/setup/mdp-policy",
    work="user_u:object_r:base_t:s0",
    domains={
        "unconfined": (
            "user_u:base_r:base_t:s0",
            "one type may do everything: only a type that lsmeter added is denied",
        )
    },
    files=(SetupFile("mdp-policy", artifact="mdp-policy"),),
    prepare=(
        guest.do("mkdir", "/srv"),
        guest.do("mkdir", "/srv/lsmeter"),
        guest.do("mount", "tmpfs", "/srv/lsmeter"),
        guest.do("file", guest.SECRET, "secret"),
    ),
    label=(guest.do("label", guest.SECRET, _XATTR, "user_u:object_r:lsmeter_secret_t:s0"),),
)


def _setup(values: Values, *, enforcing: bool) -> Setup:
    """Return the setup for these parameters; UsageError for those that do not go together."""
    mode = "enforcing" if enforcing else "permissive"
    base = f"selinux-{mode}"
    for one, other, why in _CONFLICTS:
        if _has(values, one) and _has(values, other):
            raise UsageError(f"{base}: {one} does not go with {other}: {why}")
    cold = _COLD_LABELS if _has(values, "cold=on") else 0
    label_files, label_steps = _labelled(max(values["pressure"], cold))
    policy = _MDP if _has(values, "policy=mdp") else _DEFAULT
    booleans = _booleans(values)
    context, note = policy.domains[values.word("domain")]
    titles = (text.format(**values.settings) for one, text in _TITLES if _has(values, one))
    secret = guest.denies if enforcing else guest.allows
    notes = [_GRANTS_NOTE] if _has(values, "grants=on") else []
    notes += [] if enforcing else ["what would be denied is logged and allowed"]
    return Setup(
        name=values.name(base),
        title=", ".join((f"SELinux {mode}, {policy.title}", *titles)),
        lsms=("selinux",),
        cmdline=(*_CMDLINE, *([_BACKLOG] if _has(values, "grants=on") else [])),
        expect=_expectations(policy, values, context, enforcing=enforcing),
        needs_config=("SECURITY_SELINUX", "SECURITY_SELINUX_DEVELOP", "AUDIT"),
        image=policy.image,
        files=policy.files + label_files,
        steps=_steps(policy, values, label_steps, enforcing=enforcing),
        # The minimal policy has one domain, in which every process is already.
        confine=() if policy is _MDP else (("/proc/self/attr/current", context),),
        checks=(
            secret("read-secret", "read", guest.SECRET, _DENIED),
            guest.allows("read-public", "read", guest.PUBLIC),
        ),
        states=_STATES,
        counters=(_AVC,),
        reads=tuple((f"selinux.{name}", f"{_SELINUXFS}/booleans/{name}") for name in booleans),
        policies=() if policy is _MDP else (("selinux", mode),),
        before=_before(values, context),
        over=values.name("selinux-permissive") if enforcing else "selinux",
        layer=Layer.POLICY if enforcing else Layer.PERMISSIVE,
        note="; ".join((note, *notes)),
    )


def _has(values: Values, setting: str) -> bool:
    """Say whether a setting (cold=on), or a value other than the default (avc), was chosen."""
    name, _, word = setting.partition("=")
    return values.word(name) == word if word else values.word(name) != _DEFAULTS.word(name)


def _booleans(values: Values) -> dict[str, str]:
    """Return the booleans that are changed, and what to; UsageError for one that is both."""
    named = ((key, state) for key, state in (("on", "1"), ("off", "0")) if _has(values, key))
    changed = [(values.word(key).replace("-", "_"), state) for key, state in named]
    if _has(values, "content=unconfined"):
        changed.append((_CGI, "1"))
    for name, state in changed:
        if dict(changed)[name] != state:
            raise UsageError(f"SELinux: the boolean {name} cannot be on and off")
    return dict(changed)


def _steps(
    policy: _Policy, values: Values, labels: tuple[Step, ...], *, enforcing: bool
) -> tuple[Step, ...]:
    """Return what brings the policy into force, and labels what the benchmarks work on."""
    file = _AUDITALLOW if _has(values, "grants=on") else policy.file
    made: list[Step] = [
        *policy.prepare,
        guest.TRY,
        guest.LOG_ALL,
        guest.do("mount", "selinuxfs", _SELINUXFS),
        # In memory beforehand: how long a disk takes is not the policy's doing.
        *((guest.shell(f"cat {file} > /dev/null"),) if policy.image else ()),
        guest.do("load", f"{_SELINUXFS}/load", file, title="policy load"),
        *policy.label,
        guest.WORK,
    ]
    if _has(values, "labels=labelled"):
        made.append(guest.do("label", guest.WORK_DIRECTORY, _XATTR, policy.work))
    made.append(guest.MAKE_PUBLIC)
    if _has(values, "avc"):
        made.append(guest.do("write", _THRESHOLD, str(values["avc"])))
    made += labels
    for name, state in _booleans(values).items():
        made.append(guest.do("run", "/usr/sbin/setsebool", name, state, title=f"setting {name}"))
    if _has(values, "content=unconfined"):
        made += _CONTENT_STEPS
    if _has(values, "grants=on"):
        made.append(guest.KAUDITD_LAST)
    if enforcing:
        made.append(guest.do("write", f"{_SELINUXFS}/enforce", "1"))
    return tuple(made)


def _before(values: Values, context: str) -> tuple[Step, ...]:
    """Return what is done before each reading.

    The AVC is emptied by what the kernel does when it is full: it may hold nothing for as long as
    a few labels are met. Its other ways, a change of mode, a boolean or a policy, wait for grace
    periods of RCU, and the last two also have every open file checked anew.
    """
    visit = Step("visit", (_LABELS,))
    if _has(values, "cold=on"):
        none, all_ = (guest.do("write", _THRESHOLD, size) for size in ("0", str(values["avc"])))
        return (none, visit, all_)
    # The labels are met by the domain that is measured, in the same chains of the AVC.
    enter = Step("enter", ("/proc/self/attr/current", context))
    return (enter, visit) if _has(values, "pressure") else ()


def categories(count: int) -> tuple[str, ...]:
    """Return as many different sets of one or two of 1,024 categories."""
    singles = [f"c{number}" for number in range(1024)]
    pairs = (f"c{i},c{j}" for i in range(1024) for j in range(i + 1, 1024))
    rest = max(count - len(singles), 0)
    return (*singles[:count], *(pair for pair, _ in zip(pairs, range(rest), strict=False)))


def _labelled(count: int) -> tuple[tuple[SetupFile, ...], tuple[Step, ...]]:
    """Return what makes one file for each label, in a tmpfs: its labels need no disk."""
    if not count:
        return (), ()
    text = "".join(
        f'# file: labels/f{number}\n{_XATTR}="{_DEFAULT.work}:{word}"\n\n'
        for number, word in enumerate(categories(count))
    )
    return (SetupFile("labels", text=text),), (
        guest.do("mkdir", _LABELS),
        guest.do("mount", "tmpfs", _LABELS),
        guest.do("label", _LABELS, _XATTR, _DEFAULT.work),
        guest.shell(f"cd / && {_empty_files(_LABELS, count)}"),
        guest.shell("cd / && setfattr --restore=/setup/labels"),
    )


def _expectations(
    policy: _Policy, values: Values, context: str, *, enforcing: bool
) -> tuple[Expectation, ...]:
    why = "what is refused has to be refused" if enforcing else "nothing may be refused"
    labelled = Expectation("work.label", policy.work, "the file system must keep labels")
    return (
        Expectation("selinux.enforce", str(int(enforcing)), why),
        Expectation("selinux.policy_loaded", "1", "this setup measures a policy"),
        Expectation("worker.context", context, "every worker has to be in its domain"),
        Expectation("selinux.avc_threshold", str(values["avc"]), "the AVC has to be of this size"),
        *((labelled,) if _has(values, "labels=labelled") else ()),
        *(
            # What is in force, and what would be after a commit.
            Expectation(f"selinux.{name}", f"{state} {state}", "this setup changes the boolean")
            for name, state in _booleans(values).items()
        ),
    )


def _empty_files(directory: str, count: int) -> str:
    return f"i=0; while [ $i -lt {count} ]; do : > {directory}/f$i; i=$((i + 1)); done"


def _relabelled(values: Values) -> Setup:
    """Return what it costs to label files anew, as at the start of a relabelled system."""
    files = values["files"]
    permissive = _setup(Values(_PARAMETERS), enforcing=False)
    make: list[Step] = []
    label: list[Step] = []
    for name, count, what in (("few", 1, "1 file"), ("many", files, f"{files} files")):
        directory, title = f"/srv/lsmeter/{name}", f"relabelling {what}"
        make += (
            guest.do("mkdir", directory),
            guest.do("label", directory, _XATTR, "system_u:object_r:tmp_t:s0"),
            guest.shell(_empty_files(directory, count)),
        )
        label += (
            guest.do("run", "/usr/sbin/setfiles", _CONTEXTS, directory, title=title),
            # Fails if a wrong label is left.
            guest.shell(f'test -z "$(setfiles -n -v {_CONTEXTS} {directory})"'),
        )
    return replace(
        permissive,
        name=values.name("selinux-relabel"),
        title=f"SELinux permissive, after {files} files were labelled anew",
        steps=(*permissive.steps, *make, *label),
        over="selinux-permissive",
        note="for its one-off costs: files on an ext4 disk, contexts looked up by setfiles, which "
        "reads the policy's file contexts first; operations cost what they do without it",
    )


def network_enforcing() -> Setup:
    """Return Debian's policy enforced, with the rules that a labelled network needs."""
    made = _setup(_DEFAULTS, enforcing=True)
    steps = (
        replace(step, words=tuple(word.replace(_DEFAULT.file, _NETWORK) for word in step.words))
        for step in made.steps
    )
    return replace(made, steps=tuple(steps))


SETUPS = (
    Setup(
        name="selinux",
        title="SELinux without a policy",
        lsms=("selinux",),
        cmdline=_CMDLINE,
        expect=(
            Expectation("selinux.enforce", "0", "a policy that is enforced is another setup"),
            Expectation("selinux.policy_loaded", "0", "this setup measures hooks only"),
        ),
        needs_config=("SECURITY_SELINUX",),
        counters=(_AVC,),
        note=f"{HOOKS_ONLY}; hooks ask the access vector cache all the same",
    ),
    SetupDefinition(partial(_setup, enforcing=False), _PARAMETERS),
    SetupDefinition(partial(_setup, enforcing=True), _PARAMETERS),
    SetupDefinition(_relabelled, (Parameter("files", "files relabelled", 1000, (1, 20_000)),)),
)
