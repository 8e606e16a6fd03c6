# SPDX-License-Identifier: GPL-2.0-or-later
"""Bencher's metric format: names of benchmarks, their measures, and the value of each."""

from __future__ import annotations

import json
import re

from lsmeter.tables.model import Detail, Document
from lsmeter.tables.render import Files, Format, Options
from lsmeter.tables.results import COMMANDS, Quantity, distinct

# Bencher takes names of 1,024 bytes, of which a character has up to 4, and slugs of 64.
_LONGEST_NAME, _LONGEST_MEASURE = 1024 // 4, 64  # characters
_IGNORED = re.compile("(?:_bencher_ignore|BencherIgnore|-bencher-ignore)$")  # what Bencher drops


def render(document: Document, options: Options) -> Files:
    """Return one JSON object; what has no number has no place in it, and is said to be left out."""
    found = document.results_for(FORMAT.name)
    left_out = [f"{found.name(item)}: {item.said}" for item in found.items if not item.quantities]
    # Two rules of a gate may have the same number.
    measured: dict[tuple[str, ...], dict[tuple[str, str], Quantity]] = {}
    names: dict[tuple[str, ...], str] = {}
    for item in found.items:
        key = (item.benchmark, *found.where(item))
        if item.quantities:
            names[key] = _IGNORED.sub(r"\g<0>.", found.name(item))
            numbers = {(each.name, each.unit): each for each in item.quantities}
            measured.setdefault(key, {}).update(numbers)
    whole = dict(
        zip(
            distinct(names.values(), _LONGEST_NAME),
            map(_measures, measured.values()),
            strict=True,
        )
    )
    text = json.dumps(whole, indent=1, allow_nan=False) + "\n"
    return Files({"bmf.json": text.encode()}, tuple(left_out))


def _measures(numbers: dict[tuple[str, str], Quantity]) -> dict[str, dict[str, float]]:
    words = ("-".join(key).lower() for key in numbers)
    slugs = (re.sub(r"[^a-z0-9]+", "-", word).strip("-") for word in words)
    found = distinct((slug or "value" for slug in slugs), _LONGEST_MEASURE)
    return dict(zip(found, map(_metric, numbers.values()), strict=True))


def _metric(item: Quantity) -> dict[str, float]:
    values = {"value": item.value, "lower_value": item.low, "upper_value": item.high}
    return {key: value for key, value in values.items() if value is not None}


FORMAT = Format(
    "bmf",
    "numbers for Bencher",
    ".json",
    Detail.DATA,
    render,
    commands=COMMANDS,
)
