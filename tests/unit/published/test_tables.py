# SPDX-License-Identifier: GPL-2.0-or-later
"""Printed tables against what others typed, both ways, and cells that were read by hand."""

from __future__ import annotations

import csv
import re
from functools import cache
from pathlib import Path

import pytest

from lsmeter.catalogue.studies import find_published
from lsmeter.catalogue.studies.shown import read_csv

REFERENCE = Path(__file__).parents[2] / "data" / "reference"
# Names that are written in another way here.
MODULES = {"capabilities": "capability", "lsm": "framework"}
CLASSES = {"total (file accessing)": "file access"}
INTERFACES = {"n/a": "", "security_path_name": "security_path_rename"}
PATHS = {
    "AA": "depth=1",
    "AA/BB": "depth=2",
    "AA/BB/CC/DD": "depth=4",
    "AA/BB/CC/DD/EE/FF/GG/HH": "depth=8",
    "AA//HH": "path=dotdot-3",
    "XX/YY///AA/BB///HH": "path=dotdot-9",
}


def typed(name: str) -> list[dict[str, str]]:
    with (REFERENCE / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def ours(number: int) -> list[dict[str, str]]:
    return read_csv(f"asiaccs21-table{number}.csv", Path("/nonexistent"), "test")


def _module(name: str) -> str:
    return MODULES.get(name.lower(), name.lower())


def test_hooks_and_lines_of_each_module() -> None:
    columns = {"hooks": "hooks", "general_hooks": "general_hooks", "loc": "code_lines"}
    columns["loc_per_hook"] = "lines_per_hook"
    found = {row["module"]: row for row in ours(2)}
    for row in typed("asiaccs21_table2_loc"):
        for key, column in columns.items():
            number = row[key].partition(" ")[0].replace("N/A", "")
            assert found[_module(row["module"])][column] == number, row
    assert len(found) == len(typed("asiaccs21_table2_loc"))


def test_hooks_of_each_class_and_module() -> None:
    found = {
        (row["class"], module): row[module]
        for row in ours(5)
        for module in row
        if module != "class"
    }
    reference = {
        (CLASSES.get(row["category"].lower(), row["category"].lower()), _module(row["module"])): row
        for row in typed("asiaccs21_table5_hooks")
    }
    assert found == {key: row["hooks"] for key, row in reference.items()}
    assert len(found) == 128


def test_slopes_by_path() -> None:
    found = {row["benchmark"]: float(row["slope"]) for row in ours(6)}
    for row in typed("asiaccs21_table6_slopes"):
        path = re.match(r"path ([A-Z/]+)", row["note"])
        name = f"{row['benchmark']} {PATHS[path[1]] if path else 'depth=2'}"
        assert found.pop(name) == float(row["value"]), row
    assert not found


def test_hooks_of_each_system_call() -> None:
    found = {
        (row["syscall"], row["interface"], module): row[module]
        for row in ours(7)
        for module in ("selinux", "apparmor", "smack", "tomoyo")
    }
    reference = {}
    for row in typed("asiaccs21_table7_hooks_by_syscall"):
        hook = row["lsm_interface"]
        key = (row["syscall"], INTERFACES.get(hook.lower(), hook), row["module"].lower())
        times = row["max_hooks"].replace(" ", "").replace("*dirdepth", "d").replace("3*2", "6")
        reference[key] = "d" if times == "1d" else times
    assert found == reference
    assert len(found) == 128


def _number(text: str) -> float | None:
    return float(text) if text else None


@pytest.mark.parametrize(
    ("study", "setup", "sections", "gain"),
    [
        ("thesis2015", "enforcing", ("3.2.3", "3.3", "3.4"), False),
        ("thesis2015-optimised", "optimised", ("3.2.4",), True),
    ],
)
def test_all_tables_of_the_thesis(
    study: str, setup: str, sections: tuple[str, ...], *, gain: bool
) -> None:
    """Each row of one is a row of the other, with both values and the printed difference."""
    reference = set()
    for row in typed("thesis_rumancik2015_selinux"):
        if row["table"].startswith(sections) and row["baseline_value"]:
            percent = _number(row["overhead_percent"])
            percent = -percent if gain and percent is not None else percent
            filesystem = row["setup"].rpartition("; ")[2]
            reference.add(
                (filesystem, float(row["baseline_value"]), float(row["value"]), percent or 0.0)
            )
    found = {
        (row.table, row.baseline, row.values[setup], row.printed_percent.get(setup, 0.0))
        for row in find_published(study).rows
    }
    # Section 3.2.4.5 repeats the rows of 3.2.4.4, with one digit more.
    repeated = {item for item in reference if item[:3] in {row[:3] for row in found}} - found
    assert len(repeated) == (3 if gain else 0)
    assert found == reference - repeated


def test_penalties_of_the_slides() -> None:
    found = {row.name: row.printed_percent["enabled"] for row in find_published("rhel5-2007").rows}
    reference = {
        row["benchmark"]: float(row["overhead_percent"])
        for row in typed("rhel5_strand2007_slides")
        if row["overhead_percent"]
    }
    assert found == reference


@cache
def _cells(study: str) -> dict[tuple[str, str], float]:
    """Return the numbers of a study by row and column, as a hand check names them."""
    if study.endswith(".csv"):
        return {
            (next(iter(row.values())), column): float(value)
            for row in read_csv(study, Path("/nonexistent"), "test")
            for column, value in row.items()
            if re.fullmatch(r"[0-9.]+", value)
        }
    found: dict[tuple[str, str], float] = {}
    for row in find_published(study).rows:
        named = {"baseline": row.baseline, "baseline_sd": row.baseline_sd}
        found |= {(row.name, key): value for key, value in named.items() if value is not None}
        kinds = {"value": row.values, "sd": row.sd, "percent": row.printed_percent}
        found |= {
            (row.name, f"{kind} {setup}"): value
            for kind, values in kinds.items()
            for setup, value in values.items()
        }
    return found


HAND_CHECKED = typed("hand_checked")


def test_enough_cells_were_read_by_hand() -> None:
    cells = {(item["study"], item["row"], item["column"]) for item in HAND_CHECKED}
    assert len(cells) == len(HAND_CHECKED) >= 60


@pytest.mark.parametrize(
    "item", HAND_CHECKED, ids=lambda item: f"{item['study']}: {item['row']}: {item['column']}"
)
def test_a_cell_that_was_read_in_the_study_is_the_one_here(item: dict[str, str]) -> None:
    assert _cells(item["study"])[item["row"], item["column"]] == float(item["printed"])
