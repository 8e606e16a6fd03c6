# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/architecture.md is true: parts import only what stands above them, never in circles."""

from __future__ import annotations

import ast
import graphlib
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
DOCUMENT = ROOT / "docs" / "architecture.md"

_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def modules() -> dict[str, Path]:
    """Return every module of lsmeter by its name."""
    found = {}
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


KNOWN = modules()


def imports(name: str) -> Iterator[str]:
    """Yield what a module imports, in functions and for types only as well."""
    for node in ast.walk(ast.parse(KNOWN[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (item.name for item in node.names if item.name in KNOWN)
        elif isinstance(node, ast.ImportFrom) and node.module in KNOWN:
            for item in node.names:
                inner = f"{node.module}.{item.name}"
                yield inner if inner in KNOWN else node.module


def layers() -> list[str]:
    """Return the parts in the order of the document's table."""
    text = DOCUMENT.read_text(encoding="utf-8")
    return re.findall(r"^\| `([a-z_]+)/` \|", text, re.MULTILINE)


def part(module: str) -> str:
    return module.split(".")[1] if module.count(".") else ""


def test_every_part_stands_in_the_document() -> None:
    assert sorted(layers()) == sorted({part(name) for name in KNOWN} - {"", "__main__"})


def test_a_part_imports_only_what_stands_above_it() -> None:
    order = layers()
    upwards = [
        f"{name} imports {wanted}"
        for name in KNOWN
        if part(name) in order
        for wanted in imports(name)
        if part(wanted) in order and order.index(part(wanted)) > order.index(part(name))
    ]
    assert upwards == []


def test_no_module_imports_itself_by_way_of_others() -> None:
    graph = {name: {item for item in imports(name) if item != name} for name in KNOWN}
    # A package's face and its members stand for each other only where they say so.
    graphlib.TopologicalSorter(graph).prepare()


def test_no_header_of_the_probe_or_plugin_includes_itself_by_way_of_others() -> None:
    for home in ("probe", "plugin", "bpf"):
        files = [path for kind in ("*.c", "*.h") for path in (ROOT / home).rglob(kind)]
        graph = {
            path: {
                found
                for name in _INCLUDE.findall(path.read_text(encoding="utf-8"))
                for base in (path.parent, ROOT / home)
                if (found := (base / name).resolve()) in files
            }
            for path in map(Path.resolve, files)
        }
        graphlib.TopologicalSorter(graph).prepare()
