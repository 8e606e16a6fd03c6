# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes guards away, one at a time, and says which cases of the campaign see that.

`python -m tests.faults.mutate [PATTERN] [--jobs N]`: guards whose name has PATTERN. Each is an
edit of a copy of the sources; the cases that are to see it run against that copy, those of every
other guard are left out. Ends with 1 if a guard was missed, or a case sees what it is not to. The
table that is printed is Markdown.
"""

from __future__ import annotations

import argparse
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.faults.guards import GUARDS, Guard

ROOT = Path(__file__).parents[2]
_SOURCES = ROOT / "src" / "lsmeter"
_DEADLINE_S = 1800.0


def _copied(guard: Guard | None, home: Path) -> Path:
    """Return a copy of the sources, without a guard; built programs are linked."""
    target = home / "src" / "lsmeter"
    skipped = shutil.ignore_patterns("_bin", "__pycache__")
    shutil.copytree(_SOURCES, target, ignore=skipped)
    (target / "_bin").symlink_to(_SOURCES / "_bin")
    if guard is not None:
        path = target / guard.file
        text = path.read_text("utf-8")
        if text.count(guard.old) != 1:
            raise SystemExit(f"{guard.name}: {guard.file} has it {text.count(guard.old)} times")
        path.write_text(text.replace(guard.old, guard.new), "utf-8")
    return target.parent


def _cases(guard: Guard | None, truth: Path, home: Path, words: tuple[str, ...]) -> str:
    """Run `_see` against a copy of the sources; return what it printed."""
    path = f"{_copied(guard, home)}:{ROOT}"
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.see", str(truth), str(home), *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=_DEADLINE_S,
        check=False,
    )
    return done.stdout if done.returncode == 0 else f"! {done.stderr.strip()[-300:]}\n"


def _line(guard: Guard, truth: Path) -> tuple[str, bool]:
    """Return a row of the table, and whether every case saw it."""
    with tempfile.TemporaryDirectory(prefix="lsmeter-mutant-") as home:
        said = _cases(guard, truth, Path(home), (guard.cases,)).splitlines()
    saw = [line[2:] for line in said if line.startswith("+ ")]
    missed = [line[2:] for line in said if line.startswith(("- ", "! "))]
    shown = "; ".join(saw) or "**none**"
    return f"| {guard.name} | {shown} | {'; '.join(missed)} |", bool(saw) and not missed


def main() -> int:
    """Take guards away, several at a time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--truth", type=Path, help="keep what is true without a fault here")
    asked = parser.parse_args()
    taken = [guard for guard in GUARDS if re.search(asked.pattern, guard.name)]
    with tempfile.TemporaryDirectory(prefix="lsmeter-truth-") as folder:
        truth = asked.truth or Path(folder) / "truth"
        if not (truth / "truth.pickle").is_file():
            _cases(None, truth, Path(folder) / "plain", ())
        pickle.loads((truth / "truth.pickle").read_bytes())  # noqa: S301  (it is our own)
        print("| guard taken away | cases that saw it | that did not |\n|---|---|---|")  # noqa: T201
        with ThreadPoolExecutor(asked.jobs) as pool:
            right = []
            for row, fine in pool.map(lambda guard: _line(guard, truth), taken):
                print(row, flush=True)  # noqa: T201
                right.append(fine)
    print(f"\n{len(taken)} guards, {sum(right)} seen by every case that is to see them")  # noqa: T201
    return not all(right)


if __name__ == "__main__":
    sys.exit(main())
