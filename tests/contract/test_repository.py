# SPDX-License-Identifier: GPL-2.0-or-later
"""What holds for every file of the repository."""

from __future__ import annotations

import ast
import fnmatch
import itertools
import re
import subprocess
from pathlib import Path

import pytest

from tests.faults.guards import GUARDS, Guard

ROOT = Path(__file__).parents[2]
COMMENTED = {".py", ".c", ".h", ".sh", ".toml", ".yaml", ".config"}
MAX_LINES = 500
MAX_FUNCTION_LINES = 60
MAX_EXCUSED = 40  # a rule that is wrong for a kind of file is left out in pyproject.toml


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


FILES = tracked()


def test_there_is_something_to_check() -> None:
    assert len(FILES) > 50


@pytest.mark.parametrize("suffix", sorted(COMMENTED))
def test_sources_name_their_licence(suffix: str) -> None:
    sources = [path for path in FILES if path.suffix == suffix and "data" not in path.parts]
    missing = [path for path in sources if "SPDX-License-Identifier" not in path.read_text()[:300]]
    assert missing == []


def test_kernel_code_is_gpl_2_only() -> None:
    kernel = [p for p in FILES if p.is_relative_to(ROOT / "kernel") and p.suffix in {".c", ".h"}]
    wrong = [path for path in kernel if "GPL-2.0-only" not in path.read_text()[:300]]
    assert wrong == []


def test_lock_files_name_no_host() -> None:
    locks = [path for path in FILES if path.suffix == ".lock"]
    assert locks
    for path in locks:
        assert "://" not in path.read_text()
        assert "--hash=sha256:" in path.read_text()


def test_no_file_has_a_path_of_this_machine() -> None:
    # What every machine has is no path of this one: a checkout may stand in it.
    places = {ROOT, ROOT.parent} - {Path("/"), Path("/tmp")}
    words = "|".join(re.escape(f"{place}/") for place in places)
    # Of an image, /data/home/user is none.
    here = re.compile(rf"(?<!\w)(?:{words}|/(?:root/|home/[a-z]))")
    found = []
    for path in FILES:
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        if here.search(text):
            found.append(path)
    assert found == []


def test_every_file_of_tests_is_collected(request: pytest.FixtureRequest) -> None:
    ignored = request.config.getini("norecursedirs")
    tests = [path.relative_to(ROOT) for path in FILES if path.match("test_*.py")]
    assert len({path.parts[1] for path in tests}) > 5
    hidden = [
        path
        for path in tests
        for part, pattern in itertools.product(path.parts[:-1], ignored)
        if fnmatch.fnmatch(part, pattern)
    ]
    assert hidden == []


def test_sources_are_rooms_not_halls() -> None:
    code = [path for path in FILES if path.suffix in {".py", ".c", ".h"}]
    long = [path for path in code if len(path.read_text().splitlines()) > MAX_LINES]
    assert long == []


def test_functions_of_the_source_are_short() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {node.name}: {length} lines"
        for path in (ROOT / "src").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (length := (node.end_lineno or 0) - node.lineno + 1) > MAX_FUNCTION_LINES
    ]
    assert found == []


@pytest.mark.parametrize("guard", GUARDS, ids=[guard.name for guard in GUARDS])
def test_each_guard_that_is_taken_away_stands_once_in_its_file(guard: Guard) -> None:
    assert (ROOT / "src/lsmeter" / guard.file).read_text("utf-8").count(guard.old) == 1


def test_few_lines_are_excused_from_a_rule() -> None:
    lines = [
        line
        for path in (ROOT / "src").rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if "# noqa" in line
    ]
    assert len(lines) <= MAX_EXCUSED
