# SPDX-License-Identifier: GPL-2.0-or-later
"""What setups compute from their parameters: texts of policies, by the family's name.

Each function takes the parameters' values and the lists of the family's file, and returns further
values. One that is a list has values for each of several items.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, islice
from typing import Any

from lsmeter.catalogue.setups import inject
from lsmeter.core.errors import UsageError
from lsmeter.core.model.filesystems import FILESYSTEMS, UUID

Values = Mapping[str, str]
Lists = Mapping[str, Sequence[str]]

# Those that the kernel's own policy "tcb" does not measure (ima_policy.c, dont_measure_rules),
# but for tmpfs: proc, sysfs, debugfs, devpts, binfmtfs, securityfs, selinuxfs, smackfs, cgroup,
# cgroup2, nsfs, efivarfs.
_PSEUDO = (
    *(0x9FA0, 0x62656572, 0x64626720, 0x1CD1, 0x42494E4D, 0x73636673),
    *(0xF97CFF8C, 0x43415D53, 0x27E0EB, 0x63677270, 0x6E736673, 0xDE5E81E4),
)
# By action: the first word of a rule for other file systems, and a rule.
_IMA = {
    "measure": ("dont_measure", "measure func=FILE_CHECK mask=^MAY_READ"),
    "appraise": ("dont_appraise", "appraise func=FILE_CHECK"),
    "audit": ("audit func=FILE_CHECK", "audit func=FILE_CHECK mask=^MAY_READ"),
}
# Each label met while the AVC may hold nothing makes the kernel reclaim 16 entries
# (AVC_CACHE_RECLAIM): 16 labels take out 256, and a benchmark brings in fewer than 30.
_COLD_LABELS = 16
_CATEGORIES = 1024
_CGI = "httpd_enable_cgi"  # what unconfined content of a web server needs


def _apparmor(values: Values, _: Lists) -> dict[str, Any]:
    rules, place = values["rules"], values["place"]
    if (place, rules) == ("near", "10000"):
        raise UsageError(
            "apparmor-enforcing: the image has no profile of 10000 rules near the suite's paths",
            hint="it takes minutes to compile; at most rules=1000,place=near",
        )
    kind = "near" if place == "near" else "rules"
    first = "lsmeter-enforce" if rules == "0" else f"lsmeter-{kind}-{rules}"
    layers = range(2, int(values["profiles"]) + 1)
    stack = [first, *(f"lsmeter-stack-{layer}" for layer in layers)]
    # The kernel sorts the profiles of a stack by name.
    label = "//&".join(sorted(stack))
    return {"stack": [{"profile": name} for name in stack], "stack_label": label}


def _ima(values: Values, _: Lists) -> dict[str, Any]:
    """Return rules on what the benchmarks work on, whoever works on it.

    tmpfs and overlay go by their magic numbers, what lies on a disk by the UUID that lsmeter gives
    it, because the root of a guest may be another ext4.
    """
    count = int(values["rules"])
    others = (*_PSEUDO, *(0x6C736D00 + number for number in range(count - len(_PSEUDO))))
    tmpfs, overlay = (f"fsmagic={FILESYSTEMS[name].magic:#x}" for name in ("tmpfs", "overlay"))
    return {
        action: _lines(
            *(f"{exempt} fsmagic={magic:#x}" for magic in others[:count]),
            *(f"{rule} {where}" for where in (tmpfs, f"fsuuid={UUID}", overlay)),
        )
        for action, (exempt, rule) in _IMA.items()
    }


def _smack(values: Values, lists: Lists) -> dict[str, Any]:
    further = [f"Worker L{index:05d} rw" for index in range(int(values["rules"]))]
    # The kernel puts each new rule of a label before the others.
    return _rules(further, lists["needed"], first=values["found"] == "first")


def _tomoyo(values: Values, lists: Lists) -> dict[str, Any]:
    of = "command" if values["domain"] == "command" else "needed"
    needed = lists[of] if values["learned"] == "all" else ()
    further = further_rules(int(values["rules"]))
    found = _rules(further, needed, first=values["found"] == "last")
    counted = sum(rule.startswith("file ") for rule in (*further, *needed))  # by the guest
    return {**found, "count": str(counted)}


def _rules(further: Sequence[str], needed: Sequence[str], *, first: bool) -> dict[str, Any]:
    """Return a policy's text and how many rules it has; first: the further ones stand first."""
    rules = (*further, *needed) if first else (*needed, *further)
    return {"policy": _lines(*rules), "count": str(len(rules))}


def further_rules(count: int) -> list[str]:
    """Return rules that no benchmark ever meets, as the image's AppArmor profiles have them."""
    rules, number = [], 1
    for index in range(count):
        number = number * 16807 % 2147483647  # Lehmer's generator: names without order
        rules.append(f"file read/write /srv/lsmeter/rules/{number:08x}/{index % 97}")
    return rules


def _selinux(values: Values, _: Lists) -> dict[str, Any]:
    met = _COLD_LABELS if values["cold"] == "on" else int(values["pressure"])
    labels = "".join(
        f"# file: labels/f{number}\n"
        f'security.selinux="system_u:object_r:lsmeter_work_t:s0:{word}"\n\n'
        for number, word in enumerate(categories(met))
    )
    states = (("on", "1"), ("off", "0"))
    changed = [(values[k].replace("-", "_"), state) for k, state in states if values[k] != "none"]
    if values["content"] == "unconfined":
        changed.append((_CGI, "1"))
    for name, state in changed:
        if dict(changed)[name] != state:
            raise UsageError(f"SELinux: the boolean {name} cannot be on and off")
    booleans = [{"boolean": name, "state": state} for name, state in dict(changed).items()]
    return {"met": str(met or ""), "label_list": labels, "booleans": booleans}


def categories(count: int) -> tuple[str, ...]:
    """Return as many different sets of one or two of 1,024 categories."""
    singles = [f"c{number}" for number in range(_CATEGORIES)]
    pairs = (f"{one},{other}" for one, other in combinations(singles, 2))
    return (*singles[:count], *islice(pairs, max(count - _CATEGORIES, 0)))


def _inject(values: Values, _: Lists) -> dict[str, Any]:
    injection = inject.INJECTIONS[values["cost"]]
    module, bpf = (injection.by(way) for way in (inject.Way.MODULE, inject.Way.BPF))
    costs = module.text if values["burn"] == "yes" else module.unburnt.text
    return {"injected": injection.title, "costs": costs, "bpf_costs": bpf.text}


def _lines(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)


COMPUTED: Mapping[str, Callable[[Values, Lists], dict[str, Any]]] = {
    "apparmor": _apparmor,
    "inject": _inject,
    "integrity": _ima,
    "selinux": _selinux,
    "smack": _smack,
    "tomoyo": _tomoyo,
}
