# SPDX-License-Identifier: GPL-2.0-or-later
"""What every format shows of policies: proofs, layers, states, one-off costs."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from lsmeter.core.model.setup import Layer, Link
from lsmeter.questions.cells.layers import layered_costs
from lsmeter.questions.cost import layers
from lsmeter.questions.cost.document import report_document
from lsmeter.questions.cost.model import Report
from lsmeter.tables.model import Detail
from tests.unit.report import builders, policy_builders
from tests.unit.report.builders import render
from tests.unit.report.test_html import Page, assert_needs_nothing, attacked

HEADINGS = (
    "Enforcement checks",
    "Hook overhead and policy evaluation",
    "State of the modules",
    "One-off costs",
)
SHOWN = ("table", "text", "markdown", "html")


@pytest.fixture(scope="module")
def report() -> Report:
    return policy_builders.report()


@pytest.fixture(scope="module")
def page(report: Report) -> str:
    return render(report, "html")


def squeezed(text: str) -> str:
    """Undo what wrapping, escaping and quoting do to words."""
    for sign in ("&#34;", "&quot;"):
        text = text.replace(sign, '"')
    return " ".join(text.replace("\\", "").replace(" | ", " ").split())


def whole(report: Report, name: str) -> str:
    return squeezed(render(report, name, everything=name in {"table", "text"}))


@pytest.mark.parametrize("name", ["table", "text"])
def test_what_held_is_one_line_and_what_did_not_is_told_in_full(report: Report, name: str) -> None:
    text = squeezed(render(report, name))
    assert "Enforcement checks held in every boot: selinux-enforcing (2)." in text
    assert "must be denied, was allowed" in text
    assert "Held in 0 of 2 boots" in text
    assert "read-public" not in text
    assert "apparmor-enforcing:rules=512 = capability + hooks +4.6 %, policy +114.5 %" in text
    good = replace(report, checks=tuple(item for item in report.checks if item.held))
    assert "Enforcement checks Each" not in squeezed(render(good, name))


@pytest.mark.parametrize("name", SHOWN)
def test_every_format_shows_proofs_with_the_kernels_own_line(report: Report, name: str) -> None:
    text = whole(report, name)
    for heading in HEADINGS:
        assert heading in text
    assert " ".join(policy_builders.AVC.split()) in text
    for word in ("/srv/lsmeter/secret", "denied (EACCES)", "allowed", "2 of 2 boots"):
        assert word in text
    assert "0 of 2 boots" in text
    assert "the policy is not enforced" in text


@pytest.mark.parametrize("name", SHOWN)
def test_every_format_shows_layers_states_and_costs(report: Report, name: str) -> None:
    text = whole(report, name).replace("\N{NO-BREAK SPACE}", " ")
    for word in ("+412", "+655", "-7", "+1,203", "lookups", "longest", "251/512"):
        assert word in text
    for word in ("policy load", "412,000,000", "relabelling 1,000 files", "Guest boot"):
        assert word in text
    assert "security_inode_permission +2,800 (71.2 %)" in text


def test_the_lower_part_of_a_longer_chain_is_not_told_twice(report: Report) -> None:
    found = layers.stacks(report)
    assert [stack.place.setup for stack in found] == [
        "selinux-enforcing+audit-rules+ima",
        "apparmor-enforcing:rules=512",
    ]
    heads = ("base", "+ hooks", "+ permissive policy", "+ enforcing", "+ audit", "+ integrity")
    assert found[0].heads == heads


def test_a_benchmark_without_a_number_in_between_has_a_table_of_its_own(report: Report) -> None:
    lacking = tuple(
        item
        for item in report.estimates
        if (item.place.setup, item.benchmark.id) != ("selinux-permissive", "open depth=4")
    )
    links = policy_builders.LINKS
    costs = layered_costs(links, lacking, {})
    found = layers.stacks(replace(report, layers=costs))
    odd = next(stack for stack in found if "+ policy" in stack.heads and "+ audit" in stack.heads)
    assert [item.benchmark.id for item in odd.costs] == ["open depth=4"]
    assert sum(len(stack.costs) for stack in found) == 2 * len(policy_builders.benchmarks())


def test_one_layer_over_the_baseline_is_told_by_the_overheads(report: Report) -> None:
    links = (*policy_builders.LINKS[:2], Link("apparmor", "capability", (Layer.INTEGRITY,)))
    single = replace(report, layers=layered_costs(links, report.estimates, {}))
    (table,) = layers.section(single, Detail.FULL).tables
    assert len(table.rows) == len(policy_builders.benchmarks())
    brief = layers.section(single, Detail.TERMINAL)
    assert brief.tables == ()
    assert list(layers.brief(single)) == []


def test_layers_that_add_the_same_are_told_apart() -> None:
    links = (
        Link("capability", "", ()),
        Link("apparmor", "capability", (Layer.INTEGRITY,)),
        Link("apparmor+evm", "apparmor", (Layer.INTEGRITY,)),
    )
    item = policy_builders.benchmarks()[2]
    estimates = [builders.estimate(item, link.setup, 100 + at) for at, link in enumerate(links)]
    (stack,) = layers.stacks(
        replace(policy_builders.report(), layers=layered_costs(links, estimates, {}))
    )
    assert stack.heads == ("base", "+ integrity: apparmor", "+ integrity: evm")


def test_all_panels_show_the_same_variant_of_an_operation(report: Report) -> None:
    found = layers.stacks(report)
    # The layers add the same at every depth here: the first of equals is taken.
    assert layers.largest(found) == (
        "empty",
        "getppid",
        "stat depth=1",
        "open depth=1",
        "rename depth=1",
        "read size=4096",
    )
    dear = found[0].costs[3]
    assert dear.benchmark.id == "stat depth=4"
    grown = replace(dear, value=dear.value + 10_000)
    first = replace(found[0], costs=(*found[0].costs[:3], grown, *found[0].costs[4:]))
    assert "stat depth=4" in layers.largest((first, found[1]))
    assert "stat depth=1" not in layers.largest((found[1], first))


def test_json_has_what_the_tables_are_made_of(report: Report) -> None:
    data = json.loads(render(report, "json"))
    (secret, public, failed) = data["proofs"]
    assert (secret["happened"], secret["error"], secret["held"]) == ("denied", "EACCES", 2)
    assert public["denied"] is False
    assert (failed["setup"], failed["held"]) == ("smack-enforcing", 0)
    for item in data["layers"]:
        total = item["base_value"] + sum(layer["difference"] for layer in item["layers"])
        assert total == item["value"]
    state = data["states"][0]
    assert state["counters"]["lookups"] == {"difference": 1440, "per_reading": 12.0}
    assert state["gauges"]["entries"] == {"before": 505, "after": 507}
    assert {item["title"] for item in data["one_off"]} >= {"policy load", "guest boot"}


def test_the_page_has_sections_and_stacked_bars(page: str) -> None:
    found = Page(page)
    order = [a["id"] for tag, a in found.elements if tag == "section" and "id" in a]
    wanted = ["whole", "checks", "layers", "states", "one-off"]
    assert order == ["summary", "grid-1", *wanted, "method", "problems"]
    links = {a["href"] for tag, a in found.elements if tag == "a"}
    assert links == {f"#{name}" for name in order}
    start, end = page.index('<section id="layers">'), page.index('<section id="states">')
    assert page[start:end].count("<svg") == 1
    assert "+ permissive policy" in page[start : page.index("</svg>", start)]
    ids = [a["id"] for _, a in found.elements if "id" in a]
    assert len(ids) == len(set(ids))
    assert_needs_nothing(page)


def test_texts_of_guests_do_nothing_in_the_page(report: Report) -> None:
    text = render(attacked(report), "html")
    assert "alert(1)" in text
    assert "<script" not in text
    assert "<img" not in text
    assert_needs_nothing(text)


def test_reports_without_policies_have_no_chapters() -> None:
    shown = report_document(builders.report(), Detail.TERMINAL)
    assert [section.key for section in shown.sections] == ["grid-1", "whole", "summary"]
