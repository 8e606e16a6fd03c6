# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the table of docs/concepts/agreement.md anew from agreements.

    lsmeter hooks agree RUN… --source TREE --format json > 6.1.json
    python bench/agreement_table.py 6.1.json 6.12.json 7.2.json

The table stands between `<!-- table agreement -->` and `<!-- end -->`; with --check nothing is
written, and the exit code is 1 when a row that the files have is another one in the document.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

DOCUMENT = Path(__file__).parent.parent / "docs" / "concepts" / "agreement.md"
_HEAD = (
    "| kernel | setup | policy hooks | all hooks | source | open |\n"
    "| --- | --- | --- | --- | --- | --: |\n"
)
_PLACE = re.compile(r"(?<=<!-- table agreement -->\n)(.*?)(?=<!-- end -->)", re.DOTALL)
_COMPARISONS = ("checks_outcome", "total_outcome", "source_outcome")
_ORDER = ("agree", "explained", "open", "not measured")


def rows(document: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """Return a line of the table for each place of an agreement, by kernel and setup."""
    return {(place["kernel"], place["setup"]): _row(place) for place in document["places"]}


def _row(place: Mapping[str, Any]) -> str:
    benchmarks = place["benchmarks"]
    cells = [_outcomes(item[name] for item in benchmarks) for name in _COMPARISONS]
    disputed = sum("open" in [item[name] for name in _COMPARISONS] for item in benchmarks)
    return f"| {' | '.join((place['kernel'], place['setup'], *cells, str(disputed)))} |"


def _outcomes(found: Iterable[str]) -> str:
    counted = Counter(found)
    return ", ".join(f"{counted[name]} {name}" for name in _ORDER if counted[name])


def printed(text: str) -> dict[tuple[str, str], str]:
    """Return the rows that the document has."""
    found = _PLACE.search(text)
    if found is None:
        raise ValueError("the document has no place for the table")
    lines = found[1].splitlines()[2:]
    return {
        (cells[1].strip(), cells[2].strip()): line for line in lines if (cells := line.split("|"))
    }


def document_with(text: str, made: Mapping[tuple[str, str], str]) -> str:
    """Return the document with these rows as its table."""
    if _PLACE.search(text) is None:
        raise ValueError("the document has no place for the table")
    table = _HEAD + "".join(f"{line}\n" for line in made.values())
    return _PLACE.sub(lambda _: table, text)


def main(words: Sequence[str] | None = None) -> int:
    """Write the document, or compare it."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("agreement", nargs="+", type=Path, help="what `hooks agree` wrote as JSON")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if it differs")
    arguments = parser.parse_args(words)
    made: dict[tuple[str, str], str] = {}
    for path in arguments.agreement:
        made |= rows(json.loads(path.read_text()))
    text = DOCUMENT.read_text()
    if arguments.check:
        known = printed(text)
        return int(any(known.get(key) != line for key, line in made.items()))
    DOCUMENT.write_text(document_with(text, made))
    return 0


if __name__ == "__main__":
    sys.exit(main())
