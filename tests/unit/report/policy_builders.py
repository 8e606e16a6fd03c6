# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds reports of runs with policies: proofs, layers, states, one-off costs, their origins."""

from __future__ import annotations

from dataclasses import replace

from lsmeter.core.model import Benchmark, Problem
from lsmeter.core.model.setup import Layer, Link
from lsmeter.measure.results.manifest import ManifestCell
from lsmeter.questions.attribution.account import Account, Explained
from lsmeter.questions.attribution.cost import Amount, Cost, Site
from lsmeter.questions.attribution.explain import explain
from lsmeter.questions.attribution.load import AttributedCell
from lsmeter.questions.attribution.profile import Context, Function
from lsmeter.questions.cells.evidence import (
    BOOT_TITLE,
    CheckOutcome,
    Counter,
    Gauge,
    OneOffCost,
    StateChange,
)
from lsmeter.questions.cells.layers import layered_costs
from lsmeter.questions.cost.model import Report
from tests.unit.report import builders

KERNEL = builders.KERNELS[0]
LINKS = (
    Link("dac", "", ()),
    Link("capability", "dac", (Layer.HOOKS,)),
    Link("selinux", "capability", (Layer.HOOKS,)),
    Link("selinux-permissive", "selinux", (Layer.PERMISSIVE,)),
    Link("selinux-enforcing", "selinux-permissive", (Layer.POLICY,)),
    Link("selinux-enforcing+audit-rules", "selinux-enforcing", (Layer.AUDIT,)),
    Link("selinux-enforcing+audit-rules+ima", "selinux-enforcing+audit-rules", (Layer.INTEGRITY,)),
    Link("apparmor", "capability", (Layer.HOOKS,)),
    Link("apparmor-enforcing:rules=512", "apparmor", (Layer.POLICY,)),
)
SETUPS = tuple(link.setup for link in LINKS if link.setup != "dac")
# Instructions that a setup adds to the one below it, beside the path walk.
ADDED = {
    "capability": 0,
    "selinux": 412,
    "selinux-permissive": 655,
    "selinux-enforcing": -7,
    "selinux-enforcing+audit-rules": 1203,
    "selinux-enforcing+audit-rules+ima": 96,
    "apparmor": 118,
    "apparmor-enforcing:rules=512": 2950,
}
AVC = (
    'audit: type=1400 audit(1.234:5): avc:  denied  { read } for  pid=77 comm="init" '
    'name="secret" dev="vda" ino=1234 scontext=system_u:system_r:lsmeter_confined_t:s0 '
    "tcontext=system_u:object_r:lsmeter_secret_t:s0 tclass=file permissive=0"
)


def benchmarks() -> tuple[Benchmark, ...]:
    found = [builders.benchmark("empty"), builders.benchmark("getppid")]
    for operation in ("stat", "open"):
        found += [builders.benchmark(operation, depth=depth) for depth in (4, 1)]
    return (*found, builders.benchmark("rename", depth=1), builders.benchmark("read", size=4096))


def above(setup: str) -> int:
    """Return what a setup and all below it add."""
    links = {link.setup: link for link in LINKS}
    total = 0
    while setup in links:
        total += ADDED.get(setup, 0)
        setup = links[setup].over
    return total


def proof(setup: str, name: str, *, denied: bool, held: int = 2) -> CheckOutcome:
    went = denied if held else not denied
    return CheckOutcome(
        place=builders.place(setup),
        name=name,
        access="read",
        path="/srv/lsmeter/" + name.removeprefix("read-"),
        denied=denied,
        happened="denied" if went else "allowed",
        error="EACCES" if went else "",
        before="allowed",
        message=AVC if went else "",
        held=held,
        boots=2,
    )


def state(setup: str, item: Benchmark, boot: int) -> StateChange:
    return StateChange(
        place=builders.place(setup),
        benchmark=item,
        state="avc",
        boot=boot,
        readings=120,
        counters=(
            Counter("lookups", 1440 + boot),
            Counter("hits", 1438),
            Counter("misses", 2 + boot),
            Counter("allocations", 2),
            Counter("reclaims", 0),
            Counter("frees", 0),
        ),
        gauges=(
            Gauge("entries", 505, 507),
            Gauge("buckets_used", 251, 251),
            Gauge("buckets_used_of", 512, 512),
            Gauge("longest_chain", 6, 7),
        ),
    )


def one_off(setup: str, title: str, insns: int) -> OneOffCost:
    return OneOffCost(builders.place(setup), title, insns, insns - 300, insns + 12, 2)


def origin(setup: str, over: str) -> Account:
    """Make an account of six operations, one of which has all that changed."""
    hook = Site(Context.CALL, "security_inode_permission", Function("avc_has_perm", "selinux"))
    rest = Site(Context.CALL, "security_file_open", Function("file_has_perm", "selinux"))
    outside = Site(Context.CALL, "", Function("dput"))
    cost = Cost({hook: Amount(24, 2800), rest: Amount(2, 900), outside: Amount(2, 230)}, {})
    cells = [
        AttributedCell(
            ManifestCell("", builders.place(name), ()),
            *({}, {}, {}, frozenset(), {}, {}, 0.01),
        )
        for name in (over, setup)
    ]
    old, new = cells
    nothing = Cost({}, {})
    found = {str(number): explain(nothing, nothing) for number in range(5)}
    operations = {**found, "open": explain(nothing, cost)}
    return Account(old, new, {}, Explained(operations), Explained({}))


def report() -> Report:
    """Return a report of SELinux, AppArmor, audit and IMA, layer upon layer."""
    chosen = benchmarks()
    estimates = tuple(
        builders.estimate(
            item,
            setup,
            builders.cost(item, "capability") + (0 if item.control else above(setup)),
            repeats=item.operation != "rename",
        )
        for setup in SETUPS
        for item in chosen
    )
    whole = builders.report(setups=SETUPS, benchmarks=chosen)
    values = {(item.place.setup, item.benchmark.id): item.centre for item in estimates}
    failed = "smack-enforcing"
    return replace(
        whole,
        estimates=estimates,
        comparisons=tuple(
            builders.comparison(item, setup, values[setup, item.id], values["capability", item.id])
            for setup in SETUPS[1:]
            for item in chosen
        ),
        problems=(
            Problem(
                f"{failed} on {KERNEL}: boot 0: wrong-setup",
                KERNEL,
                failed,
                detail="proof read-secret did not hold: read /srv/lsmeter/secret has to be "
                "denied, and was allowed: the policy is not enforced",
            ),
        ),
        setups=tuple(replace(facts, note="") for facts in whole.setups),
        checks=(
            proof("selinux-enforcing", "read-secret", denied=True),
            proof("selinux-enforcing", "read-public", denied=False),
            proof(failed, "read-secret", denied=True, held=0),
        ),
        layers=layered_costs(LINKS, estimates, {KERNEL: "6.1.0"}),
        layer_origins=(
            origin("selinux", "capability"),
            origin("selinux-permissive", "selinux"),
        ),
        states=tuple(state("selinux-enforcing", item, boot) for boot in (0, 1) for item in chosen),
        one_off=(
            one_off("capability", BOOT_TITLE, 31_000_512),
            one_off("selinux-enforcing", "policy load", 412_000_000),
            one_off("selinux-enforcing", "relabelling 1,000 files", 58_123_456),
            one_off("selinux-enforcing", BOOT_TITLE, 33_000_512),
        ),
    )
