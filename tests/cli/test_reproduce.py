# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter reproduce`: a study of the user's own from files to verdicts, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lsmeter.measure.results.directory import create_run, read_run
from tests.conftest import InProcess

EXAMPLE = Path(__file__).parents[2] / "examples" / "main.lsmeter"

STUDY = """
title = "A study of mine"
source = "Nobody: on nothing, 2026"
missing = ["the other half"]
[lists]
calls = ["file/open depth=1", "file/stat depth=1"]
"""
PART = """
title = "Two calls"
kernels = ["debian:6.1"]
setups = ["capability", "selinux"]
benchmarks = ["open depth=1", "stat depth=1"]
sampling = { whole_ppm = 0 }
boots = 2
[quick]
boots = 1
"""
HEAD = 'place = "page 1"\nkind = "direction"\nprinted = "+9 %"\n'


def claim(name: str, **keys: str) -> str:
    said = "".join(f'{key} = "{value}"\n' for key, value in keys.items())
    return f'[[claims]]\nid = "{name}"\nclaim = "It is so."\n{HEAD}{said}'


CLAIMS = (
    claim("costlier", part="calls", rule="all(ov('selinux', 'capability', b) > 1 for b in calls)")
    + claim("free", part="calls", rule="ov('selinux', 'capability', 'file/open depth=1') < 1")
    + claim("gone", part="calls", rule="ov('selinux', 'capability', 'file/mkdir depth=1') > 0")
    + claim("lost", part="broken", rule="ov('selinux', 'capability', 'file/open depth=1') > 0")
    + claim("seconds", cannot="seconds needed")
    + claim("other", incomparable="rows tell something else")
)


@pytest.fixture
def study(in_process: InProcess) -> Path:
    home = in_process.home / "mine"
    home.mkdir()
    for name, text in (("study", STUDY), ("calls", PART), ("claims", CLAIMS)):
        (home / f"{name}.toml").write_text(text)
    broken = PART.replace("debian:6.1", "built:6.1-there-is-none")
    (home / "broken.toml").write_text(broken)
    return home


@pytest.mark.guest
@pytest.mark.network
def test_claims_of_a_study_are_judged_by_what_was_measured(
    in_process: InProcess, study: Path
) -> None:
    planned_otherwise = in_process.home / "r" / "mine" / "calls"
    create_run(planned_otherwise, read_run(EXAMPLE).manifest)
    done = in_process("reproduce", "./mine", "--run-dir", "r", "-f", "json", "-o", "r.json")
    assert done.code != 0, "a part failed"
    assert "held another run; it is calls.1 now" in done.err
    assert read_run(planned_otherwise.with_name("calls.1")).manifest.title != "Two calls"
    found = json.loads((in_process.home / "r.json").read_text())["studies"][0]
    verdicts = {item["id"]: item["verdict"] for item in found["claims"]}
    assert verdicts == {
        "costlier": "holds",
        "free": "does not hold today",
        "gone": "cannot be told",
        "lost": "cannot be told",
        "seconds": "cannot be told",
        "other": "not comparable",
    }
    free = next(item for item in found["claims"] if item["id"] == "free")
    assert any("hook" in text or "inode_permission" in text for text in free["causes"]), free
    rows = free["places"][0]["rows"]
    assert rows == [
        {
            "part": "calls",
            "benchmark": "file/open depth=1",
            "setup": "selinux",
            "baseline": "capability",
        }
    ]
    assert {*found["failed"]} == {"broken"}
    again = in_process("reproduce", "./mine", "--run-dir", "r", "--claim", "costlier")
    assert again.code == 0, again.err
    assert again.out.startswith("mine: 1 claim: 1 holds.\n")
    assert "from the store" in again.err or "known from earlier runs" in again.err
    page = in_process("reproduce", "./mine", "--run-dir", "r", "-f", "html", "-o", "page.html")
    assert "broken: no run" in (in_process.home / "page.html").read_text(), page.err


def test_what_is_not_measured_is_named_and_not_booted(in_process: InProcess, study: Path) -> None:
    done = in_process("reproduce", f"./{study.name}", "--measured", "--run-dir", "r")
    assert done.code == 1
    assert done.out.startswith("mine: 6 claims: 5 cannot be told, 1 is not comparable. 2 parts")
    assert "calls: no run: not measured yet" in " ".join(done.out.split())
    assert not (in_process.home / "r").exists()


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("claims", "b in calls", "b in few", "costlier.rule: unknown name 'few'"),
        ("claims", "> 1 for", ">> 1 for", "costlier.rule"),
        ("claims", "ov('selinux', 'capability', 'file/mkdir", "of('x', 'y', 'z", "function 'of'"),
        ("claims", "ov('selinux', 'capability', b)", "ov('smack', 'capability', b)", "'smack'"),
        ("claims", "> 1 for", "> cost('selinux', b) for", "costlier.rule: two units: "),
        ("claims", "> 1 for", "> printed('t', 'open', 'selinux') for", "t: no printed overhead"),
        ("claims", 'part = "calls"', 'part = "cells"', "costlier.part: no part 'cells'"),
        ("claims", 'kind = "direction"', 'kind = "some"', "claims.0.kind"),
        ("claims", 'id = "gone"', 'id = "free"', "free: it is there twice"),
        ("claims", 'cannot = "seconds needed"', "", "seconds: one of rule, cannot"),
        ("study", "[lists]", 'tables = ["nowhere"]\n[lists]', "tables: unknown study 'nowhere'"),
        ("study", 'title = "A study of mine"', "", "title: missing"),
        ("calls", "boots = 2", "boots = 0", "calls.toml: boots"),
        ("calls", "[quick]\nboots = 1", "quick = 1", "quick: expected a table"),
        ("calls", "[quick]", "[quick]\nleave_out = 1", "quick.leave_out: true or false"),
    ],
)
def test_what_is_wrong_with_a_study_is_one_line(
    in_process: InProcess, study: Path, file: str, old: str, new: str, said: str
) -> None:
    path = study / f"{file}.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    done = in_process("reproduce", "./mine", "--dry-run")
    assert done.code == 2
    assert f"{file}.toml" in done.err
    assert said in done.err
    assert "Traceback" not in done.err


@pytest.mark.network
def test_a_dry_run_says_how_long_all_parts_take(in_process: InProcess, study: Path) -> None:
    done = in_process("reproduce", f"./{study.name}", "--dry-run")
    last = done.err.strip().splitlines()[-1]
    assert (done.code, done.out) == (0, "")
    assert last.startswith("mine: in all about ")
    assert "broken: --config: unknown fragment 'there-is-none'" in done.err
    assert last.endswith("; not known: 1 part")


def test_a_dry_run_counts_kernels_that_are_to_be_built_once(
    in_process: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LSMETER_CACHE", str(in_process.home / "nothing-yet"))
    names = ("kernel-build-free", "null-call-free", "selinux-open-above-stat")
    claims = [word for name in names for word in ("--claim", name)]
    done = in_process("reproduce", "lsm02", "asiaccs21", *claims, "--kernel", "6.1", "--dry-run")
    assert (done.code, "not known" in done.err) == (0, False)
    lines = done.err.splitlines()
    built = [line.split()[3] for line in lines if "build kernel" in line]
    assert sorted(built) == ["built:6.1-dac:", "built:6.1-lsm-all:"]
    # Two suites, five boots of each of two kernels that are not there yet.
    assert any(line.split()[1:3] == ["20", "boots,"] for line in lines), done.err
    assert lines[-1].startswith("2 studies: in all about ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "which study?"),
        (("uva04",), "unknown study 'uva04'"),
        (("./nothing/",), "no such file"),
        (("uva03", "--claim", "pipe-halves"), "unknown claim 'pipe-halves'"),
        (("uva03", "--kernel", "5.3"), "no part of uva03 has a kernel of 5.3"),
        (("uva03", "--arch", "arm64", "--arch", "x86_64"), "judged on one architecture"),
    ],
)
def test_what_is_not_there_is_named(
    in_process: InProcess, words: tuple[str, ...], said: str
) -> None:
    done = in_process("reproduce", *words)
    assert done.code == 2
    assert said in done.err


def test_studies_and_claims_are_listed(in_process: InProcess) -> None:
    done = in_process("reproduce", "--list")
    assert done.code == 0
    assert "uva03" in done.out
    done = in_process("reproduce", "uva03", "--list")
    assert "pipe-half" in done.out
