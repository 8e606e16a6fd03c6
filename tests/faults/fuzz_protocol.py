# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutates recordings of guests, and holds what the parser makes of each against what must hold.

`python -m tests.faults.fuzz_protocol COUNT [--seed N] [--only NUMBER]`; --only repeats one mutation
and shows it. Half of the mutations change bytes; the others change lines, and number and sign them
anew, as a guest would that lies.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from urllib.parse import unquote

from lsmeter.core.model import BenchmarkStatus, BootStatus, Setup
from lsmeter.core.model.boot import END
from lsmeter.core.model.setup import StateFile
from lsmeter.guest.capture import Capture, Ending
from lsmeter.guest.conclude import diagnose
from lsmeter.guest.protocol import MAX_GARBAGE
from lsmeter.guest.request import Request
from lsmeter.guest.session import Session, SessionReader, parse_session
from tests.unit.guest.lines import HELLO, bodies, line

DATA = Path(__file__).parents[1] / "data"
MAX_BYTES = 36_000  # of a recording: most cases are to be short
FACTS = 12  # that are kept of a recording
_BEGIN = re.compile(r"begin \d+ (\S+)(?: sweep=(\d+))?")
_END = re.compile(r"end \d+ status=ok n=(\d+) ")
_BLOCK = 1000  # cases that a process takes at a time
_IN_PIECES = 0.25  # of the cases are also read in pieces

Random = random.Random
_NUMBERS = ("0", "1", "2", "7", "255", "1000", str(2**31), str(2**63 - 1), str(2**63), "9" * 20)
_ODD = (
    "",
    "-1",
    "01",
    "+1",
    "1e3",
    "1x0",
    "1x9",
    "²",
    "%1b%5b2J",
    "%e2%80%ae",
    "%zz",
    "%00",
    "a b",
)
_WORDS = (*_NUMBERS, *_ODD, *(f"status={status}" for status in BenchmarkStatus), "errno=13", "n=9")
_KINDS = (
    *("hello", "fact", "begin", "samples", "ticked", "window", "whole", "counts", "state"),
    *("said", "moment", "seen", "end", "error", "bye", "dance", ""),
)


@dataclass(frozen=True)
class Recording:
    """What a guest said, line by line without hello, and what it had been asked."""

    name: str
    bodies: tuple[str, ...]
    request: Request

    @property
    def data(self) -> bytes:
        """Return it as the guest wrote it."""
        return signed([HELLO, *self.bodies])


def signed(texts: Sequence[str]) -> bytes:
    """Return lines with numbers and checksums."""
    return b"".join(line(f"{number} {text}") for number, text in enumerate(texts))


@cache
def recordings() -> tuple[Recording, ...]:
    """Return every recording that ended well, with some of its facts."""
    forms = ("captures/*/*/results", "monitored/*/*/results", "slopes/*.log")
    paths = [path for form in forms for path in sorted(DATA.glob(form))]
    found = [_recording(path) for path in paths if path.read_bytes().rstrip()[:1] == b"0"]
    return tuple(item for item in found if item is not None)


def _recording(path: Path) -> Recording | None:
    said = bodies(path.read_bytes())
    if not said[-1].startswith("bye") or len(path.read_bytes()) > MAX_BYTES:
        return None
    facts = [text for text in said if text.startswith("fact") and "counter." not in text][:FACTS]
    kept = tuple(text for text in said if not text.startswith("fact") or "counter." in text)
    states = {text.split(" ")[2] for text in said if text.startswith("state ")}
    units = [found.groups() for found in map(_BEGIN.match, said) if found]
    samples = next(int(found[1]) for found in map(_END.match, said) if found)
    batches = {int(text.split(" ")[2]) for text in said if text.startswith("moment ")}
    request = Request(
        "file",
        tuple(dict.fromkeys(unquote(name) for name, _ in units)),
        samples=samples,
        warmup=len(batches) - samples if batches else 0,
        icount_shift=4,
        whole_ppm=1000 if any(text.startswith("whole ") for text in said) else 0,
        count=any(text.startswith("counts") for text in said),
        counters=(StateFile("avc", "/avc"),) if "counter." in "".join(said) else (),
        sweep_values_ns=tuple(dict.fromkeys(int(delay) for _, delay in units if delay)),
        setup=Setup("", "", None, states=tuple(StateFile(name, f"/{name}") for name in states)),
        clients=(("client",),) if any(text.startswith("said") for text in said) else (),
        monitor_ms=50 if batches else 0,
    )
    return Recording(str(path.relative_to(DATA)), (*facts, *kept), request)


def _flip(data: bytearray, draw: Random) -> None:
    data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)


def _cut(data: bytearray, draw: Random) -> None:
    del data[draw.randrange(len(data)) :]


def _drop(data: bytearray, draw: Random) -> None:
    at = draw.randrange(len(data))
    del data[at : at + draw.choice((1, 2, 60, 500))]


def _repeat(data: bytearray, draw: Random) -> None:
    at = draw.randrange(len(data))
    data[at:at] = data[at : at + draw.choice((1, 20, 300, 5000))] * draw.choice((1, 2, 30))


def _insert(data: bytearray, draw: Random) -> None:
    at = draw.randrange(len(data) + 1)
    data[at:at] = draw.randbytes(draw.choice((1, 4, 200))) + draw.choice((b"", b"\n", b"\0" * 5000))


def _line_doubled(texts: list[str], draw: Random) -> None:
    texts.insert(draw.randrange(len(texts) + 1), draw.choice(texts))


def _line_dropped(texts: list[str], draw: Random) -> None:
    del texts[draw.randrange(len(texts))]


def _lines_swapped(texts: list[str], draw: Random) -> None:
    one, other = draw.randrange(len(texts)), draw.randrange(len(texts))
    texts[one], texts[other] = texts[other], texts[one]


def _line_of_another(texts: list[str], draw: Random) -> None:
    texts.insert(draw.randrange(len(texts) + 1), draw.choice(draw.choice(recordings()).bodies))


def _kind_changed(texts: list[str], draw: Random) -> None:
    at = draw.randrange(len(texts))
    texts[at] = " ".join((draw.choice(_KINDS), *texts[at].split(" ")[1:]))


def _word_changed(texts: list[str], draw: Random) -> None:
    at = draw.randrange(len(texts))
    words = texts[at].split(" ")
    place = draw.randrange(len(words))
    name, sign, _ = words[place].partition("=")
    word = draw.choice(_WORDS)
    words[place] = f"{name}={word}" if sign and "=" not in word else word
    texts[at] = " ".join(words)


def _readings_changed(texts: list[str], draw: Random) -> None:
    at = draw.choice([n for n, text in enumerate(texts) if text.startswith("samples")] or [0])
    more = draw.choice((",5", "x2", "x1000", ",0,0", f",{2**64}", ""))
    texts[at] = texts[at].rpartition(",")[0] if not more else texts[at] + more


_BYTES: tuple[Callable[[bytearray, Random], None], ...] = (_flip, _cut, _drop, _repeat, _insert)
_LINES: tuple[Callable[[list[str], Random], None], ...] = (
    *(_line_doubled, _line_dropped, _lines_swapped, _line_of_another),
    *(_kind_changed, _word_changed, _word_changed, _readings_changed),
)


def mutated(recording: Recording, draw: Random) -> tuple[bytes, bool]:
    """Return a recording with one to four changes; and whether its lines were signed anew."""
    times = draw.choice((1, 1, 1, 2, 4))
    if draw.random() < 0.5:
        data = bytearray(recording.data)
        for _ in range(times):
            if data:
                draw.choice(_BYTES)(data, draw)
        return bytes(data), False
    texts = [HELLO, *recording.bodies]
    for _ in range(times):
        if texts:
            draw.choice(_LINES)(texts, draw)
    return signed(texts), True


def wrong(recording: Recording, data: bytes, draw: Random, *, lies: bool) -> str:
    """Say what the parser does with mutated data that it must not; "" when all holds."""
    session = parse_session(data, recording.request)
    if draw.random() < _IN_PIECES and _in_pieces(recording.request, data, draw) != session:
        return "in pieces it is read as something else"
    capture = Capture(data, b"", Ending.EXITED, 0, 1.0)
    status, detail = diagnose((), session, capture)
    shown = (detail, *(item.detail for item in session.samples), *session.garbage)
    if not all(text.isprintable() for text in shown[1:]) or "\n" in detail:
        return f"what is shown does not print: {shown!r:.300}"
    if len(session.garbage) > MAX_GARBAGE + 1:
        return "garbage without end"
    if status is not BootStatus.OK:
        return "" if detail else f"{status} without a reason"
    if not lies and session != parse_session(recording.data, recording.request):
        return "bytes that were changed count as a result"
    return _unsound(recording.request, session)


def _in_pieces(request: Request, data: bytes, draw: Random) -> Session:
    reader = SessionReader(request)
    at = 0
    while at < len(data):
        size = draw.choice((1, 100, 4096, 1 << 16))
        reader.feed(data[at : at + size])
        at += size
    return reader.close()


def _unsound(request: Request, session: Session) -> str:
    """Say in which way a session that counts is not what was asked for."""
    said = tuple((item.benchmark, item.delay_ns) for item in session.samples)
    asked = tuple(map(request.unit, range(request.units)))
    if said != asked:
        return f"asked for {asked}, got {said}"
    names = [key for key, _ in session.facts]
    if len(set(names)) != len(names):
        return "a fact twice"
    for item in session.samples:
        right = request.samples if item.status is BenchmarkStatus.OK else 0
        if len(item.values) != right or (right and item.failures):
            return f"{item.benchmark}: {len(item.values)} readings, {item.failures} failures"
        if any(place >= right for place in item.ticked) or (item.whole and not request.whole_ppm):
            return f"{item.benchmark}: ticks or a whole cost that cannot be"
        if len(item.said) != (right if request.clients else 0):
            return f"{item.benchmark}: clients said {len(item.said)} things"
    counted = all(len(item.runs) == request.samples for item in session.counts)
    fine = counted and (request.count or not session.counts)
    return _moments_unsound(request, session) if fine else "counts that cannot be"


def _moments_unsound(request: Request, session: Session) -> str:
    times = [moment.time_ns for moment in session.moments]
    if times != sorted(set(times)) or (times and not request.monitor_ms):
        return "moments that cannot be"
    ends = {(item.benchmark, item.batch) for item in session.moments if item.when == END}
    good = [item.benchmark for item in session.samples if item.status is BenchmarkStatus.OK]
    batches = range((request.warmup + request.samples) * bool(request.monitor_ms))
    if any((name, batch) not in ends for name in good for batch in batches):
        return "a batch without an end"
    return ""


def case(seed: int, number: int) -> tuple[Recording, bytes, str]:
    """Make one mutation, the same for the same seed and number; return what is wrong with it."""
    draw = random.Random(f"{seed}-{number}")
    recording = draw.choice(recordings())
    data, lies = mutated(recording, draw)
    try:
        return recording, data, wrong(recording, data, draw, lies=lies)
    except Exception as error:  # noqa: BLE001  (whatever is raised is a finding)
        return recording, data, f"{type(error).__name__}: {error}"


def fuzz(seed: int, numbers: range) -> list[str]:
    """Return a line for each case of which something is wrong."""
    return [
        f"--seed {seed} --only {number}: {recording.name}: {what}"
        for number in numbers
        for recording, _, what in [case(seed, number)]
        if what
    ]


def main() -> int:
    """Fuzz on all processors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    asked = parser.parse_args()
    if asked.only is not None:
        _, data, what = case(asked.seed, asked.only)
        sys.stdout.buffer.write(data)
        print(f"\n{what or 'nothing is wrong'}")  # noqa: T201
        return bool(what)
    blocks = [
        range(first, min(first + _BLOCK, asked.count)) for first in range(0, asked.count, _BLOCK)
    ]
    found = done = 0
    with multiprocessing.Pool(len(os.sched_getaffinity(0))) as pool:
        for lines in pool.imap_unordered(partial(fuzz, asked.seed), blocks):
            found += len(lines)
            print(*lines, sep="\n", end="\n" if lines else "", flush=True)  # noqa: T201
            done += _BLOCK
            if done % (100 * _BLOCK) == 0:
                print(f"{done} of {asked.count}", file=sys.stderr, flush=True)  # noqa: T201
    print(f"{asked.count} mutated recordings, seed {asked.seed}: {found} wrong")  # noqa: T201
    return found > 0


if __name__ == "__main__":
    sys.exit(main())
