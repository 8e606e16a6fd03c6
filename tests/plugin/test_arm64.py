# SPDX-License-Identifier: GPL-2.0-or-later
"""arm64: the trees have what the clock counted, and what a plugin counts that does nothing else."""

from __future__ import annotations

import asyncio
import subprocess
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.core.limits import Limits
from lsmeter.core.model import Cell, Conditions, Sampling, Task
from lsmeter.core.model.arch import ARM64
from lsmeter.guest.boot_image import initramfs_for, make_request
from lsmeter.guest.capture import Capture
from lsmeter.guest.session import parse_session
from lsmeter.machines.description import Plugin, guest_of
from lsmeter.machines.emulation import make_plugin
from lsmeter.machines.plugin_sources import plugin_interface, source_dir
from lsmeter.machines.qemu import qemu_version, run_guest
from lsmeter.measure.tasks.attribute import ATTRIBUTION, MARKER_INSNS
from lsmeter.questions.attribution.profile import parse_profile
from lsmeter.sources.kernels.resolve import resolve

pytestmark = pytest.mark.guest

BENCHMARKS = (
    *("creat depth=2", "mkdir depth=2", "open depth=8", "read size=1024", "rename depth=2"),
    "stat depth=8",
)


@pytest.fixture(scope="module")
def cell() -> Cell:
    return Cell(
        kernel=resolve("debian:6.12:arm64"),
        setup=parse_setup("selinux"),
        suite="file",
        filesystem="tmpfs",
        user="root",
        instrument="exact",
        conditions=Conditions(cpu=ARM64.cpu),
        sampling=Sampling(samples=5, warmup=5, whole_ppm=0),
        benchmarks=BENCHMARKS,
        task=Task("attribute"),
    )


def boot(cell: Cell, plugin: Plugin) -> Capture:
    guest = replace(guest_of(cell, 42), plugin=plugin)
    return asyncio.run(run_guest(guest, initramfs_for(cell, 42), Limits(), units=cell.units))


def values(cell: Cell, capture: Capture) -> dict[str, tuple[int, ...]]:
    session = parse_session(capture.results, make_request(cell, 42))
    return {item.benchmark: tuple(item.values) for item in session.samples}


def counter(folder: Path) -> Plugin:
    target, home = folder / "count_only.so", source_dir()
    flags: tuple[str, ...] = (
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-shared",
        "-fPIC",
        "-fvisibility=hidden",
    )
    flags += (f"-DLSMETER_PLUGIN_API={plugin_interface(qemu_version(ARM64))}", f"-I{home}")
    sources = (str(Path(__file__).with_name("count_only.c")), f"{home}/qemu_api.c")
    subprocess.run(["cc", *flags, "-o", str(target), *sources], check=True)
    return Plugin(str(target), outputs=(("counts", "out"),))


def test_trees_the_clock_and_another_count_agree(cell: Cell, tmp_path: Path) -> None:
    plugin = asyncio.run(make_plugin(ATTRIBUTION, cell.kernel, Limits(), memory_mib=256))
    attributed, counted = boot(cell, plugin), boot(cell, counter(tmp_path))
    read = values(cell, attributed)
    assert set(read) >= set(BENCHMARKS)
    assert values(cell, counted) == read  # a plugin changes nothing
    alone: dict[int, list[int]] = defaultdict(list)
    for line in counted.outputs["counts"].decode().splitlines():
        number, insns = map(int, line.split())
        alone[number].append(insns - MARKER_INSNS)
    profile = parse_profile(attributed.outputs[ATTRIBUTION].decode(), where="selinux")
    assert profile.whole
    for place, name in enumerate(read):
        region = profile.region(place)
        assert region is not None
        assert region.damaged == 0
        assert tuple(alone[place][-len(read[name]) :]) == read[name]
        assert {value + MARKER_INSNS for value in read[name]} <= dict(region.totals).keys()
        for tree in region.trees:
            assert sum(node.self_insns for node in tree.nodes) == tree.insns
            assert not [node for node in tree.nodes if node.self_insns < 0]
        calls: Counter[str] = Counter()
        for node in region.trees[0].nodes:
            calls[node.function.name] += node.calls
        if name == "open depth=8":
            assert calls["security_inode_permission"] == 9
            assert calls["el0t_64_sync"] == calls["security_file_open"] == 1
