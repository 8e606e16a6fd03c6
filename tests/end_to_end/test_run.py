# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole way, with real guests: from words to a table, a page, and data that hold together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from lsmeter.core.model import Kernel
from lsmeter.core.model.filesystems import FILESYSTEMS
from lsmeter.core.process import find
from lsmeter.measure.results.documents import sealed
from tests.conftest import Lsmeter

pytestmark = [pytest.mark.guest, pytest.mark.usefixtures("debian_kernel")]

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "src/lsmeter/questions/cost/schema/report-1.json"
FEW = ("--benchmark", "stat", "--benchmark", "getppid", "--benchmark", "empty")


def report(lsmeter: Lsmeter, run: str = "run") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lsmeter("report", run, "--format", "json").out)
    return found


def overheads(data: dict[str, Any], setup: str) -> dict[str, float]:
    return {i["id"]: i["overhead"] for i in data["comparisons"] if i["setup"] == setup}


def test_modules_cost_what_they_are_known_to_cost(lsmeter: Lsmeter) -> None:
    setups = ("--setup", "capability", "--setup", "selinux", "--setup", "landlock:layers=2")
    done = lsmeter("run", *setups, *FEW, "--run-dir", "run")
    assert done.code == 0, done.err
    assert "positive overhead is always worse" in " ".join(done.out.split())
    assert (lsmeter.home / "run/report.html").is_file()
    data = report(lsmeter)
    jsonschema.validate(data, json.loads(SCHEMA.read_text()))
    assert data["problems"] == []
    selinux = overheads(data, "selinux")
    # One inode_permission for each component of the path, each costs more than with capabilities.
    depths = [selinux[f"stat depth={depth}"] for depth in range(1, 9)]
    assert depths == sorted(depths)
    assert 0.10 < depths[0] < depths[7] < 0.80
    for setup in ("selinux", "landlock:layers=2,rules=1"):
        assert overheads(data, setup)["empty"] == 0
        assert overheads(data, setup)["getppid"] == 0
    facts = {item["setup"]: item for item in data["setups"]}
    assert facts["selinux"]["active_lsms"][-1] == "selinux"
    again = lsmeter("run", *setups, *FEW, "--run-dir", "again")
    assert again.code == 0
    assert again.err.count("from the store") == 6
    assert report(lsmeter, "again")["estimates"] == data["estimates"]


def test_the_same_seed_gives_the_same_readings(lsmeter: Lsmeter) -> None:
    words = ("run", "--setup", "capability", *FEW, "--boots", "1", "--quick", "--fresh")
    for name in ("a", "b"):
        assert lsmeter(*words, "--run-dir", name).code == 0
    first, second = (sorted((lsmeter.home / name).glob("boots/*/samples.parquet")) for name in "ab")
    assert first[0].read_bytes() == second[0].read_bytes()


def test_ext4_as_an_ordinary_user_and_cold(lsmeter: Lsmeter) -> None:
    words = ("--filesystem", "ext4", "--user", "user", "--boots", "1", "--quick", "--samples", "5")
    done = lsmeter(
        "run", "--setup", "capability", "--benchmark", "open", *words, "--run-dir", "warm"
    )
    assert done.code == 0, done.err
    cold = lsmeter(
        *("run", "--setup", "capability", "--benchmark", "open depth=4", *words),
        *("--cold", "--run-dir", "cold"),
    )
    assert cold.code == 0, cold.err
    values = [
        {item["id"]: item["value"] for item in report(lsmeter, name)["estimates"]}
        for name in ("warm", "cold")
    ]
    assert values[1]["open depth=4"] > values[0]["open depth=4"]


def test_every_file_system_is_measured(lsmeter: Lsmeter) -> None:
    named = [name for name, item in FILESYSTEMS.items() if not item.make or find(item.make[0])]
    asked = [word for name in named for word in ("--filesystem", name)]
    words = ("--setup", "capability", "--benchmark", "creat depth=1", "--quick", "--samples", "3")
    done = lsmeter("run", *words, *asked, "--boots", "1", "--run-dir", "run")
    assert done.code == 0, done.err
    found = {
        item["filesystem"]: item["value"]
        for item in report(lsmeter)["estimates"]
        if item["id"] == "creat depth=1"
    }
    assert [*found] == named
    assert len({*found.values()}) == len(named)  # each has ways of its own to make a file


@pytest.mark.parametrize(
    ("condition", "name", "least"),
    [("init_on_alloc", "stat depth=1", 1.2), ("memcg", "open target=missing", 1.05)],
)
def test_conditions_change_counts_and_the_cell(
    lsmeter: Lsmeter, condition: str, name: str, least: float
) -> None:
    words = ("run", "--setup", "capability", "--benchmark", name, "--boots", "1", "--quick")
    lsmeter(*words, "--run-dir", "plain")
    changed = lsmeter(*words, "--condition", f"{condition}=true", "--run-dir", "changed")
    assert "from the store" not in changed.err
    plain, other = (
        {item["id"]: item["value"] for item in report(lsmeter, run)["estimates"]}
        for run in ("plain", "changed")
    )
    assert other[name] > least * plain[name]
    compared = lsmeter("compare", "plain", "changed")
    assert compared.code == 0
    assert condition in compared.out


def test_what_the_kernel_lacks_is_told_and_the_rest_is_measured(lsmeter: Lsmeter) -> None:
    words = ("--setup", "capability", "--setup", "smack", "--benchmark", "getppid")
    done = lsmeter("run", *words, "--boots", "1", "--run-dir", "run")
    assert done.code == 1
    assert "CONFIG_SECURITY_SMACK" in done.err
    data = report(lsmeter)
    assert len(data["problems"]) == 1
    assert {item["setup"] for item in data["estimates"]} == {"capability"}


def test_a_kernel_by_path(lsmeter: Lsmeter, debian_kernel: Kernel) -> None:
    (lsmeter.home / "vmlinux").symlink_to(debian_kernel.image)
    words = ("--setup", "capability", "--benchmark", "getppid", "--boots", "1", "--run-dir", "run")
    cache = str(lsmeter.home / "cache")
    done = lsmeter("run", "--kernel", "./vmlinux", *words, LSMETER_CACHE=cache)
    assert done.code == 0, done.err


def test_a_dry_run_measures_nothing(lsmeter: Lsmeter) -> None:
    done = lsmeter("run", "--setup", "selinux", "--dry-run")
    assert done.code == 0
    assert "-icount shift=3,sleep=off" in done.out
    assert "lsm=selinux" in done.out
    assert not (lsmeter.home / "runs").exists()


def test_damaged_and_foreign_results_are_named(lsmeter: Lsmeter) -> None:
    words = ("run", "--setup", "capability", "--benchmark", "getppid", "--boots", "1")
    assert lsmeter(*words, "--run-dir", "run").code == 0
    boot = next((lsmeter.home / "run").glob("boots/*/boot.json"))
    samples = boot.with_name("samples.parquet")
    manifest = lsmeter.home / "run/manifest.json"
    later = sealed("lsmeter-run", 9, {"run": {}})
    for path, content, part in (
        (samples, b"PAR1 no", "samples.parquet: damaged"),
        (boot, boot.read_bytes()[:100], "boot.json: damaged"),
        (manifest, later, "version 9"),
        (manifest, b"[" * 100_000, "manifest.json: damaged"),
        (manifest, b"\xff\xfe", "manifest.json: damaged"),
    ):
        whole = path.read_bytes()
        path.write_bytes(content)
        done = lsmeter("report", "run")
        # The only boot is left out of the report: nothing is left of it.
        assert done.code == 7, (path, done.err)
        assert part in " ".join((done.out + done.err).split())
        path.write_bytes(whole)
    assert lsmeter("report", "run").code == 0
