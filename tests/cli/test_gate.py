# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter gate` over recorded guests: one setup that becomes costlier between two runs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from xml.etree import ElementTree as ET

import pytest

from tests.cli.conftest import CAPTURES
from tests.cli.test_replay import FIVE, measured
from tests.conftest import InProcess, Lsmeter
from tests.unit.guest.lines import restated
from tests.unit.kernels.synthetic import bzimage, elf

ATTRIBUTED = ("--attribute", "--benchmark", "open depth=1", "--samples", "5")
CHEAP = ("capability", 'lsms = ["capability"]')
COSTLY = ("selinux", 'lsms = ["capability", "selinux"]\ncmdline = ["selinux=1", "enforcing=0"]')


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lsmeter]:
    """Return the command with runs a, same and b of a setup `mine`; b of one that does more."""
    with pytest.MonkeyPatch.context() as patch:
        lsmeter = InProcess(tmp_path_factory.mktemp("gate"), patch)
        (lsmeter.home / "kernel").write_bytes(bzimage(elf(), release="6.1.0-56-cloud-amd64"))
        patch.setenv("LSMETER_CACHE", str(lsmeter.home / "cache"))
        for name, setup in (("a", CHEAP), ("same", CHEAP), ("b", COSTLY)):
            run_of(lsmeter, patch, name, *setup, *FIVE, "--samples", "20")
        yield lsmeter


def run_of(
    lsmeter: Lsmeter,
    patch: pytest.MonkeyPatch,
    run: str,
    recorded: str,
    keys: str,
    *words: str,
    scattered: tuple[str, str] | None = None,
) -> None:
    home = lsmeter.home / f"recorded-{run}"
    shutil.copytree(CAPTURES / recorded, home / "mine")
    if scattered is not None:
        results = home / "mine" / "attribute-0" / "results"
        results.write_bytes(restated(results.read_bytes(), scattered))
    (lsmeter.home / "mine.toml").write_text(f'name = "mine"\ntitle = "mine"\n{keys}\n')
    patch.setenv("LSMETER_REPLAY", str(home))
    alone = ("run", "--setup", "./mine.toml", "--baseline", "./mine.toml")
    done = measured(lsmeter, *alone, *words, run=run)
    assert done.code == 0, done.err


def test_a_run_against_itself_keeps_every_rule(two: Lsmeter) -> None:
    done = two("gate", "a", "same")
    assert done.code == 0, done.out + done.err
    assert "every rule is kept" in done.out
    assert two("gate", "a", "same", "--max", "*<=0insns", "--number", "typical").code == 0


def test_a_broken_rule_is_one_line_and_exit_code_1(two: Lsmeter) -> None:
    done = two("gate", "a", "b", "--max", "open*<=2%", "--max", "getppid<=1insns", "-f", "text")
    assert done.code == 1
    words = " ".join(done.out.split())
    assert "open depth=1, mine on ./kernel: " in words
    assert "limit 2%" in words
    # One instruction more or less of a whole cycle cannot be told, and that is said.
    broken, _, unsure = words.partition("Inconclusive (1)")
    place = "getppid<=1insns: mine on ./kernel"
    assert (place in broken, place in unsure) == (False, True)
    only = ("gate", "a", "b", "--max", "getppid<=1insns", "--inconclusive")
    assert [two(*only, word).code for word in ("fail", "skip", "pass")] == [1, 125, 0]
    found = json.loads(two("gate", "a", "b", "--max", "open*<=2%", "-f", "json").out)
    assert found["exit_code"] == 1
    assert {item["outcome"] for item in found["findings"]} == {"broken"}
    assert {item["id"] for item in found["findings"]} == {"open depth=1", "open depth=2"}


def test_limits_are_shares_or_amounts_and_hold_for_each_number(two: Lsmeter) -> None:
    assert two("gate", "a", "b", "--max", "open*<=200%").code == 0
    assert two("gate", "a", "b", "--max", "open*<=1e5insns").code == 2
    assert two("gate", "a", "b", "--max", "open*<=100000insns").code == 0
    done = two("gate", "a", "b", "--max", "open*<=50insns", "--number", "mean", "-f", "json")
    assert (done.code, {item["number"] for item in json.loads(done.out)["findings"]}) == (
        *(1, {"mean"}),
    )
    assert two("gate", "b", "a").code == 0  # what got cheaper breaks no rule


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--max", "opne*<=2%"), "did you mean open"),
        (("--max", "open*@mien<=2%"), "did you mean mine?"),
        (("--max", "open*<=2ns"), "counted in insns"),
        (("--max", "open*<=-2%"), "is no limit"),
        (("--max", "open*"), "is no rule"),
        (("--max", "<=2%"), "is no rule"),
        (("--max", "open*@<=2%"), "is no rule"),
        (("--number", "hole"), "did you mean whole?"),
        (("--inconclusive", "failed"), "did you mean fail?"),
        (("--rules", "none.toml"), "--rules: none.toml"),
        (("--rules", "bad.toml"), "bad.toml: unknown key 'rule.1.benchmrk'; did you mean benchm"),
    ],
)
def test_wrong_words_are_one_line_and_exit_code_2(
    two: Lsmeter, words: tuple[str, ...], said: str
) -> None:
    (two.home / "bad.toml").write_text(
        '[[rule]]\nbenchmark="open*"\nmax="2%"\n[[rule]]\nbenchmrk="a"\n'
    )
    done = two("gate", "a", "b", *words)
    assert (done.code, done.out) == (2, "")
    assert said in " ".join(done.err.split())
    assert done.err.count("error: ") == 1


def test_a_side_without_numbers_is_skipped(two: Lsmeter) -> None:
    shutil.copytree(two.home / "b", two.home / "empty")
    for path in (two.home / "empty" / "boots").iterdir():
        shutil.rmtree(path)
    done = two("gate", "a", "empty", "--max", "open*<=2%")
    assert done.code == 125
    assert "a number is missing" in done.out
    assert two("gate", "a", "nowhere").code == 2


def test_rules_come_from_a_file_and_ci_gets_junit_xml(two: Lsmeter) -> None:
    (two.home / "gate.toml").write_text(
        '[[rule]]\nbenchmark = "open"\nmax = "2 %"\n\n'
        '[[rule]]\nbenchmark = "getppid"\nsetup = "m*"\nmax = "0 insns"\nnumbers = ["typical"]\n'
    )
    done = two("gate", "a", "b", "--rules", "gate.toml", "--junit", "gate.xml")
    assert done.code == 1
    root = ET.parse(two.home / "gate.xml").getroot()  # noqa: S314  (our own file)
    suites = {item.get("name"): item for item in root}
    assert list(suites) == ["open", "getppid@m* (typical)"]
    failed, kept = suites.values()
    assert (failed.get("tests"), failed.get("failures"), failed.get("skipped")) == ("2", "2", "0")
    assert (kept.get("tests"), kept.get("failures")) == ("1", "0")
    limits = [item.get("value") for item in root.iter("property")]
    assert limits == ["2%", "0insns"]
    message = failed.find("testcase/failure")
    assert message is not None and "limit 2%" in (message.get("message") or "")


def test_a_broken_rule_names_hook_and_function(
    replay: Lsmeter, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = (*ATTRIBUTED, "--quick", "--boots", "1")
    # As where one reading of five meets an empty slab.
    refill = ("samples 2 2865x5", "samples 2 2865x3,4440,2865")
    run_of(replay, monkeypatch, "a", *CHEAP, *once, scattered=refill)
    refill = ("samples 2 3742x5", "samples 2 3742x4,5317")
    run_of(replay, monkeypatch, "b", *COSTLY, *once, scattered=refill)
    # Five that scatter know no mean: the report calls it inconclusive, and so does the gate.
    assert replay("gate", "a", "b").code == 125
    done = replay("gate", "a", "b", "--number", "typical", "-f", "text")
    assert done.code == 1
    assert "security_" in done.out and "selinux_" in done.out
