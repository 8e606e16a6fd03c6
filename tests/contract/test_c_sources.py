# SPDX-License-Identifier: GPL-2.0-or-later
"""The C sources: no cycle of includes or of calls between files, short functions, short files."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from lsmeter.core.model.arch import ARM64, X86_64, Arch

ROOT = Path(__file__).parents[2]
MAX_FUNCTION_LINES = 50
MAX_FILE_LINES = 400
SOURCES = tuple(
    sorted(
        path
        for folder in ("probe", "bpf", "kernel", "plugin")
        for path in (ROOT / folder).rglob("*.[ch]")
        if "build" not in path.parts
    )
)
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
# A definition at file level: its name, and its body up to the brace that closes it.
_FUNCTION = re.compile(r"^[a-zA-Z_][^\n;={}]*?(\w+)\([^{};]*?\)\n\{\n(.*?)^\}", re.M | re.S)


def check_order(graph: Mapping[str, set[str]]) -> None:
    try:
        TopologicalSorter({key: value - {key} for key, value in graph.items()}).prepare()
    except CycleError as error:
        pytest.fail(f"cycle: {' -> '.join(error.args[1])}")


def included(path: Path) -> Iterator[Path]:
    for name in _INCLUDE.findall(path.read_text()):
        found = [folder / name for folder in (path.parent, ROOT / "probe", ROOT / "bpf")]
        yield from [item.resolve() for item in found if item.is_file()][:1]


def test_no_cycle_of_includes() -> None:
    check_order({str(path): {str(item) for item in included(path)} for path in SOURCES})


def symbols(object_file: Path) -> tuple[set[str], set[str]]:
    """Return what an object defines, and what it wants of others."""
    done = subprocess.run(["nm", str(object_file)], capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    defined = {words[-1] for words in lines if words[-2] in "TDBRC"}
    return defined, {words[-1] for words in lines if words[-2] == "U"}


@pytest.mark.parametrize("folder", ["probe", "plugin"])
def test_no_cycle_of_calls_between_files(tmp_path: Path, folder: str) -> None:
    if folder == "probe":
        words = ["make", "-s", "-C", "probe", f"O={tmp_path}", "CFLAGS=-O0"]
        subprocess.run(words, cwd=ROOT, check=True)
    else:
        files = [str(path) for path in sorted((ROOT / "plugin").glob("*.c"))]
        words = ["cc", "-c", "-O0", "-fPIC", "-DLSMETER_PLUGIN_API=1", *files]
        subprocess.run(words, cwd=tmp_path, check=True)
    found = {path: symbols(path) for path in sorted(tmp_path.rglob("*.o"))}
    owner = {name: str(path) for path, (defined, _) in found.items() for name in defined}
    check_order(
        {
            str(path): {owner[name] for name in wanted if name in owner}
            for path, (_, wanted) in found.items()
        }
    )


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_functions_and_files_are_short(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= MAX_FILE_LINES
    long = [
        name
        for name, body in _FUNCTION.findall(text)
        if len(body.splitlines()) > MAX_FUNCTION_LINES
    ]
    assert not long


# A marker alone at the beginning of a section.
MARKED = """
#include "arch/mark.h"
__attribute__((section("marker"))) void mark(void)
{
	mark_account(ACCOUNT_SERVICE);
}
"""
MARKER_BYTES = 8


@pytest.mark.parametrize("arch", [X86_64, ARM64], ids=lambda arch: arch.name)
def test_what_the_image_counts_bears_the_marker_of_the_probe(tmp_path: Path, arch: Arch) -> None:
    tools = "" if arch.is_host else arch.compiler.removesuffix("gcc")
    (tmp_path / "marked.c").write_text(MARKED)
    for source in (tmp_path / "marked.c", *ROOT.glob("src/lsmeter/sources/images/**/counted.c")):
        words = [f"{tools}gcc", "-O2", "-D_GNU_SOURCE", f"-I{ROOT / 'probe'}", "-c", str(source)]
        subprocess.run(words, cwd=tmp_path, check=True)
    words = [f"{tools}objcopy", "-O", "binary", "-j", "marker", "marked.o", "marker.bin"]
    subprocess.run(words, cwd=tmp_path, check=True)
    marker = (tmp_path / "marker.bin").read_bytes()[:MARKER_BYTES]
    assert len(marker) == MARKER_BYTES
    assert marker in (tmp_path / "counted.o").read_bytes()
