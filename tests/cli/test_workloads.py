# SPDX-License-Identifier: GPL-2.0-or-later
"""Workloads from the command line, over recorded guests of a real web server."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import zstandard

from lsmeter.catalogue.setups import parse_setup
from lsmeter.catalogue.workloads import load_workload
from lsmeter.core.model.conclusion import Number
from lsmeter.core.model.workload import Workload
from lsmeter.measure.instruments.timed import HZ, OPERATIONS
from lsmeter.measure.results.directory import RunData, read_run, write_manifest
from lsmeter.measure.results.documents import DamagedResultError
from lsmeter.measure.tasks.workload import once_titles
from lsmeter.questions.cells.evidence import BOOT_FACT
from lsmeter.questions.compare.sides import overhead_changes
from lsmeter.questions.cost.data import schema
from lsmeter.questions.publish import hooks
from lsmeter.questions.publish.figures import find_points, make_site
from lsmeter.questions.publish.hooks import name_hooks
from lsmeter.questions.workload import clients
from lsmeter.questions.workload.figures import Workloads, compare_workloads, find_workloads
from tests.cli.conftest import CAPTURES
from tests.cli.test_replay import FINE, measured
from tests.conftest import Done, Lsmeter

ASKED = ("--benchmark", "static concurrency=1", "--benchmark", "missing concurrency=1")
WEB = ("run", "--suite", "web", "--setup", "selinux-enforcing", *ASKED, "--image", "./image")
# Of the image that was recorded with, which the kernel was told of.
IMAGE_BYTES = 1536 << 20


@pytest.fixture
def web(replay: Lsmeter) -> Lsmeter:
    image = replay.home / "image"
    with image.open("wb") as file:
        file.truncate(IMAGE_BYTES)
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", image], check=True)
    return replay


def run(web: Lsmeter, *words: str) -> Done:
    return measured(web, *WEB, *words)


def report(web: Lsmeter) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(web("report", "run", "--format", "json").out)
    return found


def own_captures(web: Lsmeter, monkeypatch: pytest.MonkeyPatch) -> Path:
    target = web.home / "captures"
    subprocess.run(["cp", "-r", str(CAPTURES), str(target)], check=True)
    monkeypatch.setenv("LSMETER_REPLAY", str(target))
    return target


def test_a_workload_is_measured_and_compared(web: Lsmeter) -> None:
    done = run(web)
    assert done.code == 0, done.err + done.out
    assert "kernel instructions a request" in done.out
    said = " ".join(done.out.split())
    overhead = r"\+\d+\.\d ±\d+\.\d % \([a-z]+ concurrency=1, \+[\d,]+ instructions\)"
    assert re.match(
        rf"selinux-enforcing: {overhead} to {overhead} over capability, of the kernel instructions "
        r"a request; of 2 benchmarks 2 slower\.",
        said,
    )
    assert max(map(len, done.out.splitlines())) <= 80
    found = report(web)
    assert found["problems"] == []
    assert {item["setup"] for item in found["benchmarks"]} == {"capability", "selinux-enforcing"}
    assert len(found["comparisons"]) == 2
    for item in found["comparisons"]:
        assert (item["kernel"], item["unit"], item["per"]) == ("./kernel", "insns", "request")
        assert (item["verdict"], item["decided_by"]) == ("slower", "mean")
        assert 0.02 < item["overhead_low"] < item["overhead"] < item["overhead_high"] < 0.2
        assert item["difference"] == pytest.approx(item["value"] - item["baseline_value"], rel=0.02)
        assert item["decided"] == item["mean"]
        assert item["mean"]["overhead"] == item["overhead"]


def test_a_comparison_has_the_keys_of_a_report_of_calls(web: Lsmeter) -> None:
    assert run(web).code == 0
    found = report(web)
    assert found["version"] == 2
    described = schema()["properties"]["comparisons"]["items"]
    for item in found["comparisons"]:
        own = {key: item.pop(key) for key in ("per", "more_boots")}
        assert own == {"per": "request", "more_boots": 0}
        jsonschema.validate(item, described)
    rows = list(csv.DictReader(io.StringIO(web("report", "run", "-f", "csv").out)))
    rows = [row for row in rows if row["table"] == "comparisons"]
    assert [(row["unit"], row["decided_by"]) for row in rows] == [("insns", "mean")] * 2
    said = [float(row["mean_overhead"]) for row in rows]
    assert said == pytest.approx([item["overhead"] for item in found["comparisons"]])


def test_a_change_of_a_service_is_published_with_its_hook(
    web: Lsmeter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lab's 7.0 whose inode_permission costs SELinux 20,000 instructions more a request."""
    assert run(web).code == 0
    old = read_run(web.home / "run")
    points = list(find_points(old, find_workloads(old).comparisons))
    (point,) = (item for item in points if item.graph.benchmark == "static concurrency=1")
    assert point.hooks == {Number.MEAN: old.path}
    assert point.graph.conditions == "", "4 ns an instruction are usual for services"
    change = point.change(Number.MEAN)
    assert change is not None
    added = replace(change, overhead=change.overhead + 0.2, overhead_low=change.overhead_low + 0.2)
    added = replace(added, overhead_high=change.overhead_high + 0.2, low=change.low + 20_000)
    added = replace(added, high=change.high + 20_000, difference=change.difference + 20_000)
    later = replace(
        point,
        release=replace(point.release, name="7.0"),
        found=replace(point.found, mean=added, decided=added),
        hooks={Number.MEAN: Path("later")},
    )
    measured = replace(point, release=replace(point.release, name="6.1"))

    def again(path: Path) -> RunData:
        return replace(old, path=path) if path == Path("later") else old

    def counted(of: RunData) -> Workloads:
        found = find_workloads(old)
        return dearer(found) if of.path == Path("later") else found

    def dearer(found: Workloads) -> Workloads:
        for boot in (boot for item in found.compared for boot in item.tested.boots):
            calls, insns = boot.hooks["inode_permission"]
            monkeypatch.setitem(boot.hooks, "inode_permission", (calls, insns + 20_000))
        return found

    monkeypatch.setattr(hooks, "read_run", again)
    monkeypatch.setattr(hooks, "find_workloads", counted)
    (step,) = name_hooks(make_site([measured, later])).steps
    assert step.moved is not None
    assert step.moved.hook == "security_inode_permission"
    assert step.moved.hook_insns == pytest.approx(20_000)


def test_all_of_it_says_where_the_cost_comes_from(web: Lsmeter) -> None:
    assert run(web).code == 0
    shown = web("report", "run", "--all").out
    for said in (
        "in selinux",
        "inode_permission",
        "Controls:",
        "emulated rates are not for comparison",
    ):
        assert said in " ".join(shown.split())
    assert max(map(len, shown.splitlines())) <= 80


def test_one_boot_gives_no_verdict(web: Lsmeter) -> None:
    assert run(web, "--boots", "1").code == 0
    assert {item["verdict"] for item in report(web)["comparisons"]} == {"inconclusive"}
    assert "one boot does not show how far boots differ" in " ".join(
        web("report", "run").out.split()
    )


def test_what_was_measured_is_known(web: Lsmeter) -> None:
    assert run(web).code == 0
    again = measured(web, *WEB, run="again")
    assert "4 of 4 boots are known" in again.err


def test_without_a_baseline_the_rest_is_shown(
    web: Lsmeter, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tally in (own_captures(web, monkeypatch) / "capability").glob("workload-*/tally.zst"):
        tally.unlink()
    run(web)
    found = report(web)
    assert {item["setup"] for item in found["benchmarks"]} == {"selinux-enforcing"}
    assert (found["comparisons"], len(found["problems"])) == ([], 2)
    assert "in selinux" in web("report", "run", "--all").out


def test_a_tally_that_is_damaged_is_no_result(
    web: Lsmeter, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = own_captures(web, monkeypatch) / "selinux-enforcing" / "workload-0" / "tally.zst"
    text = zstandard.decompress(home.read_bytes(), 1 << 24)
    home.write_bytes(
        zstandard.compress(text.replace(b"service insns user", b"service insns usre x"))
    )
    run(web)
    found = report(web)
    assert any("what was counted" in item["title"] for item in found["problems"])
    counts = {item["setup"]: len(item["boots"]) for item in found["benchmarks"]}
    assert counts == {"capability": 2, "selinux-enforcing": 1}


def test_what_is_done_once_has_rows_of_its_own(
    web: Lsmeter, monkeypatch: pytest.MonkeyPatch
) -> None:
    titles = once_titles(load_workload("web").workload, parse_setup("selinux-enforcing"))
    captures = own_captures(web, monkeypatch)
    for boot in (0, 1):
        home = captures / "selinux-enforcing" / f"workload-{boot}" / "tally.zst"
        text = zstandard.decompress(home.read_bytes(), 1 << 24)
        assert text.endswith(b"eof\n")
        # What was recorded of what is done once, before the batches, is left out.
        text = text[: text.index(b"\n") + 1] + text[text.index(b"region 0\n") :]
        for number, title in enumerate(titles):
            kernel, user = (1_000_000, 10_000) if title == "labelling the data" else (0, 0)
            counted = (
                f"driver insns user {user}\ndriver kernel other {kernel + number * (1 + boot)}"
            )
            more = f"idle kernel other 9\nservice kernel selinux {boot}\nend\n"
            again = f"region {number + 2}\ndriver kernel other 77\nend\neof\n"
            text = text[:-4] + f"region {number + 2}\n{counted}\n{more}{again}".encode()
        home.write_bytes(zstandard.compress(text))
    assert run(web).code == 0
    found = {
        item["step"]: item
        for item in report(web)["once"]
        if item["place"]["setup"] == "selinux-enforcing"
    }
    assert {*found} == {*titles, "kernel until its first process"} - {""}
    number = titles.index("labelling the data")
    labelled = found["labelling the data"]
    assert labelled["kernel_insns"] == [1_000_000 + number, 1_000_000 + 2 * number + 1]
    assert labelled["user_insns"] == [10_000, 10_000]
    shown = " ".join(web("report", "run", "--all").out.split())
    assert "selinux-enforcing: done once in a guest" in shown
    assert "labelling the data" in shown


def test_a_number_longer_than_any_that_is_counted_is_none(web: Lsmeter) -> None:
    assert run(web).code == 0
    stored = read_run(web.home / "run")
    cells = [replace(x, task=replace(x.task, name="visit")) for x in stored.manifest.cells]
    served = replace(stored, manifest=replace(stored.manifest, cells=tuple(cells)))
    timed = [f"{OPERATIONS}{item.id}" for item in stored.manifest.benchmarks]
    for number, is_known in (("9" * 18, True), ("9" * 400, False), ("9" * 5000, False)):
        facts = tuple((key, number) for key in (BOOT_FACT, HZ, *timed))
        boots = tuple(replace(boot, facts=facts) for boot in stored.boots)
        found = find_workloads(replace(stored, boots=boots))
        assert any("kernel until" in item.title for item in found.once) == is_known
        (section,) = clients.sections(replace(served, boots=boots))
        assert all((row[2] is not None) == is_known for row in section.tables[0].rows)


def test_a_batch_that_was_not_counted_is_no_result(
    web: Lsmeter, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = own_captures(web, monkeypatch) / "capability" / "workload-1" / "tally.zst"
    text = zstandard.decompress(home.read_bytes(), 1 << 24)
    home.write_bytes(zstandard.compress(text[: text.rindex(b"region")] + b"eof\n"))
    run(web)
    found = report(web)
    assert any("batches were counted" in item["title"] for item in found["problems"])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda text: text[:-4] + text[text.rindex(b"region 1\n") :],
            "has 11 batches of ",
        ),
        (
            lambda text: text.replace(b"service insns user ", b"service insns user 9"),
            "than a batch took",
        ),
        (lambda text: text[:-4] + b"region 99\nend\n", "has regions of nothing that was asked"),
    ],
)
def test_a_tally_that_the_guest_contradicts_costs_the_boot(
    web: Lsmeter,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[bytes], bytes],
    says: str,
) -> None:
    home = own_captures(web, monkeypatch) / "selinux-enforcing" / "workload-0" / "tally.zst"
    text = zstandard.decompress(home.read_bytes(), 1 << 24)
    home.write_bytes(zstandard.compress(change(text).removesuffix(b"eof\n") + b"eof\n"))
    run(web)
    found = report(web)
    assert any(says in item["title"] for item in found["problems"]), found["problems"]
    counts = {item["setup"]: len(item["boots"]) for item in found["benchmarks"]}
    assert counts == {"capability": 2, "selinux-enforcing": 1}


def test_what_the_plugin_lost_track_of_is_a_problem_and_no_number(
    web: Lsmeter, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = own_captures(web, monkeypatch) / "selinux-enforcing" / "workload-0" / "tally.zst"
    text = zstandard.decompress(home.read_bytes(), 1 << 24)
    once = b"region 2\ndriver kernel other 5\nnone events lost 3\nend\neof\n"
    home.write_bytes(zstandard.compress(text[:-4] + once))
    run(web)
    found = report(web)
    (problem,) = found["problems"]
    assert "not all that is done once: the plugin lost track" in problem["title"]
    rows = [row for row in found["once"] if row["place"]["setup"] == "selinux-enforcing"]
    assert rows
    assert all(len(row["kernel_insns"]) == 2 for row in rows if "kernel until" in row["step"])
    assert not any(5 in row["kernel_insns"] for row in rows)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--suite", "wbe"), "did you mean web?"),
        (("--suite", "./none.toml"), "none.toml"),
        (("--suite", "web", "--benchmark", "sttic"), "static"),
        (("--suite", "web", "--filesystem", "zfs"), "zfs"),
    ],
)
def test_wrong_words_are_refused(web: Lsmeter, words: tuple[str, ...], said: str) -> None:
    done = measured(web, "run", "--setup", "selinux", *words, "--image", "./image")
    assert done.code == 2, done.err
    assert said in done.err


def test_setups_that_prepare_each_reading_are_named(web: Lsmeter) -> None:
    done = measured(
        web,
        "run",
        "--suite",
        "web",
        "--setup",
        "selinux-enforcing:cold=on",
        *ASKED,
        "--image",
        "./image",
    )
    said = " ".join((done.out + done.err).split())
    assert "selinux-enforcing:cold=on cannot be measured with the workload web" in said


def another_planner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a later lsmeter: other orders, other steps, no setup and no workload of today."""

    def gone(*_: object, **__: object) -> Any:
        raise AssertionError("reading a run asks for what is known today")

    for name in ("plan.boot_order", "plan.make_plan"):
        monkeypatch.setattr(f"lsmeter.measure.experiment.{name}", gone)
    monkeypatch.setattr("lsmeter.guest.boot_image.boot_order", lambda ids, _: tuple(reversed(ids)))
    monkeypatch.setattr("lsmeter.catalogue.setups.parse_setup", gone)
    monkeypatch.setattr("lsmeter.catalogue.setups.definitions", gone)
    monkeypatch.setattr("lsmeter.catalogue.workloads.load_workload", gone)
    monkeypatch.setattr("lsmeter.guest.probe.catalogue", gone)
    monkeypatch.setattr(
        "lsmeter.questions.workload.figures.once_titles", lambda *_: ("something else",)
    )
    for module in ("guest.conclude", "measure.results.reading", "measure.results.boots"):
        monkeypatch.setattr(f"lsmeter.{module}.PARSER", 10**6)


@pytest.mark.parametrize("words", [FINE, WEB])
def test_a_stored_run_says_the_same_whatever_is_planned_today(
    web: Lsmeter, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    assert measured(web, *words).code == 0
    before = report(web)
    assert before["problems"] == []
    tables = web("report", "run", "--all").out
    another_planner(monkeypatch)
    after = report(web)
    (note,) = set(after.pop("notes", [])) - set(before.pop("notes", []))
    assert "read again" in note
    assert after == before
    shown = web("report", "run", "--all").out
    assert re.split("Summary|Note:", tables)[0].strip() in shown


def test_two_runs_of_a_service_are_compared_and_judged(
    web: Lsmeter, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert measured(web, *WEB, run="after").code == 0
    for home in own_captures(web, monkeypatch).glob("selinux-enforcing/workload-*/tally.zst"):
        text = zstandard.decompress(home.read_bytes(), 1 << 24)
        cheaper = re.sub(rb"(service kernel selinux) \d+", rb"\1 0", text)
        assert cheaper != text
        home.write_bytes(zstandard.compress(cheaper))
    assert measured(web, *WEB, "--fresh", run="before").code == 0
    found = json.loads(web("compare", "before", "after", "--format", "json").out)
    jsonschema.validate(found["comparisons"], schema()["properties"]["comparisons"])
    said = {(item["setup"], item["control"]): set[str]() for item in found["comparisons"]}
    for item in found["comparisons"]:
        said[item["setup"], item["control"]].add(item["verdict"])
    assert said == {
        ("capability", False): {"equivalent"},
        ("capability", True): {"equivalent"},
        ("selinux-enforcing", False): {"slower"},
        ("selinux-enforcing", True): {"equivalent"},
    }
    moved = found["sides"]["overhead_changes"]
    assert {item["setup"] for item in moved if item["overhead_change"] > 0.01} == {
        "selinux-enforcing"
    }
    shown = " ".join(web("compare", "before", "after").out.split())
    assert "instructions a request" in shown
    assert "Controls (static-user concurrency=1, missing-user concurrency=1) unchanged" in shown
    assert web("gate", "before", "after").code == 1
    assert web("gate", "after", "before").code == 0
    exported = [
        json.loads((web.home / name).read_text())
        for name, words in {"a": ("compare", "before", "after"), "b": ("report", "after")}.items()
        if web(*words, "-f", "bmf", "-o", name).code == 0
    ]
    assert exported[1].keys() < exported[0].keys()
    assert all("mean-insns" in item for each in exported for item in each.values())
    first, then = (read_run(web.home / name) for name in ("before", "after"))
    cells = [
        replace(item, task=replace(item.task, workload=with_units(7)(item.task.workload)))
        for item in first.manifest.cells
    ]
    other = replace(first, manifest=replace(first.manifest, cells=tuple(cells)))
    apart = compare_workloads(other, then)
    assert apart.compared == ()
    assert len([x for x in apart.problems if "asked for other units" in x.title]) == 4
    assert overhead_changes(first, then)
    assert overhead_changes(other, then) == ()
    watched = [replace(item, task=replace(item.task, monitor_ms=50)) for item in cells]
    other = replace(first, manifest=replace(first.manifest, cells=tuple(watched)))
    assert compare_workloads(other, then).compared == ()
    for lost in (with_units(0), lambda workload: replace(workload, batches=())):
        cells = [
            replace(item, task=replace(item.task, workload=lost(item.task.workload)))
            for item in first.manifest.cells
        ]
        write_manifest(first.path, replace(first.manifest, cells=tuple(cells)))
        with pytest.raises(DamagedResultError, match="no units in a batch of 'static"):
            read_run(first.path)


def with_units(units: int) -> Callable[[Any], Workload]:
    return lambda workload: replace(
        workload, batches=tuple(replace(item, units=units) for item in workload.batches)
    )
