# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the tables of docs/concepts/hooks-from-source.md anew from kernel sources.

    python bench/hook_tables.py debian-source:6.1 debian-source:7.2
    python bench/hook_tables.py --check linux-6.1 linux-7.2

Each table stands between two comments of the document, `<!-- table NAME -->` and `<!-- end -->`;
what is between them is replaced. With --check nothing is written, and the exit code is 1 when a
table is not what the sources give.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from lsmeter.catalogue.studies import printed_rows
from lsmeter.questions.hooks.source.analysis import analyse
from lsmeter.questions.hooks.source.document import decisions_table, mediation_table
from lsmeter.questions.hooks.source.model import Count, Module, SourceAnalysis
from lsmeter.questions.hooks.source.rules import (
    CLASSES,
    FAMILIES,
    FILE_ACCESS_CLASSES,
    OTHER,
    TABLE5_CLASSES,
)
from lsmeter.sources.kernels.build.source import resolve_source
from lsmeter.tables.model import Shown, Table, Value

DOCUMENT = Path(__file__).parent.parent / "docs" / "concepts" / "hooks-from-source.md"
FILESYSTEM = "ext4"
NOT_THERE = "\u2013"  # a dash
STUDY = "5.3"
INTEGRITY = ("ima", "evm")  # one module in print
# Rows that stand for Table 7: the calls that the table names, as the kernel calls them.
_SHOWN = {"sendfile": "sendfile64", "stat": "newstat"}
_LEFT = frozenset({"module", "class", "system call", "interface"})
_PLACE = re.compile(r"(<!-- table ([\w.-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def tables(analyses: Sequence[SourceAnalysis]) -> dict[str, str]:
    """Return every table of the document in Markdown, by the name that its comment has."""
    made = {
        "modules": modules_table(analyses),
        "classes": classes_table(analyses),
        "later-classes": later_classes_table(analyses),
        "published": published_table(),
    }
    for analysis in analyses:
        series = ".".join(analysis.kernel_version.split(".")[:2])
        made[f"decisions-{series}"] = of_table7(decisions_table(analysis, FILESYSTEM))
        made[f"mediation-{series}"] = of_table7(mediation_table(analysis, FILESYSTEM))
    return {name: markdown_table(*table) for name, table in made.items()}


_Rows = tuple[tuple[str, ...], list[tuple[str, ...]]]


def modules_table(analyses: Sequence[SourceAnalysis]) -> _Rows:
    """Return hooks and lines of each module beside those in print (Table 2)."""
    columns = ["module"]
    for version in (STUDY, *(one.kernel_version for one in analyses)):
        columns += [f"{version} {what}" for what in ("hooks", "general", "lines", "per hook")]
    printed = {row["module"]: row for row in printed_rows("asiaccs21-table2.csv")}
    modules = [_modules(one) for one in analyses]
    rows: list[tuple[str, ...]] = []
    for name in sorted(set().union(*modules)):
        cells = _printed(printed.get(name))
        for one in modules:
            cells += _sizes(one[name]) if name in one else [NOT_THERE] * 4
        rows.append((name, *cells))
    both = _printed(printed["integrity"])
    for one in modules:
        both += _together([one[name] for name in INTEGRITY if name in one])
    rows.append((" + ".join(INTEGRITY), *both))
    framework = printed["framework"]
    defined = [framework["hooks"], framework["general_hooks"], "", ""]
    whole = ["", "", framework["code_lines"], ""]
    for analysis in analyses:
        found = analysis.framework
        defined += [str(found[key]) for key in ("hooks", "general_hooks", "code_lines")] + [""]
        whole += ["", "", str(found["security_code_lines"]), ""]
    rows += [("framework", *defined), ("all of security/", *whole)]
    return tuple(columns), rows


def _modules(analysis: SourceAnalysis) -> dict[str, Module]:
    return {one.name: one for one in analysis.modules}


def _printed(row: dict[str, str] | None) -> list[str]:
    if row is None:
        return [NOT_THERE] * 4
    return [row[key] for key in ("hooks", "general_hooks", "code_lines", "lines_per_hook")]


def _sizes(module: Module) -> list[str]:
    per_hook = "" if module.lines_per_hook is None else f"{module.lines_per_hook:.0f}"
    return [str(module.hooks), str(module.general_hooks), str(module.code_lines), per_hook]


def _together(modules: Iterable[Module]) -> list[str]:
    found = list(modules)
    hooks = sum(one.hooks for one in found)
    lines = sum(one.code_lines for one in found)
    general = sum(one.general_hooks for one in found)
    return [str(hooks), str(general), str(lines), f"{lines / hooks:.0f}" if hooks else ""]


def classes_table(analyses: Sequence[SourceAnalysis]) -> _Rows:
    """Return hooks by object class beside those in print (Table 5)."""
    printed = {row["class"]: row for row in printed_rows("asiaccs21-table5.csv")}
    names = [name for name in printed["total"] if name != "class"]
    rows = [
        (name, *(" / ".join((printed[name][one], *_hooks(analyses, one, name))) for one in names))
        for name in (*TABLE5_CLASSES, "file access", "total")
    ]
    return ("class", *names), rows


def later_classes_table(analyses: Sequence[SourceAnalysis]) -> _Rows:
    """Return hooks by object class of the modules that the study has not."""
    printed = printed_rows("asiaccs21-table5.csv")[0]
    found = {one.name for analysis in analyses for one in analysis.modules}
    names = sorted(found - printed.keys())
    rows = [
        (name, *(" / ".join(_hooks(analyses, one, name)) for one in names))
        for name in (*CLASSES, OTHER)
    ]
    return ("class", *names), rows


def _hooks(analyses: Sequence[SourceAnalysis], module: str, name: str) -> list[str]:
    """Return a module's hooks of one class, or a sum, in each of the kernels."""
    cells: list[str] = []
    for analysis in analyses:
        one = _modules(analysis).get(module)
        if one is None:
            cells.append(NOT_THERE)
            continue
        by_class = one.hooks_by_class
        access = sum(by_class.get(each, 0) for each in FILE_ACCESS_CLASSES)
        sums = {"total": one.hooks, "file access": access}
        cells.append(str(sums.get(name, by_class.get(name, 0))))
    return cells


def of_table7(table: Table) -> _Rows:
    """Keep the rows of Table 7's system calls, without what no ordinary call has."""
    wanted = {_SHOWN.get(family, family) for family in FAMILIES}
    heads = tuple(column.head for column in table.columns)
    ordinary = heads.index("ordinary") if "ordinary" in heads else None
    rows: list[tuple[str, ...]] = []
    head = ("", "")
    for row in (tuple(map(_text, values)) for values in table.rows):
        head = (row[0], row[1]) if row[0] else head
        if head[0] not in wanted:
            continue
        if ordinary is not None and row[ordinary] in ("0", "0*") and row[2] != "none":
            continue
        first = rows and _owner(rows) == head[0]
        rows.append((*(("", "") if first else head), *row[2:]))
    return heads, rows


def _text(value: Value) -> str:
    shown = value.text if isinstance(value, Shown) else value
    return "" if shown is None else str(shown)


def _owner(rows: Sequence[tuple[str, ...]]) -> str:
    return next(row[0] for row in reversed(rows) if row[0])


def published_table() -> _Rows:
    """Return Table 7 as printed."""
    modules = ("selinux", "apparmor", "smack", "tomoyo")
    rows: list[tuple[str, ...]] = []
    shown = ""
    for row in printed_rows("asiaccs21-table7.csv"):
        first = (row["syscall"], row["least"]) if row["syscall"] != shown else ("", "")
        shown = row["syscall"]
        counts = (str(Count.parse(row[name])) for name in modules)
        rows.append((*first, row["interface"] or "none", *counts))
    return ("system call", "least", "interface", *modules), rows


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return one table in Markdown."""
    signs = ["---" if name in _LEFT else "--:" for name in columns]
    return "".join(f"| {' | '.join(row)} |\n" for row in (columns, signs, *rows))


def document_with(text: str, made: dict[str, str]) -> str:
    """Return the document with its tables replaced; ValueError names a table that is not made."""
    unknown = [found[2] for found in _PLACE.finditer(text) if found[2] not in made]
    missing = [name for name in made if f"<!-- table {name} -->" not in text]
    if unknown or missing:
        raise ValueError(f"tables nobody makes: {unknown}; tables without a place: {missing}")
    return _PLACE.sub(lambda found: f"{found[1]}{made[found[2]]}{found[4]}", text)


def main() -> int:
    """Write the document, or compare it."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("tree", nargs="+", help="folder of a kernel's source, or debian-source:6.1")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if it differs")
    arguments = parser.parse_args()
    trees = [resolve_source(tree).path for tree in arguments.tree]
    old = DOCUMENT.read_text()
    new = document_with(old, tables([analyse(tree) for tree in trees]))
    if arguments.check:
        return int(new != old)
    DOCUMENT.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
