# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter import`: other programs' files become runs, which all commands read as their own."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import InProcess

DATA = Path(__file__).parents[1] / "data" / "imported"


def files(home: Path, name: str, factors: tuple[float, ...], stem: str) -> list[str]:
    """Write copies of a report whose numbers are so many times as high."""
    text = (DATA / name).read_text()

    def scaled(factor: float) -> str:
        return re.sub(
            r"([0-9]+\.[0-9]) (lps|lpm|KBps|MWIPS)",
            lambda found: f"{float(found[1]) * factor:.1f} {found[2]}",
            text,
        )

    made = [home / f"{stem}-{at}" for at in range(len(factors))]
    for path, factor in zip(made, factors, strict=True):
        path.write_text(scaled(factor))
    return [path.name for path in made]


def test_two_setups_are_compared_and_a_loss_of_throughput_is_worse(in_process: InProcess) -> None:
    noise = (1.0, 1.002, 0.999, 1.001, 0.998, 1.0005, 0.9995, 1.0015)
    off = files(in_process.home, "unixbench-1", noise, "off")
    on = files(in_process.home, "unixbench-1", tuple(item * 0.8 for item in noise[::-1]), "on")
    done = in_process("import", "unixbench", *off, "--setup", "capability", "--run-dir", "r")
    assert done.code == 0, done.err
    done = in_process("import", "unixbench", *on, "-s", "selinux", "--run-dir", "r", "-f", "json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert (found["instrument"], found["baseline_setup"]) == ("imported", "capability")
    assert found["conditions"] == {}
    assert "conditions" not in in_process("history", "r").out
    assert {item["verified"] for item in found["setups"]} == {False}
    compared = {item["id"]: item for item in found["comparisons"]}
    calls = compared["system-call-overhead copies=1"]
    assert calls["overhead"] == pytest.approx(0.2, abs=0.01)
    assert calls["verdict"] == "slower"
    estimates = [item for item in found["estimates"] if item["id"] == calls["id"]]
    assert [(item["boots"], item["unit"]) for item in estimates] == [(8, "lps")] * 2
    assert estimates[0]["value"] == pytest.approx(991649.7, rel=0.002)
    # All that reads runs reads this one.
    assert in_process("report", "r", "--verify").code == 0
    assert in_process("report", "r", "-f", "html", "-o", "page.html").code == 0
    gate = ("gate", "r", "r", "--max", "system-call-overhead@selinux<=5%")
    assert in_process(*gate).code == 0
    assert in_process(*gate[:-1], "system-call-overhead<=9lps", "--inconclusive", "pass").code == 0
    assert "counted in lps" in in_process(*gate[:-1], "system*<=9insns").err


def test_every_format_becomes_a_report(in_process: InProcess) -> None:
    for form, name in (
        *(("lmbench", "lmbench-1"), ("unixbench", "unixbench-2"), ("phoronix", "phoronix-1.xml")),
    ):
        shutil.copy(DATA / name, in_process.home)
        done = in_process("import", form, name, "--setup", "mine", "--run-dir", form, "--all")
        assert done.code == 0, done.err
        assert "Traceback" not in done.err
        assert f"Results of {form}" in done.out
        assert "(higher is better): " in done.out
        assert in_process("report", form).out
    done = in_process("import", "phoronix", "phoronix-1.xml", "-s", "again")
    assert (done.code, len(list((in_process.home / "runs").iterdir()))) == (0, 1)
    assert "left out: simdjson: Test Install Time" in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("unixbench", "lmbench-1"), "lmbench-1: it is no report of UnixBench"),
        (("lmbench", "cut"), "cut: it is cut short: lmbench ends with the date"),
        (("lmbench", "none"), "none"),
        (("lmbench", "."), "Is a directory"),
        (("lmbnech", "lmbench-1"), "did you mean lmbench?"),
        (("lmbench", "lmbench-1", "lmbench-1"), "it is the same as lmbench-1"),
        (("lmbench", "lmbench-1", "--run-dir", "r"), "r has it already"),
        (("unixbench", "unixbench-1", "--run-dir", "r"), "not of unixbench"),
        (("unixbench", "unixbench-1", "--run-dir", "other"), "is not a run directory"),
        (("phoronix", "phoronix-1.xml", "--system", "GVN"), "unknown system 'GVN'"),
    ],
)
def test_wrong_files_are_one_line_and_exit_code_2(
    in_process: InProcess, words: tuple[str, ...], said: str
) -> None:
    for path in DATA.iterdir():
        shutil.copy(path, in_process.home)
    (in_process.home / "cut").write_text((DATA / "lmbench-1").read_text()[:3000])
    (in_process.home / "other").mkdir()
    (in_process.home / "other" / "file").touch()
    assert in_process("import", "lmbench", "lmbench-1", "-s", "a", "--run-dir", "r").code == 0
    done = in_process("import", *words, "--setup", "selinux")
    assert (done.code, done.out) == (2, ""), done.err
    assert said in " ".join(done.err.split())
    assert done.err.count("error: ") == 1


def test_nobody_measures_with_the_instrument(in_process: InProcess) -> None:
    done = in_process("run", "--instrument", "imported", "--dry-run")
    assert done.code == 2
    assert "Traceback" not in done.err


def test_a_benchmark_in_another_unit_is_not_added(in_process: InProcess) -> None:
    text = (DATA / "unixbench-1").read_text()
    (in_process.home / "a").write_text(text)
    (in_process.home / "b").write_text(text.replace(" MWIPS", " WIPS"))
    assert in_process("import", "unixbench", "a", "-s", "off", "--run-dir", "r").code == 0
    done = in_process("import", "unixbench", "b", "-s", "on", "--run-dir", "r")
    assert (done.code, done.out) == (2, "")
    assert "one file has it in WIPS, another in MWIPS" in " ".join(done.err.split())
    assert len(list((in_process.home / "r" / "boots").iterdir())) == 1


def test_a_damaged_boot_is_told_once_after_another_import(in_process: InProcess) -> None:
    (a, b) = files(in_process.home, "unixbench-1", (1.0, 1.1), "off")
    assert in_process("import", "unixbench", a, "-s", "off", "--run-dir", "r").code == 0
    (boot,) = (in_process.home / "r" / "boots").iterdir()
    whole = (boot / "samples.parquet").read_bytes()
    (boot / "samples.parquet").write_bytes(b"x")
    assert in_process("import", "unixbench", b, "-s", "on", "--run-dir", "r").code == 0
    problems = json.loads(in_process("report", "r", "-f", "json").out)["problems"]
    assert sum("damaged, and no result" in item["title"] for item in problems) == 1
    (boot / "samples.parquet").write_bytes(whole)
    assert json.loads(in_process("report", "r", "-f", "json").out)["problems"] == []
