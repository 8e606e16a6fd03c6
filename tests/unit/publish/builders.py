# SPDX-License-Identifier: GPL-2.0-or-later
"""Points over releases without a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

from lsmeter.core.model.conclusion import Comparison, Number
from lsmeter.questions.publish.figures import Graph, Origin, Point, Release, Site, make_site
from lsmeter.questions.publish.hooks import KnownParts, Parts, move_hooks
from tests.unit.model_builders import change
from tests.unit.report import builders

BASE = 1000.0
VERSIONS = ("5.10.262-1", "6.1.192-2", "6.12.43-1", "6.12.113-1", "7.2.13-1", "7.3~rc7-1~exp1")
TOOLS = (("qemu", "7.2"), ("probe", "ab" * 32))


def release(version: str, compiler: str = "gcc-12") -> Release:
    return Release(version, f"{version}-cloud", "bookworm", "cd" * 32, compiler)


def compared(value: float, depth: int = 1, operation: str = "open") -> Comparison:
    """Build a benchmark of which every number adds the same."""
    item = builders.comparison(builders.benchmark(operation, depth=depth), "selinux", value, BASE)
    return replace(item, whole=change(BASE, value), mean=None)


def parts(of: Point, **hooks: float) -> KnownParts:
    """Build parts of which each hook's instructions are in a function of its name."""
    found = Parts(hooks, {(name, f"do_{name}"): insns for name, insns in hooks.items()})
    return {
        (of.hooks[Number.TYPICAL], of.found.place, of.found.benchmark.id): dict.fromkeys(
            Number, found
        )
    }


def point(
    version: str,
    value: float,
    *,
    setup: str = "selinux",
    depth: int = 1,
    operation: str = "open",
    compiler: str = "gcc-12",
    created: str = "2026-11-25T10:00:00+00:00",
    found: Comparison | None = None,
    traced: bool = False,
) -> Point:
    item = found or compared(value, depth, operation)
    graph = Graph(
        *("file", item.benchmark.id, operation, setup, "capability", "tmpfs", "root"),
        *(1, "exact", "insns"),
    )
    origin = Origin("run", created, "lsmeter run", "11" * 8, "22" * 8, 0.01, TOOLS)
    hooks = dict.fromkeys(Number, Path(f"{version}-{setup}")) if traced else {}
    return Point(graph, release(version, compiler), item, origin, hooks)


def line(values: Iterable[float], **more: object) -> Iterator[Point]:
    """Yield the points of one graph over VERSIONS."""
    for version, value in zip(VERSIONS, values, strict=False):
        yield point(version, value, **more)  # type: ignore[arg-type]


def site(kernels: int = 4, setups: int = 5, benchmarks: int = 3) -> Site:
    """Build a site whose overheads change now and then."""
    points, known = [], KnownParts()
    for kernel, number, depth in product(range(kernels), range(setups), range(1, benchmarks + 1)):
        moved = 30.0 * (kernel // 3) * (number == 1)
        made = point(
            f"6.{kernel // 5}.{kernel}-1",
            BASE + 200 + 40 * number + moved,
            setup=f"setup-{number}",
            depth=depth,
            operation=("open", "stat")[depth % 2],
            traced=True,
        )
        points.append(made)
        known |= parts(made, security_inode_permission=moved)
    found = make_site(points)
    return replace(found, steps=move_hooks(found.steps, known))
