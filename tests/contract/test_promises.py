# SPDX-License-Identifier: GPL-2.0-or-later
"""The document of formats says what the code does: names, commands, versions, former names."""

from __future__ import annotations

import re
from pathlib import Path

import pydantic

import lsmeter
from lsmeter.catalogue.setups import _file
from lsmeter.cli import manual
from lsmeter.measure.results import boots, manifest, pack
from lsmeter.questions.bisect import document as bisect
from lsmeter.questions.bisect import search
from lsmeter.questions.cost import data as report
from lsmeter.questions.estimate import document as estimate
from lsmeter.questions.gate import document as gate
from lsmeter.questions.history import document as history
from lsmeter.questions.index import document as index
from lsmeter.questions.slopes import document as slopes
from lsmeter.questions.time import calibration
from lsmeter.tables.render import formats

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "reference" / "formats.md").read_text("utf-8")


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the first table below a heading."""
    table = TEXT[TEXT.index(heading) :].partition("\n|")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.split("\n")][2:]


def test_every_format_is_listed_with_its_commands() -> None:
    told = {
        name: re.findall(r"`([a-z ]+)`", commands)
        for names, _, commands in rows("# Formats")
        for name in re.findall(r"`([a-z]+)`", names)
    }
    assert told == {item.name: list(item.commands) for item in formats()}


def test_versions_are_those_of_the_code() -> None:
    documents = (bisect, estimate, gate, history, index, slopes)
    expected = {
        manifest.FORMAT: manifest.VERSION,
        boots.FORMAT: boots.VERSION,
        "lsmeter-pack": pack._VERSION,
        calibration.FORMAT: calibration.VERSION,
        search._FORMAT: search._VERSION,
        report.NAME: report.VERSION,
        **{item.CONTRACT.name: item.CONTRACT.version for item in documents},
    }
    told = {name.strip("`"): int(version) for name, version, _ in rows("## Versions")}
    assert told == expected


def test_former_names_are_listed() -> None:
    told = set(re.findall(r"`([^`]+)`", TEXT.partition("until the next major version")[2]))
    names = set(manual._OLD_NAMES) | set(manual._OLD_NAMES.values())
    names |= {f"--format {old}" for item in formats() for old in item.aliases}
    for field in _file._SetupTable.model_fields.values():
        if isinstance(field.validation_alias, pydantic.AliasChoices):
            names |= {f"[[{name}]]" for name in field.validation_alias.choices}
    assert names <= told


def test_the_version_is_the_same_wherever_it_stands() -> None:
    for name, pattern in (
        ("pyproject.toml", r'^version = "(.+)"$'),
        ("CITATION.cff", r"^version: (.+)$"),
        ("CHANGELOG.md", r"^## (.+)$"),
    ):
        found = re.search(pattern, (ROOT / name).read_text("utf-8"), re.MULTILINE)
        assert found is not None and found[1] == lsmeter.__version__, name
