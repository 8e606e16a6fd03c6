# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests of arm64, by QEMU's emulator: exact as those of x86-64, and beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lsmeter.core.model.arch import ARM64
from lsmeter.measure.results.boots import read_output
from lsmeter.measure.results.directory import read_run
from lsmeter.measure.tasks.tally import PLUGIN, parse_tally
from lsmeter.sources.images.ext4 import make_ext4
from tests.conftest import Lsmeter
from tests.guest_programs import compiled

pytestmark = pytest.mark.guest

FEW = ("--benchmark", "stat depth=[18]", "--samples", "20", "--boots", "1")


def report(lsmeter: Lsmeter, run: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lsmeter("report", run, "--format", "json").out)
    return found


def test_two_architectures_are_two_columns_and_a_seed_gives_the_same_digits(
    lsmeter: Lsmeter,
) -> None:
    both = ("--arch", "arm64", "--arch", "x86_64", "--setup", "selinux")
    done = lsmeter("run", *both, *FEW, "--run-dir", "run")
    assert done.code == 0, done.err
    data = report(lsmeter, "run")
    assert data["problems"] == []
    assert [item["name"] for item in data["kernels"]] == ["debian:6.1:arm64", "debian:6.1"]
    found = {(i["kernel"], i["id"]): i["overhead"] for i in data["comparisons"]}
    for name in ("debian:6.1:arm64", "debian:6.1"):
        assert 0.10 < found[name, "stat depth=1"] < found[name, "stat depth=8"] < 0.80
        assert found[name, "empty"] == found[name, "getppid"] == 0
    done = lsmeter("run", *both[:2], *both[4:], *FEW, "--fresh", "--run-dir", "again")
    assert done.code == 0, done.err

    def counts(data: dict[str, Any]) -> list[Any]:
        arms = (i for i in data["estimates"] if i["kernel"] == "debian:6.1:arm64")
        return [(i["setup"], i["id"], i["value"], i["whole"]) for i in arms]

    assert counts(report(lsmeter, "again")) == counts(data)
    done = lsmeter("compare", "run", "again")
    assert done.code == 0, done.err


SERVED = """
title = "bytes that come back"
unit = "byte"
image = "./image.ext4"
memory_mib = 256
warmup = 1
batches = 2

[[services]]
name = "it"
process = "it"
start = ["/bin/p", "serve", "it"]
ready = ["/bin/p", "ready"]

[[benchmarks]]
operation = "echo"
title = "a byte, there and back"
units = 30
client = ["/bin/p", "client", "{units}"]
"""


def test_a_service_in_memory_repeats_to_the_instruction(lsmeter: Lsmeter) -> None:
    """What SELinux adds is in the service's account, and its look-ups are those it counts."""
    source = Path(__file__).parents[1] / "guest/workload_programs.c"
    program = compiled(source, lsmeter.home, ARM64.compiler)
    tree = lsmeter.home / "tree"
    for name in ("bin/p", "usr/bin/nsenter", "usr/lib/lsmeter/network"):
        path = tree / name
        path.parent.mkdir(parents=True)
        path.write_bytes(program)
        path.chmod(0o755)
    (tree / "data").mkdir()
    make_ext4(tree, lsmeter.home / "image.ext4", 16)
    (lsmeter.home / "served.toml").write_text(SERVED)
    words = ("--arch", "arm64", "--suite", "./served.toml", "--boots", "1")
    tallies = []
    for run, setup in (("run", "selinux"), ("again", "capability")):
        done = lsmeter("run", *words, "--setup", setup, "--fresh", "--run-dir", run)
        assert done.code == 0, done.err + done.out
        found = read_run(lsmeter.home / run)
        cell = next(cell for cell in found.manifest.cells if cell.place.setup == "capability")
        (boot,) = found.boots_of(cell)
        text = (read_output(found.folder(boot), PLUGIN) or b"").decode()
        tallies.append(parse_tally(text, ended=True))
    assert tallies[0] == tallies[1]
    batches = [tally for tally in tallies[0] if tally.region == 0]
    assert len(batches) == 3
    assert all(tally.lost == 0 and tally.errors_known for tally in batches)
    data = report(lsmeter, "run")
    assert data["problems"] == []
    base, selinux = (
        next(item["boots"][0] for item in data["benchmarks"] if item["setup"] == setup)
        for setup in ("capability", "selinux")
    )
    assert base["figures"]["user"] == selinux["figures"]["user"] > 0
    added = selinux["figures"]["kernel"] - base["figures"]["kernel"]
    assert 0 < selinux["modules"]["selinux"] < added < base["figures"]["kernel"]
    # A byte is received and sent, of which SELinux looks up each.
    assert 2 <= selinux["figures"]["AVC look-ups"] < 4
    assert base["figures"]["AVC look-ups"] == 0
