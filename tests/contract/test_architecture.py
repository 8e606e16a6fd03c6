# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/concepts/architecture.md is true: parts import only what stands above, never in circles."""

from __future__ import annotations

import ast
import graphlib
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
DOCUMENT = ROOT / "docs" / "concepts" / "architecture.md"

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
    text = DOCUMENT.read_text(encoding="utf-8").partition("\n## ")[0]  # then the probe's
    return re.findall(r"^\| `([a-z_/]+)/` \|", text, re.MULTILINE)


def part(module: str) -> str:
    """Return the part that a module belongs to: the longest one of the table."""
    path = "/".join(module.split(".")[1:])
    return max(
        (name for name in layers() if f"{path}/".startswith(f"{name}/")), key=len, default=""
    )


def literals(path: Path) -> str:
    """Return the texts of a module that are not its documentation."""
    nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    of = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    told = {ast.get_docstring(item, clean=False) for item in nodes if isinstance(item, of)}
    texts = {item.value for item in nodes if isinstance(item, ast.Constant)} - told
    return " ".join(text for text in texts if isinstance(text, str))


def is_command(module: str) -> bool:
    return module.endswith("command")


_X86 = re.compile(r"x86|amd64|intel_|kvm_amd|\berms\b|swapgs|rdtsc|cpuid|%r[sd][pi]", re.I)
# That no such word stands in, or that is not searched.
_WITHOUT_A_WORD = {"Makefile", "test_architecture.py", "vmlinux.py"}


def test_what_is_x86_is_said() -> None:
    section = DOCUMENT.read_text(encoding="utf-8").partition("## What is x86")[2]
    names = re.findall(r"`([\w/.-]+\.\w+|\w+/Makefile)`", section.partition("\n## ")[0])
    sources = {path: literals(path) for path in (SOURCE / "lsmeter").rglob("*.py")}
    table = SOURCE / "lsmeter/measure/tasks/events.toml"
    parts = [path for name in ("plugin", "bpf", "kernel") for path in (ROOT / name).rglob("*.[ch]")]
    sources |= {path: path.read_text() for path in (table, *parts)}
    found = {path.name for path, text in sources.items() if _X86.search(text)}
    assert {Path(name).name for name in names} - _WITHOUT_A_WORD == found - _WITHOUT_A_WORD


PARTS = {name: part(name) for name in KNOWN}
FOLDERS = {"lsmeter", "lsmeter.catalogue", "lsmeter.sources", "lsmeter.measure"}
ALONE = {"lsmeter.questions", "lsmeter.app", "lsmeter.__main__"}


def test_every_module_belongs_to_a_part() -> None:
    assert {name for name, found in PARTS.items() if not found} == FOLDERS | ALONE
    assert set(layers()) == set(PARTS.values()) - {""}


def test_a_part_imports_only_what_stands_above_it() -> None:
    order = layers()
    upwards = [
        f"{name} imports {wanted}"
        for name in KNOWN
        if PARTS[name] and not is_command(name)
        for wanted in imports(name)
        if wanted != "lsmeter"
        if not PARTS[wanted]
        or is_command(wanted)
        or order.index(PARTS[wanted]) > order.index(PARTS[name])
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
