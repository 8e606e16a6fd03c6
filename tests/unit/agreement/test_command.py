# SPDX-License-Identifier: GPL-2.0-or-later
"""`hooks agree` on what real guests gave, beside files that fit it and files that are damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lsmeter.cli.main import app
from lsmeter.errors import UsageError
from lsmeter.hooks.agreement.read import CountsFile
from lsmeter.hooks.count import formats
from lsmeter.hooks.count.model import CountReport
from lsmeter.report.heading import Heading
from tests.unit.attribution.recorded import write_run
from tests.unit.model_builders import benchmark

HERE = {"kernel": "vmlinux"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("agree") / "run", "before")


# Of those who were counted and swept; a run has it in each of its cells.
PLACE = {"filesystem": "tmpfs", "user": "root"}


def counts(path: Path, **changes: Any) -> Path:
    rename = {**HERE, "setup": "selinux", "benchmark": "rename", "params": {"depth": 1}}
    idle = {**HERE, "setup": "selinux", "benchmark": "getppid", "params": {}}
    runs = {"inode_permission": 4, "path_rename": 1, "inode_rename": 1}
    document = {
        "format": "lsmeter-hook-counts",
        "version": 1,
        **PLACE,
        "benchmarks": [{**rename, "runs": 6}, {**idle, "runs": 0}],
        "counts": [
            {**rename, "hook": hook, "runs": number, "steady": True}
            for hook, number in runs.items()
        ],
        "problems": [{"title": "cannot count these", "detail": "inode_free"}],
        **changes,
    }
    path.write_text(json.dumps(document))
    return path


def slopes(path: Path, **changes: Any) -> Path:
    whole = {**HERE, "setup": "tunable", "authorisations_reason": ""}
    document = {
        "format": "lsmeter-slopes",
        "version": 1,
        **PLACE,
        "slopes": [
            {**whole, "benchmark": name, "params": {"depth": depth}, "slope": auth + 1e-5}
            | {"authorisations": auth}
            for name, depth, auth in (("rename", 1, 4), ("stat", 2, 2))
        ],
        **changes,
    }
    path.write_text(json.dumps(document))
    return path


def say(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    app(["hooks", "agree", *map(str, words)], standalone_mode=False)
    return capsys.readouterr().out


def test_three_views_of_real_guests(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ("--counts", counts(tmp_path / "c.json"), "--slopes", slopes(tmp_path / "s.json"))
    document = json.loads(say(capsys, "--run", run, *files, "--format", "json"))
    places = {place["setup"]: place for place in document["places"]}
    assert set(places) == {"capability", "smack", "selinux"}
    found = {
        (setup, item["benchmark"]): item
        for setup, place in places.items()
        for item in place["benchmarks"]
    }
    rename = found["selinux", "rename depth=1"]
    assert rename["checks"] == {"counting": 4, "attribution": 4, "slope": 4}
    assert (rename["checks_outcome"], rename["total_outcome"]) == ("agree", "agree")
    assert rename["total"]["most"] is None
    assert rename["least"] == 4
    assert found["selinux", "getppid"]["total_outcome"] == "agree"
    assert found["selinux", "stat depth=2"]["total_outcome"] == "not measured"
    smack = found["smack", "stat depth=2"]
    assert smack["checks"] == {"counting": None, "attribution": 3, "slope": 2}
    assert smack["checks_outcome"] == "explained"
    assert smack["findings"][0]["reasons"] == ["slow path walk, not in the slope"]
    assert any("cannot count these: inode_free" in note for note in document["notes"])
    assert any("source: not given" in note for note in document["notes"])


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_it_is_shown_with_reasons(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    said = say(capsys, "--run", run, "--slopes", slopes(tmp_path / "s.json"), "-f", form)
    words = " ".join(said.split())
    assert "smack on vmlinux" in words
    assert "explained" in words
    assert "Smack does not decide" in words
    assert "not measured" in words


def test_counts_and_slopes_without_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ("--counts", counts(tmp_path / "c.json"), "--slopes", slopes(tmp_path / "s.json"))
    (place,) = json.loads(say(capsys, *files, "-f", "json"))["places"]
    found = {item["benchmark"]: item["checks_outcome"] for item in place["benchmarks"]}
    assert found == {
        "getppid": "not measured",
        "rename depth=1": "agree",
        "stat depth=2": "not measured",
    }


def test_one_view_alone_is_refused(run: Path) -> None:
    with pytest.raises(UsageError, match="at least two"):
        app(["hooks", "agree", "--run", str(run)], standalone_mode=False)


TWICE = {**HERE, "setup": "selinux", "benchmark": "getppid", "params": {}} | {
    "hook": "inode_free",
    "runs": 1,
    "steady": True,
}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"format": "other"}, "format"),
        ({"version": 2}, "version"),
        ({"counts": [{**TWICE, "runs": -1}]}, "counts.0.runs"),
        ({"counts": [{**TWICE, "runs": "1"}]}, "counts.0.runs"),
        ({"counts": [{**TWICE, "hook": "x; rm"}]}, "counts.0.hook"),
        ({"counts": [TWICE, TWICE]}, "stands twice for getppid"),
        ({"counts": [{**TWICE, "setup": "smack"}]}, "not among its benchmarks"),
        ({"benchmarks": None}, "benchmarks"),
    ],
)
def test_counts_that_are_wrong_are_named(
    run: Path, tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    path = counts(tmp_path / "c.json", **changes)
    with pytest.raises(UsageError) as caught:
        app(["hooks", "agree", "--run", str(run), "--counts", str(path)], standalone_mode=False)
    assert said in caught.value.title
    assert str(path) in caught.value.title


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "[" * 100_000, '{"format": NaN}', "\x00", "\ud800"]
)
def test_files_that_are_no_slopes_are_refused(run: Path, tmp_path: Path, text: str) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(UsageError, match=r"--slopes .*s\.json"):
        app(["hooks", "agree", "--run", str(run), "--slopes", str(path)], standalone_mode=False)


def test_a_missing_file_and_a_directory_are_refused(run: Path, tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(UsageError, match="--slopes"):
            app(["hooks", "agree", "--run", str(run), "--slopes", str(path)], standalone_mode=False)


def test_it_reads_what_counting_writes() -> None:
    assert (formats.JSON_NAME, formats.JSON_VERSION) == ("lsmeter-hook-counts", 1)
    written = formats.document(
        CountReport(
            Heading("t", "", "", "", "tmpfs", "root"),
            (),
            (("vmlinux", "selinux", benchmark("getppid")),),
            (),
            (),
        )
    )
    assert CountsFile.model_validate_json(json.dumps(written)).benchmarks[0].benchmark == "getppid"


def test_counts_of_another_file_system_or_user_are_a_place_of_their_own(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = counts(tmp_path / "c.json", filesystem="ext4")
    other = slopes(tmp_path / "s.json", user="user")
    words = ("--run", run, "--counts", elsewhere, "--slopes", other, "--format", "json")
    places = json.loads(say(capsys, *words))["places"]
    found = {(place["setup"], place["filesystem"], place["user"]) for place in places}
    assert found >= {("selinux", "tmpfs", "root"), ("selinux", "ext4", "root")}
    assert ("tunable", "tmpfs", "user") in found


def test_counts_that_do_not_name_the_file_system_are_refused(run: Path, tmp_path: Path) -> None:
    path = counts(tmp_path / "c.json")
    document = json.loads(path.read_text())
    del document["filesystem"]
    path.write_text(json.dumps(document))
    with pytest.raises(UsageError, match="filesystem: Field required"):
        app(["hooks", "agree", "--run", str(run), "--counts", str(path)], standalone_mode=False)
