# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the tables of the main experiment in README.md and docs/results.md, and the picture.

    python bench/results.py                   # from examples/main.lsmeter
    python bench/results.py --run runs/…      # from another run of experiments/main.toml
    python bench/results.py --studies FILE    # with claims that lsmeter reproduce -f json judged
    python bench/results.py --check           # exit 1 where a file is not what the run says

A table stands between `<!-- table NAME -->` and `<!-- end -->`; nothing else of a document changes.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
if str(ROOT) not in sys.path:  # started as a program
    sys.path.insert(0, str(ROOT))

from bench.dot_plot import Dot, dot_plot  # noqa: E402
from bench.hook_tables import document_with  # noqa: E402

from lsmeter.catalogue.studies.study import find_study  # noqa: E402
from lsmeter.questions.reproduce.judge import Verdict  # noqa: E402

RUN = ROOT / "examples/main.lsmeter"
ARCHES = ROOT / "examples/arches.lsmeter"  # of three kernels, each of x86-64 and arm64
CLAIMS = ROOT / "examples/claims.csv"  # of published studies, as they were judged
_COLUMNS = ("study", "claim", "verdict", "measured")
ARM64 = "debian:6.1:arm64"
MINUS = "\u2212"
SETUPS = {
    "selinux": "SELinux",
    "apparmor": "AppArmor",
    "tomoyo": "TOMOYO",
    "landlock": "Landlock",
    "bpf": "BPF LSM",
    "distribution": "Debian\u2019s default stack",
}
CALLS = (
    *(f"{call} depth={depth}" for call in ("stat", "open") for depth in (1, 4, 8)),
    *("creat depth=1", "rename depth=2", "mkdir depth=1", "unlink depth=1", "chmod depth=1"),
    *("close after=open", "read size=0", "write size=4096", "getppid"),
)
FIRST = (
    *("stat depth=4", "open depth=4", "creat depth=1", "mkdir depth=1", "rename depth=2"),
    "read size=0",
)
CYCLES = {
    "stat depth=1": "`stat`",
    "open depth=1": "`open+close`",
    "creat depth=1": "`creat+close+unlink`",
    "mkdir depth=1": "`mkdir+rmdir`",
    "rename depth=1": "`rename+rename`",
    "symlink depth=1": "`symlink+unlink`",
    "exit files=16": "`fork+open...+exit+wait4` with 16 files",
    "read size=4096": "`read` 4096",
    "write size=4096": "`write` 4096",
}

Rows = dict[tuple[str, str], dict[str, Any]]


def report_of(run: Path) -> dict[str, Any]:
    """Return what `lsmeter report` says of a run, as data."""
    command = [sys.executable, "-m", "lsmeter", "report", str(run), "--format", "json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def compared(report: dict[str, Any], kernel: str = "") -> Rows:
    """Return the comparisons by benchmark and setup, of one kernel if it is named."""
    rows = (row for row in report["comparisons"] if kernel in {"", row["kernel"]})
    return {(row["id"], row["setup"]): row for row in rows}


def percent(fraction: float) -> str:
    """Write an overhead: +1.2 %, and 0.0 % without a sign."""
    text = f"{fraction * 100:+.1f}"
    return f"{text.replace('-', MINUS) if float(text) else '0.0'} %"


def _signed(value: float) -> str:
    return f"{value:+,.0f}".replace("-", MINUS) if round(value) else "0"


def _half(row: dict[str, Any]) -> float:
    value = row["difference"]
    return float(max(row["high"] - value, value - row["low"]))


def _table(first: str, lines: list[list[str]]) -> str:
    titles = [first, "capabilities only", *SETUPS.values()]
    rows = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return f"| {' | '.join(titles)} |\n|---|{'---:|' * (len(titles) - 1)}\n{rows}"


def calls_table(rows: Rows, benchmarks: tuple[str, ...]) -> str:
    """Return the typical counts of single calls: the baseline's, and overheads."""
    lines = []
    for name in benchmarks:
        typical = [rows[name, setup]["typical"] for setup in SETUPS]
        base = f"{typical[0]['baseline_value']:,}"
        lines.append([f"`{name}`", base, *(percent(row["overhead"]) for row in typical)])
    return _table("operation", lines)


def arm64_rows(report: dict[str, Any]) -> str:
    """Return the lines of those operations of the first table that have typical counts on arm64."""
    rows = compared(report, ARM64)
    known = [name for name in FIRST if rows[name, "selinux"]["typical"]["overhead"] is not None]
    lines = calls_table(rows, tuple(known)).splitlines(keepends=True)[2:]
    return "".join(line.replace("` |", "`, arm64 |", 1) for line in lines)


def arches_table(report: dict[str, Any]) -> str:
    """Return the whole costs of each kernel of a run: the baseline's, and overheads."""
    lines = []
    for name in FIRST:
        for kernel in report["kernels"]:
            rows = compared(report, kernel["name"])
            whole = [rows[name, setup]["whole"] for setup in SETUPS]
            title = f"`{name}`, {kernel['name'].removeprefix('debian:')}"
            base = f"{whole[0]['baseline_value']:,.0f}"
            lines.append([title, base, *(percent(row["overhead"]) for row in whole)])
    return _table("cycle, kernel", lines)


def cycles_table(rows: Rows) -> str:
    """Return whole costs: the baseline's, and differences with their 99 % intervals."""
    lines = []
    for name, title in CYCLES.items():
        whole = [rows[name, setup]["whole"] for setup in SETUPS]
        cells = (
            f"{_signed(row['difference'])} ±{_half(row):,.0f} ({percent(row['overhead'])})"
            for row in whole
        )
        lines.append([title, f"{whole[0]['baseline_value']:,.0f}", *cells])
    return _table("cycle", lines)


def dots(rows: Rows) -> dict[str, list[Dot]]:
    """Return the whole cost of each cycle under each setup, in per cent, for the picture."""
    found = {}
    for name, title in CYCLES.items():
        whole = [rows[name, setup]["whole"] for setup in SETUPS]
        found[title.replace("`", "").replace("open...+exit+wait4", "open\u2026wait4")] = [
            Dot(
                setup,
                row["overhead"] * 100,
                row["overhead_low"] * 100,
                row["overhead_high"] * 100,
            )
            for setup, row in zip(SETUPS.values(), whole, strict=True)
        ]
    return found


def origin(report: dict[str, Any]) -> str:
    """Return the sentence that says what was measured."""
    kernel, tools = report["kernels"][0], report["tools"]
    qemu = tools["qemu"].split()[0]
    return (
        f"Kernel {kernel['release']} ({kernel['version']}), QEMU {qemu}, lsmeter"
        f" {report['lsmeter_version']}, {report['created'][:10]}.\n"
    )


REFUTED = {  # claims that stand in the document, by study
    "asiaccs21": ("selinux-mkdir-rmdir-under-2", "apparmor-only-name-operations"),
    "freenix01": ("copy-cost-is-revalidation",),
    "lomac01": ("execl-costly",),
    "static-calls": ("unused-bpf-callbacks",),
}


def judged_claims(document: dict[str, Any], known: str) -> str:
    """Return claims as CSV: what each came to, and by which number.

    Claims that the document does not have stay as they are known.
    """
    rows = {(row["study"], row["claim"]): row for row in csv.DictReader(io.StringIO(known))}
    judged = [row for study in document["studies"] for row in _rows(study)]
    rows |= {(row["study"], row["claim"]): row for row in judged}
    studies = dict.fromkeys(study for study, _ in rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        rows[study, claim.id]
        for study in studies
        for claim in find_study(study).claims
        if (study, claim.id) in rows
    )
    return text.getvalue()


def _rows(study: dict[str, Any]) -> Iterator[dict[str, str]]:
    for item in study["claims"]:
        decided = item["decided"]["measured"] if item["decided"] else item["why"]
        cells = (study["name"], item["id"], item["verdict"], decided)
        yield dict(zip(_COLUMNS, cells, strict=True))


def studies_table(rows: list[dict[str, str]]) -> str:
    """Return how many claims of each study hold."""
    lines = [f"| study | {' | '.join(Verdict)} | claims |\n|---|{'---:|' * 5}\n"]
    for study in (*dict.fromkeys(row["study"] for row in rows), ""):
        found = Counter(row["verdict"] for row in rows if study in {"", row["study"]})
        cells = (*(str(found[verdict]) for verdict in Verdict), str(found.total()))
        lines.append(f"| {study or 'all'} | {' | '.join(cells)} |\n")
    return "".join(lines)


def refuted_table(rows: list[dict[str, str]]) -> str:
    """Return some claims that do not hold today, with what was printed and what was measured."""
    measured = {(row["study"], row["claim"]): row for row in rows}
    lines = ["| study | claim | printed | measured today |\n|---|---|---|---|\n"]
    for study, names in REFUTED.items():
        claims = {claim.id: claim for claim in find_study(study).claims}
        for name in names:
            row = measured[study, name]
            if row["verdict"] != Verdict.FAILS:
                raise SystemExit(f"{CLAIMS.name}: {study} {name}: {row['verdict']}")
            cells = (study, claims[name].claim, claims[name].printed, row["measured"])
            lines.append(f"| {' | '.join(cell.replace('*', chr(92) + '*') for cell in cells)} |\n")
    return "".join(lines)


def files(report: dict[str, Any]) -> dict[Path, str]:
    """Return what each file has to hold."""
    rows, arches = compared(report), report_of(ARCHES)
    claims = list(csv.DictReader(io.StringIO(CLAIMS.read_text("utf-8"))))
    tables = {
        ROOT / "docs/results.md": {
            "origin": origin(report),
            "calls": calls_table(rows, CALLS),
            "cycles": cycles_table(rows),
            "arches": arches_table(arches),
            "studies": studies_table(claims),
            "refuted": refuted_table(claims),
        },
        ROOT / "README.md": {"calls": calls_table(rows, FIRST) + arm64_rows(arches)},
    }
    found = {path: document_with(path.read_text("utf-8"), made) for path, made in tables.items()}
    for scheme in ("light", "dark"):
        found[ROOT / f"docs/pictures/overhead-{scheme}.svg"] = dot_plot(
            "Additional kernel instructions per cycle, over capabilities only",
            "in %: whole cost with its 99 % interval, Debian\u2019s 6.1 kernel, no policy loaded",
            dots(rows),
            dark=scheme == "dark",
        )
    return found


def main() -> None:
    """Write the files, or say which are not what the run says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--run", type=Path, default=RUN, help="run directory, or packed run")
    parser.add_argument("--studies", type=Path, help="JSON of lsmeter reproduce")
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    if options.studies:
        document = json.loads(options.studies.read_text("utf-8"))
        CLAIMS.write_text(judged_claims(document, CLAIMS.read_text("utf-8")), "utf-8")
    made = files(report_of(options.run))
    stale = [
        path for path, text in made.items() if not path.exists() or path.read_text("utf-8") != text
    ]
    for path in stale:
        print(path.relative_to(ROOT))
        if not options.check:
            path.write_text(made[path], "utf-8")
    sys.exit(bool(stale) and options.check)


if __name__ == "__main__":
    main()
