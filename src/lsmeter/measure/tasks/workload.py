# SPDX-License-Identifier: GPL-2.0-or-later
"""A service under load: batches of units, and whose instructions they took."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lsmeter.core.model import BenchmarkStatus, Cell, Samples, Setup
from lsmeter.core.model.arch import MEMORY_DISK
from lsmeter.core.model.setup import Layer, ordered
from lsmeter.core.model.workload import Client, Workload
from lsmeter.core.printable import printable
from lsmeter.measure.tasks import TaskKind
from lsmeter.measure.tasks.tally import PLUGIN

_LIBRARY = "/usr/lib/lsmeter"
_ENTER = ("/usr/bin/nsenter", "--net=/run/netns/{}")
_RUNCON = "/usr/bin/runcon"
_RESTORECON = "/usr/sbin/restorecon"
_DATA = "/data"  # where `place` puts what services work on
_INITRC = "system_u:system_r:initrc_t:s0"  # what Debian's policy starts services from
_USER = "unconfined_u:unconfined_r:unconfined_t:s0"
# What is done once in each guest, by name.
_LABELLING = "labelling the data"
_POLICIES = {
    "selinux": "labelling /dev, setting booleans",
    "apparmor": "loading compiled profiles",
}
SERVICES = "services until they answer"


@dataclass(frozen=True)
class _Form:
    """Where a client runs: words for `network`, its namespace, and what it is run through."""

    network: tuple[str, ...]
    namespace: str
    through: tuple[str, ...] = ()


_LINKS = ("cipso", "calipso", "secmark", "ipsec")
# What services are started from, and must not be left in.
_STARTERS = {"selinux": ("initrc_t", "init_t", "kernel_t"), "apparmor": ("unconfined",)}
_FORMS: Mapping[Client, _Form] = {
    "namespace": _Form((), "client"),
    "guest": _Form(("server",), "server", (f"{_LIBRARY}/remote",)),
    "loopback": _Form(("alone",), "server"),
}
_PAIR = re.compile(r"([a-z][a-z0-9_]{0,30})=([0-9]{1,15}(?:\.[0-9]{1,9})?)")
# Guest time until the first batch: the services start, and the first requests fill caches.
_SILENCE_S = 300.0
BATCH_MS = 300_000  # of guest time
# 4 ns an instruction: a tick comes every million, some ten requests, where a core of 3 GHz executes
# twelve. A slower clock still makes the kernel's start, which waits for it, longer.
_ICOUNT_SHIFT = 2


def policy_of(setup: Setup) -> tuple[str, str]:
    """Return the module whose policy a setup loads, and its mode; ("", "") where there is none."""
    return setup.policies[0] if setup.policies else ("", "")


def why_unconfined(setup: Setup, workload: Workload) -> str:
    """Say why the policy of a setup would not confine a workload's services; "" where it does."""
    modules = [module for module, _ in setup.policies]
    denies = any(check.denied for check in setup.checks) and setup.layer is not Layer.INTEGRITY
    if setup.before or setup.guest:
        return "services cannot be put under what it does to the probe's own processes"
    if len(modules) > 1:
        return f"services are put under one policy, not under those of {' and '.join(modules)}"
    own_links = any(step.action in _LINKS for step in setup.steps)
    unproved = denies and not modules and not setup.all_processes
    if len(setup.confine) > len(modules) or own_links or unproved:
        return "it has no domain for services: nothing would prove that it confines them"
    for service in workload.services if modules else ():
        if not getattr(service, modules[0]):
            return f"the workload names no domain of {modules[0]} for the service {service.name}"
    proved = workload.services or any(item.allowed != item.denied for item in workload.denials)
    if modules and not proved:
        return "the workload has neither a service nor a check that is denied: nothing proves it"
    return ""


def workload_of(cell: Cell) -> Workload:
    """Return the workload of a cell; ValueError where it has none."""
    if cell.task.workload is None:
        raise ValueError("the cell has no workload")
    return cell.task.workload


def _within(namespace: str, context: str, setup: Setup) -> tuple[str, ...]:
    """Return the words before a program that enter a network namespace, and a domain."""
    enter = tuple(word.format(namespace) for word in _ENTER)
    return (*enter, _RUNCON, context) if policy_of(setup)[0] == "selinux" else enter


def prepared(workload: Workload, setup: Setup) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return what a guest does before its services start: what it is called, and a program."""
    module, mode = policy_of(setup)
    places = tuple(f"{_DATA}/{name}" for name in workload.place)
    network = (f"{_LIBRARY}/network", *_FORMS[workload.client].network)
    found: list[tuple[str, tuple[str, ...]]] = [("network of server and client", network)]
    if places:
        found.append(("copying the data", (f"{_LIBRARY}/place", *workload.place)))
    if places and module == "selinux":
        found.append((_LABELLING, (_RESTORECON, "-R", "-F", *places)))
    if module:
        policy = (f"{_LIBRARY}/policy", module, mode, workload.name)
        found.append((_POLICIES[module], policy))
    return tuple(found)


def once_titles(workload: Workload, setup: Setup) -> tuple[str, ...]:
    """Return what each region after those of the benchmarks covers; "" for what has no name."""
    steps = (step.title for step in ordered(setup.steps, setup.checks))
    return (*steps, *(title for title, _ in prepared(workload, setup)), SERVICES)


def ask_clients(cell: Cell, through: tuple[str, ...] = ()) -> Mapping[str, Any]:
    """Ask for a client for each benchmark, once services answer; all is run through these words."""
    workload = workload_of(cell)
    batches = {batch.benchmark: batch for batch in workload.batches}
    return {
        "ready": tuple((*through, *item.ready) for item in workload.services),
        "asks": tuple((item.name, *through, *item.ask) for item in workload.denials),
        "clients": tuple(
            (name, str(batches[name].units), batches[name].account, *through, *batches[name].client)
            for name in cell.benchmarks
        ),
        "monitor_ms": cell.task.monitor_ms,
        "benchmark_deadline_ms": BATCH_MS,
    }


def request(cell: Cell) -> Mapping[str, Any]:
    """Ask for the services of the cell's workload, its checks, and a client for each benchmark."""
    workload, setup = workload_of(cell), cell.setup
    form = _FORMS[workload.client]
    server = _within("server", _INITRC, setup)
    return {
        **ask_clients(cell, (*_within(form.namespace, _USER, setup), *form.through)),
        "prepare": tuple(words for _, words in prepared(workload, setup)),
        "services": tuple(
            (item.name, item.process, *server, *item.start) for item in workload.services
        ),
        "once": once_titles(workload, setup),
        "settle_ms": workload.settle_ms,
    }


def verify(cell: Cell, facts: Mapping[str, str]) -> tuple[str, ...]:
    """Return how a guest's services are not in their domains, or were not refused anything."""
    module, mode = policy_of(cell.setup)
    wrong = []
    for service in workload_of(cell).services:
        if facts.get(f"service.{service.name}.processes", "0") == "0":
            wrong.append(f"service {service.name}: no process is called '{service.process}'")
        said = facts.get(f"service.{service.name}.contexts", "")
        wanted = {"selinux": service.selinux, "apparmor": service.apparmor}.get(module, "")
        found = {_domain(context, module, mode) for context in said.split(",")}
        if wanted and found != {wanted}:
            wrong.append(
                f"service {service.name}: expected its processes in {wanted}, {mode}; "
                f"they are in '{said[:200]}'"
            )
    for key in ("services.contexts", "services.contexts.after") if module else ():
        each = {_domain(context, module, mode) for context in facts.get(key, "").split(",")}
        left = sorted(each.intersection(_STARTERS[module]))
        wrong += [f"{key}: a process of the services is in {name}, no domain" for name in left]
    for denial in workload_of(cell).denials:
        asked = denial.denied if module and mode == "enforcing" else denial.allowed
        said = facts.get(f"ask.{denial.name}", "nothing")
        if said != asked:
            wrong.append(
                f"enforcement check {denial.name}: expected '{asked}', the client was told "
                f"'{said[:200]}'"
            )
    return tuple(wrong)


def _domain(context: str, module: str, mode: str) -> str:
    """Return the type or the profile of a process, if it is under the mode that was asked for."""
    if module == "selinux":
        return context.split(":")[2] if context.count(":") >= 2 else context
    suffix = {"enforcing": " (enforce)", "permissive": " (complain)"}.get(mode, "")
    return context.removesuffix(suffix) if context.endswith(suffix) else context


def said_by(line: str) -> dict[str, float]:
    """Read the last line of a client: its pairs of key and number, all others left out."""
    return {found[1]: float(found[2]) for found in map(_PAIR.fullmatch, line.split()) if found}


def judge(cell: Cell, samples: Samples) -> Samples:
    """Take a benchmark for failed if a client says that a unit was not answered as it must be."""
    units = {batch.benchmark: batch.units for batch in workload_of(cell).batches}
    for line in samples.said if samples.status is BenchmarkStatus.OK else ():
        said = said_by(line)
        sound = said.get("failed") == said.get("timeouts", 0) == 0
        if sound and said.get("units") == units[samples.benchmark]:
            continue
        why = f"{units[samples.benchmark]} units were asked for, and the client says: "
        return replace(
            samples,
            status=BenchmarkStatus.FAILED,
            values=(),
            detail=why + printable(line[:300]),
        )
    return samples


TASK = TaskKind(
    "workload",
    "services under load, counted by account",
    request,
    needs=("VETH", "NET_NS"),
    # The image's disk, the link, the layers of containers.
    modules=(MEMORY_DISK, "veth", "overlay"),
    icount_shift=_ICOUNT_SHIFT,
    plugin=PLUGIN,
    silence_s=_SILENCE_S,
    verify=verify,
    judge=judge,
)
