# SPDX-License-Identifier: GPL-2.0-or-later
"""JSON of KernelCI's schema 5.3: an object for each number, and for what has none."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from lsmeter.core.groups import grouped
from lsmeter.core.model import Kernel
from lsmeter.tables.model import Detail, Document
from lsmeter.tables.render import Format, Options
from lsmeter.tables.results import COMMANDS, Quantity, Result, Results, Status, distinct

_ORIGIN = "lsmeter"
_STATUS = {
    Status.FAILED: "FAIL",
    Status.MISSING: "MISS",
    Status.PASSED: "PASS",
    Status.MEASURED: "DONE",
    Status.SKIPPED: "SKIP",
}
_NUMBERED = {"FAIL", "PASS", "DONE"}  # what has none else may have no number
_OTHER = re.compile(r"[^A-Za-z0-9_-]+")  # what no word of a path may hold
_LONGEST = 1000  # of a path
_LOG = 16384  # of an excerpt

Object = dict[str, Any]


def render(document: Document, options: Options) -> str:
    """Return one JSON object: checkouts, builds and tests."""
    found = document.results_for(FORMAT.name)
    builds = {kernel.name: _build(kernel) for kernel in found.kernels}
    made = _time(found.created)
    tests = []
    for path, item, number in _tests(found):
        place = vars(item.place)
        name = item.place.kernel
        build = builds.get(name) or {"id": f"{_ORIGIN}:{_digest(name)}"}
        said = [item.said]
        test: Object = {
            "build_id": build["id"],
            "path": path,
            "status": _STATUS[item.status],
            **({"start_time": made} if made else {}),
            "environment": {"misc": place},
            "misc": {"benchmark": item.benchmark},
        }
        if number is not None:
            test["misc"] |= {"number": number.name, **_bounds(number)}
            if test["status"] in _NUMBERED:
                test["number"] = {"value": _value(number.value), "unit": number.unit}
            else:
                said.append(f"{number.name} {number.value:.10g} {number.unit}")
        if item.log:
            test["log_excerpt"] = "\n".join(item.log)[-_LOG:]
        test["comment"] = "; ".join(filter(None, said))
        # The same result of the same run has the same id again.
        own = _digest(found.created + json.dumps(test, sort_keys=True))
        tests.append({"id": f"{_ORIGIN}:{own}", "origin": _ORIGIN, **test})
    named = {test["build_id"] for test in tests}
    unknown = named - {build["id"] for build in builds.values()}
    every = [*builds.values(), *({"id": name} for name in sorted(unknown))]
    whole = {
        "version": {"major": 5, "minor": 3},
        "checkouts": [
            {"id": build["id"], "origin": _ORIGIN}
            | ({"comment": build["comment"]} if "comment" in build else {})
            for build in every
        ],
        "builds": [{"origin": _ORIGIN, "checkout_id": build["id"], **build} for build in every],
        "tests": tests,
    }
    return json.dumps(whole, indent=1, allow_nan=False) + "\n"


def _tests(found: Results) -> Iterator[tuple[str, Result, Quantity | None]]:
    """Yield a test for each number, with a path of its own in the build: the first has no name."""
    flat = [
        (item, number, (number.name,) if number and at else ())
        for item in found.items
        for at, number in enumerate(item.quantities or (None,))
    ]
    paths = grouped((item.place.kernel, _path(item, end)) for item, _, end in flat)
    names = {kernel: distinct(mine, _LONGEST, "_") for kernel, mine in paths.items()}
    for item, number, _ in flat:
        yield next(names[item.place.kernel]), item, number


def _path(item: Result, end: tuple[str, ...]) -> str:
    """Return lsmeter.file.open.depth_4.selinux.tmpfs.root, of what is known."""
    place = item.place
    copies = (f"copies={place.copies}",) if place.copies > 1 else ()
    where = (place.setup, place.filesystem, place.user, *copies, *end)
    words = (_ORIGIN, place.suite, *item.benchmark.split(), *where)
    return ".".join(filter(None, (_OTHER.sub("_", word).strip("_") for word in words)))


def _build(kernel: Kernel) -> Object:
    known = kernel.image_sha256 or f"{kernel.name} {kernel.release} {kernel.version}"
    return {
        "id": f"{_ORIGIN}:{_digest(known)}",
        "comment": f"{kernel.name} ({kernel.release}): {kernel.origin}",
        "architecture": re.sub("[^a-z0-9_]", "_", kernel.arch.lower()),
        "misc": {"version": kernel.version, "image_sha256": kernel.image_sha256},
    }


def _bounds(number: Quantity) -> Object:
    both = {"low": number.low, "high": number.high}
    return {key: _value(value) for key, value in both.items() if value is not None}


def _value(value: float) -> float:
    """Write whole numbers without a point."""
    return int(value) if float(value).is_integer() else value


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _time(text: str) -> str:
    """Return a time as the schema has it; "" for what is none, or of no zone."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return ""
    return found.isoformat() if found.tzinfo else ""


FORMAT = Format(
    "kcidb",
    "results for KernelCI, schema 5.3",
    ".json",
    Detail.DATA,
    render,
    commands=COMMANDS,
)
