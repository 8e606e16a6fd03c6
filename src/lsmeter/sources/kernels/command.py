# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter kernel`: kernels built from source, for `--kernel built:NAME`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from lsmeter.cli.console import SCREEN
from lsmeter.cli.options import argument, declared
from lsmeter.cli.show import deliver, listed, show
from lsmeter.core.model.arch import find_arch
from lsmeter.tables.fields import Field, named, tabled
from lsmeter.tables.model import Document, Kind, Shown

if TYPE_CHECKING:
    from lsmeter.sources.kernels.sources.built import BuiltKernel

HELP = """Build kernels from source, list and remove them.

`lsmeter kernel build debian-source:6.1 --config lsm-all` builds every security module into
one kernel; `--config dac` builds the baseline without any. A built kernel is used like any
other: `lsmeter run --kernel built:6.1-lsm-all`.
"""

Name = Annotated[str, argument("NAME", "The kernel's name, with or without `built:`.")]


def build(
    source: Annotated[
        str, argument("SOURCE", "debian-source:6.1 (6.12, 7.2), a tarball, or a kernel tree.")
    ],
    config: Annotated[list[str] | None, declared("kernel-build.config")] = None,
    with_lsm: Annotated[list[Path] | None, declared("kernel-build.with_lsm")] = None,
    name: Annotated[str | None, declared("kernel-build.name")] = None,
    *,
    arch: Annotated[str | None, declared("kernel-build.arch")] = None,
    offline: Annotated[bool, declared("kernel-build.offline")] = False,
    fresh: Annotated[bool, declared("kernel-build.fresh")] = False,
) -> None:
    """Build a kernel and print its name.

    A tree is never changed; one with uncommitted changes is built as it is. Fragments are dac,
    lsm-all, tunable, mitigations, tracing. A module of yours is a directory with Kconfig, Makefile
    and C files.

    What is unchanged is not built again. After a change in one file only that file is compiled
    and the kernel linked. When an option is not available, the error names it and the reason.

    A first build of lsm-all takes minutes; `dac` and `lsm-all` of one source differ in nothing
    but security, so compare them for the cost of the hooks.
    """
    from lsmeter.cli.live import LiveTasks
    from lsmeter.sources.kernels.build.builder import DEFAULT_CONFIGS, build_kernel
    from lsmeter.sources.kernels.resolve import Request
    from lsmeter.sources.kernels.sources.built import get_built

    with LiveTasks(SCREEN.err) as tasks:
        request = Request(offline=offline, refresh=fresh, progress=tasks)
        of = find_arch(arch, where="--arch") if arch else None
        kernel = build_kernel(source, config or DEFAULT_CONFIGS, with_lsm or (), name, request, of)
    SCREEN.say(f"{kernel.release}: {kernel.origin}")
    for missing, why in get_built(kernel.name).without:
        SCREEN.say(f"without {missing}: {why}")
    SCREEN.say(f"use it: lsmeter run --kernel {kernel.name}")
    deliver(kernel.name)


def list_kernels() -> None:
    """List built kernels: name, release, size, time of the build, what it was built from."""
    from lsmeter.sources.kernels.sources.built import KERNELS

    show(kernels_document(KERNELS.all()))


def kernels_document(kernels: Sequence[BuiltKernel]) -> Document:
    """Make the list of built kernels; pure."""
    fields = (
        *(named("name", lambda kernel: f"built:{kernel.name}"), named("release")),
        Field("image_mib", "MiB", lambda kernel: kernel.image_bytes >> 20),
        Field(
            "build_s", "built in s", lambda kernel: Shown(kernel.build_s, f"{kernel.build_s:.0f}")
        ),
        Field("origin", "from", kind=Kind.PROSE),
    )
    empty = "no kernel has been built; try: lsmeter kernel build debian-source:6.1"
    notes = () if kernels else (empty,)
    table = tabled("kernels", "", fields, kernels)
    return listed("lsmeter-kernel-list", "Built kernels", table, notes=notes)


def find(
    pattern: Annotated[str, argument("PATTERN", "'debian:6.12.*', 'debian:*'.")],
    *,
    offline: Annotated[bool, declared("kernel-find.offline")] = False,
) -> None:
    """Print the name of each kernel that fits a pattern, the oldest first.

    They are builds of Debian's archive, for `--kernel`; nothing is fetched but package lists.

        lsmeter kernel find 'debian:6.12.*'
    """
    from lsmeter.cli.live import LiveTasks
    from lsmeter.sources.kernels.resolve import Request, expand

    with LiveTasks(SCREEN.err) as tasks:
        names = expand([pattern], Request(offline=offline, progress=tasks))
    deliver("\n".join(names))


def path(name: Name) -> None:
    """Print the path of a built kernel's image; System.map and config lie beside it."""
    from lsmeter.sources.kernels.sources.built import get_built

    deliver(str(get_built(name).image))


def remove(name: Name) -> None:
    """Remove a built kernel, and its objects when no other kernel was built from them."""
    from lsmeter.sources.kernels.sources.built import remove_built

    removed = remove_built(name)
    SCREEN.say(f"removed built:{removed.name}")
