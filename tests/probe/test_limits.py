# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers that C and Python share: the headers of the probe and the plugin against the host."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.core.errors import UsageError
from lsmeter.core.model.boot import UNREAD
from lsmeter.guest import probe as host_probe
from lsmeter.guest import protocol, request
from lsmeter.guest.probe import Program
from lsmeter.guest.request import GUEST_KEYS, Request
from lsmeter.questions.attribution import profile
from tests.probe.test_request import check

ROOT = Path(__file__).parents[2]
_DEFINE = re.compile(r"^#define[ \t]+(\w+)[ \t]+(0x[0-9a-f]+|\d+)\b", re.MULTILINE)


def defines(path: str) -> dict[str, int]:
    return {name: int(number, 0) for name, number in _DEFINE.findall((ROOT / path).read_text())}


LIMITS = defines("probe/protocol/limits.h")
CLIENT = (("empty", "1", "client", "/client"),)
ONE = Request("file", ("empty",), samples=1, warmup=0, icount_shift=0)
WORKLOAD = replace(ONE, clients=CLIENT)
# Largest values of numbers: the field of the request.
FIELDS = {
    "MAX_COPIES": ("copies",),
    "MAX_SAMPLES": ("samples", "warmup"),
    "MAX_ICOUNT_SHIFT": ("icount_shift",),
    "MAX_DEADLINE_MS": ("benchmark_deadline_ms",),
    "MAX_PPM": ("whole_ppm",),
    "MAX_SEED": ("vary",),
    "MAX_SETTLE_MS": ("settle_ms",),
    "MAX_MONITOR_MS": ("monitor_ms",),
}
HOST = {
    "CATALOGUE_VERSION": host_probe.CATALOGUE_VERSION,
    "REQUEST_VERSION": request.VERSION,
    "REQUEST_BYTES": request.MAX_BYTES,
    "MAX_STEPS": request.MAX_LINES["step"],
    "MAX_CHECKS": request.MAX_LINES["proof"],
    "MAX_STATES": request.MAX_LINES["state"],
    "MAX_CONFINE": request.MAX_LINES["confine"],
    "MAX_WORDS": request.MAX_WORDS,
    "WORDS_BYTES": request.MAX_WORDS_BYTES,
    "MAX_PREPARE": request.MAX_LINES["prepare"],
    "MAX_SERVICES": request.MAX_LINES["service"],
    "MAX_ASKS": request.MAX_LINES["ask"],
    "MAX_CLIENTS": request.MAX_LINES["client"],
    "MAX_ENVIRONMENT": request.MAX_LINES["environment"],
    "MAX_UNITS": 1_000_000_000,
    "PROCESS_BYTES": 15,
    "SAID_BYTES": protocol.MAX_SAID,
    "MAX_MOMENTS": protocol.MAX_MOMENTS,
    "MAX_COUNTINGS": request.MAX_COUNTINGS,
    "MAX_DELAY_NS": request.MAX_DELAY_NS,
    "MAX_SPIN_NS": GUEST_KEYS["spin.ns"],
    "MAX_SECCOMP_FILTERS": GUEST_KEYS["seccomp.filters"],
    "MAX_SECCOMP_LENGTH": GUEST_KEYS["seccomp.length"],
    "MAX_LANDLOCK_LAYERS": GUEST_KEYS["landlock.layers"],
    "MAX_LANDLOCK_RULES": GUEST_KEYS["landlock.rules"],
    "MAX_LANDLOCK_DEPTH": GUEST_KEYS["landlock.depth"],
    "PROTOCOL_VERSION": protocol.VERSION,
    "LINE_BYTES": protocol.LINE_BYTES,
    "MAX_HOOKS": protocol.MAX_HOOKS,
    "COUNTER_UNREAD": UNREAD,
}


def test_every_number_is_the_hosts() -> None:
    assert {name: LIMITS[name] for name in LIMITS if name not in FIELDS} == HOST
    assert LIMITS.keys() >= FIELDS.keys()
    assert LIMITS["MAX_SAMPLES"] == protocol.MAX_VALUES


@pytest.mark.parametrize(
    ("name", "field"), [(name, field) for name, fields in FIELDS.items() for field in fields]
)
def test_both_sides_take_the_limit_and_no_more(
    probe: Program, tmp_path: Path, name: str, field: str
) -> None:
    one = WORKLOAD if field in {"settle_ms", "monitor_ms"} else ONE
    one = replace(one, timed=field == "copies")
    most = replace(one, **{field: LIMITS[name]}).to_bytes()  # type: ignore[arg-type]
    assert check(probe, tmp_path, most) == ""
    with pytest.raises(UsageError, match=field):
        replace(one, **{field: LIMITS[name] + 1}).to_bytes()  # type: ignore[arg-type]
    line = f"{field}={LIMITS[name]}".encode()
    assert line in most
    over = most.replace(line, f"{field}={LIMITS[name] + 1}".encode())
    assert f"{field} cannot be" in check(probe, tmp_path, over)


def test_regions_of_the_probe_are_those_of_the_profile() -> None:
    markers = defines("plugin/markers.h")
    assert markers["REGION_WHOLE"] == profile._WINDOWS
    assert markers["REGION_LEFT"] == profile._LEFT
    assert markers["REGION_BRIEF_LEFT"] == profile._BRIEF_LEFT


def test_documents_have_these_numbers() -> None:
    text = (ROOT / "docs/reference/protocol.md").read_text()
    markers = defines("plugin/markers.h")
    marked = ("MARKER_BEGIN", "MARKER_END", "MARKER_ACCOUNT")
    for name in (*marked, "REGION_WHOLE", "REGION_LEFT", "REGION_BRIEF_LEFT"):
        assert f"`{markers[name]:#x}`" in text, name
    for name in (
        "REQUEST_BYTES",
        "LINE_BYTES",
        "MAX_COUNTINGS",
        "MAX_SETTLE_MS",
        "MAX_MOMENTS",
        "SAID_BYTES",
    ):
        assert f"{LIMITS[name]:,}" in text, name


def test_the_tunable_module_takes_the_longest_delay() -> None:
    text = (ROOT / "kernel/tunable/tunable.h").read_text()
    match = re.search(r"#define TUNABLE_LIMIT_NS \((\d+) \* NSEC_PER_MSEC\)", text)
    assert match is not None
    assert int(match[1]) * 1_000_000 == LIMITS["MAX_DELAY_NS"]
