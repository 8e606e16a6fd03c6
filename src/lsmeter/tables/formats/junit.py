# SPDX-License-Identifier: GPL-2.0-or-later
"""JUnit XML: a suite for each rule of a gate, a case for each benchmark and setup.

A rule that is not judged is a skipped case of its own. Limits are in properties: a rule keeps its
name where its limit is changed.
"""

from __future__ import annotations

from collections import Counter
from xml.etree import ElementTree as ET

from lsmeter.tables.model import Detail, Document
from lsmeter.tables.render import Format, Options
from lsmeter.tables.results import Result, Rule, Status

_KINDS = {Status.FAILED: "failure", Status.MISSING: "skipped", Status.SKIPPED: "skipped"}


def render(document: Document, options: Options) -> str:
    """Return one XML document."""
    root = ET.Element("testsuites", name="lsmeter gate")
    taken: Counter[str] = Counter()
    for rule in document.results_for(FORMAT.name).rules:
        taken[rule.name] += 1
        number = taken[rule.name]
        _suite(root, rule, f"{rule.name} ({number})" if number > 1 else rule.name)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(root: ET.Element, rule: Rule, name: str) -> None:
    suite = ET.SubElement(root, "testsuite", name=name)
    told = ET.SubElement(suite, "properties")
    ET.SubElement(told, "property", name="limit", value=rule.limit)
    if rule.unjudged:
        case = ET.SubElement(suite, "testcase", classname=name, name="is judged")
        ET.SubElement(case, "skipped", message=rule.unjudged)
    for item in rule.items:
        _case(suite, item)
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for kind, count in (("failure", "failures"), ("skipped", "skipped")):
        suite.set(count, str(sum(case.find(kind) is not None for case in cases)))
    suite.set("errors", "0")


def _case(suite: ET.Element, item: Result) -> None:
    where = item.place.label.replace(", ", ".")
    case = ET.SubElement(suite, "testcase", classname=where, name=item.benchmark)
    if item.status in _KINDS:
        ET.SubElement(case, _KINDS[item.status], message=item.said)
    ET.SubElement(case, "system-out").text = item.said


FORMAT = Format(
    "junit", "JUnit XML of a gate's rules", ".xml", Detail.DATA, render, commands=("gate",)
)
