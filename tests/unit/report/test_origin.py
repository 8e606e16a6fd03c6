# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the cost comes from, in the reports of a run that real guests made with attribution."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from lsmeter.core.model import Round
from lsmeter.measure.results.directory import read_run
from lsmeter.questions.attribution.account import Explained
from lsmeter.questions.attribution.cost import Amount, Cost, Site
from lsmeter.questions.attribution.data import ACCOUNT
from lsmeter.questions.attribution.explain import explain
from lsmeter.questions.attribution.flame import graph_files
from lsmeter.questions.attribution.load import run_cells
from lsmeter.questions.attribution.profile import Context, Function, Tree
from lsmeter.questions.attribution.tables import HEADING, section
from lsmeter.questions.cost.build import run_report
from lsmeter.questions.cost.model import Report
from lsmeter.tables.model import Detail, Shown
from tests.unit.attribution import recorded
from tests.unit.attribution.recorded import VALUES, write_run
from tests.unit.attribution.trees import tree
from tests.unit.model_builders import TEXT_FORMATS
from tests.unit.report.builders import render
from tests.unit.report.test_html import Page, assert_needs_nothing, attacked

SCHEMA = Path(__file__).parents[3] / "src/lsmeter/questions/cost/schema/report-1.json"


def read_report(path: Path) -> Report:
    return run_report(read_run(path))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return read_report(write_run(tmp_path_factory.mktemp("origin") / "run", "before"))


@pytest.fixture(scope="module")
def page(report: Report) -> str:
    return render(report, "html")


def test_every_setup_is_accounted_for_to_the_last_instruction(report: Report) -> None:
    found = {item.place.setup: (item, ACCOUNT.entry(item)) for item in report.accounts}
    assert set(found) == {"smack", "selinux"}
    for setup, (account, item) in found.items():
        base, own = VALUES["before-capability"], VALUES[f"before-{setup}"]
        assert item["difference_insns"] == sum(own.values()) - sum(base.values())
        parts = (item["hook_insns"], item["residue_insns"], item["other_insns"])
        assert item["difference_insns"] == sum(parts)
        assert (item["operations"], item["exact"], item["missing"]) == (3, 3, [])
        assert item["hooks"][0]["hook"] == "security_inode_permission"
        shares = sum(line["share"] or 0.0 for line in item["hooks"])
        assert shares == pytest.approx(item["hook_insns"] / item["difference_insns"])
        grown = sum(tree.insns for tree in account.after.values())
        grown -= sum(tree.insns for tree in account.before.values())
        assert grown == item["difference_insns"] - item["other_insns"]
    assert found["selinux"][1]["residue"] == []
    # Smack refuses the fast path walk: the kernel pays outside of its hooks.
    smack = found["smack"][1]
    assert {"__d_lookup", "__d_lookup_rcu"} <= {line["function"] for line in smack["residue"]}
    assert (smack["hooks"][0]["baseline_calls"], smack["hooks"][0]["calls"]) == (6, 9)


def test_the_page_has_a_section_with_a_graph_for_each_setup(page: str) -> None:
    found = Page(page)
    sections = [a["id"] for tag, a in found.elements if tag == "section" and "id" in a]
    assert sections == ["summary", "grid-1", "whole", "origin", "origin-2", "method", "problems"]
    assert "#origin" in {a["href"] for tag, a in found.elements if tag == "a"}
    start, end = page.index('<section id="origin">'), page.index('<section id="method">')
    section = page[start:end]
    assert section.count('class="flame"') == 2
    assert "smack_inode_permission" in section
    assert "1,589 instructions over 3 operations" in section
    ids = [a["id"] for _, a in found.elements if "id" in a]
    assert len(ids) == len(set(ids))
    assert_needs_nothing(page)


def test_frames_keep_the_title_that_shows_on_hover(page: str) -> None:
    assert 'title="security_inode_permission [framework]: ' in page
    assert 'title="smack_inode_permission [smack]: ' in page


def test_names_of_the_guest_do_nothing(report: Report) -> None:
    text = render(attacked(report), "html")
    assert "alert(1)" in text
    assert "<script" not in text
    assert "<img" not in text
    assert_needs_nothing(text)


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_text_formats_say_it_too(report: Report, form: str) -> None:
    text = render(report, form)
    assert HEADING in text
    assert all(word in text.replace("\\", "") for word in ("inode_", "permission", "sum"))
    words = " ".join(text.replace("\\", "").split())
    assert "hooks +1,273, non-hook +316" in words


@pytest.fixture(scope="module")
def with_windows(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Report a run whose guests ran windows; Smack's are those of the others."""

    def left(cycles: int) -> Tree:
        later = ("inode_free_by_rcu", cycles, 40 * cycles, ())
        return tree(("[interrupt]", 0, 0, (("rcu_do_batch", 5, 900, (later,)),)))

    hook = ("security_file_open", 150, 450, ())
    window = tree(("[user]", 0, 150_000, ()), ("entry_SYSCALL_64", 150, 30_000, (hook,)))
    rounds = (Round(100, 0, 50_000, 0, (0, 5000)), Round(50, 0, 25_000, 0, (0, 2500)))
    path = tmp_path_factory.mktemp("windows") / "run"
    windows = (window, left(100), left(50))
    return read_report(write_run(path, "before", windows=windows, rounds=rounds))


def test_whole_costs_are_shown_by_context(with_windows: Report) -> None:
    smack = ACCOUNT.entry(with_windows.accounts[0])["whole"]
    assert smack["operations"] == 3
    assert smack["baseline_insns"] == pytest.approx(3 * (200 + 3 + 40))
    assert smack["difference_insns"] == 0
    for form in ("markdown", "html"):
        assert "Whole cost by context" in render(with_windows, form), form
    data = json.loads(render(with_windows, "json"))
    jsonschema.validate(data, json.loads(SCHEMA.read_text()))
    assert data["accounts"][0]["whole"]["operations"] == 3


def test_whole_costs_that_differ_are_listed(report: Report) -> None:
    hook = Site(Context.CALL, "security_file_free", Function("selinux_file_free", "selinux"))
    later = Site(Context.RCU, "security_inode_free", Function("inode_free_by_rcu"))
    rcu = Site(Context.RCU, "", Function("rcu_cblist_dequeue"))
    cost = Cost({hook: Amount(1.0, 200.0), later: Amount(1.0, 103.4), rcu: Amount(1.0, 12.0)}, {})
    operations = {"open": explain(Cost({}, {}), cost, reported=316.0)}
    whole = Explained(operations)
    shown = section(replace(report.accounts[0], whole=whole), Detail.FULL)
    tables = {table.key: table for table in shown.tables}
    assert tables["contexts"].rows == (
        ("system call", "in line", 200.0, 0.0),
        ("RCU callback", "deferred", 103.4, 12.0),
    )
    row = tables["whole-hooks"].rows[1]
    assert row[:2] == ("security_inode_free", "RCU callback")
    assert row[4:6] == (103.4, 103.4 / 315.4)
    causes = {row[0]: row[2] for row in tables["causes"].rows}
    assert causes["RCU has more callbacks to run"] == Shown(12.0, "+12 (1)")


def test_suites_are_told_apart(report: Report) -> None:
    first = report.accounts[0]
    cell = first.tested.cell
    cell = replace(cell, place=replace(cell.place, suite="net"))
    other = replace(first, tested=replace(first.tested, cell=cell))
    titles = [section(item).title for item in (first, other)]
    assert titles == [
        "smack over capability (vmlinux, file, tmpfs, root)",
        "smack over capability (vmlinux, net, tmpfs, root)",
    ]
    assert [ACCOUNT.entry(item)["suite"] for item in (first, other)] == ["file", "net"]
    assert len(graph_files([first, other])) == 6


def test_json_keeps_its_contract(report: Report) -> None:
    data = json.loads(render(report, "json"))
    jsonschema.validate(data, json.loads(SCHEMA.read_text()))
    smack, selinux = data["accounts"]
    assert (smack["setup"], selinux["setup"]) == ("smack", "selinux")
    assert smack["hook_insns"] == 1273
    assert selinux["residue"] == []


def test_runs_without_attribution_are_reported_as_ever(tmp_path: Path) -> None:
    plain = read_report(write_run(tmp_path / "run", "before", attributed=False))
    assert plain.accounts == ()
    for form in TEXT_FORMATS:
        text = render(plain, form)
        assert HEADING not in text
        assert "accounts" not in text


def test_damaged_attribution_is_a_problem_of_the_report(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", "before")
    path = next(run.rglob("attribution.zst"))
    path.write_bytes(b"nonsense")
    found = read_report(run)
    assert found.accounts, "the other boot of its setup has one"
    assert len(found.estimates) == 9
    (problem,) = found.problems
    assert "damaged" in problem.title
    assert str(path) in problem.detail


@pytest.mark.parametrize(
    ("old", "new", "says", "kept"),
    [
        ("stray 0", "stray 2", "no attribution: it is damaged: 2 end markers", None),
        ("refused 0", "refused 7", "not all is attributed: 7 samples found no room", 3),
        (r"refused 0\neof\n", "", "not all is attributed: the plugin's output has no end", 3),
        ("region 1 20 0 0 0", "region 1 20 0 4 0", "rename depth=1: 4 samples hit a limit", 2),
        ("region 1 20 0 0 0", "region 1 20 0 0 1", "rename depth=1: 1 sample did not end", 2),
        (r"(?s)region 2.*end 2\n", "", "stat depth=2: the plugin saw nothing of it", 2),
    ],
)
def test_what_the_plugin_missed_is_a_problem_and_no_number(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    old: str,
    new: str,
    says: str,
    kept: int | None,
) -> None:
    whole = recorded.output

    def output(name: str) -> bytes:
        text = whole(name).decode()
        assert re.search(old, text)
        return (re.sub(old, new, text, count=1) if name == "before-selinux" else text).encode()

    monkeypatch.setattr(recorded, "output", output)
    run = read_run(write_run(tmp_path / "run", "before"))
    said = [f"{item.title}: {item.detail}" for item in run_report(run).problems]
    assert [text for text in said if says not in text] == []
    assert len(said) == 2
    cells = {item.cell.place.setup: item.kept for item in run_cells(run)[0]}
    assert len(cells["selinux"]) == (kept or 0)
    assert len(cells["capability"]) == 3


def test_setups_that_cannot_be_explained_are_named(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", "before")
    baseline = {item.place.setup: item.hash for item in read_run(run).manifest.cells}["capability"]
    for path in run.glob(f"boots/{baseline}-*/attribution.zst"):
        path.unlink()
    found = read_report(run)
    assert found.accounts == ()
    assert len(found.comparisons) == 6
    said = [note for note in found.notes if "where its cost comes from is not shown" in note]
    assert [note.split()[0] for note in said] == ["smack", "selinux"]
