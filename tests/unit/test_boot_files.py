# SPDX-License-Identifier: GPL-2.0-or-later
"""boot.json with its windows parsed apart is boot.json parsed as a whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lsmeter.core.model import Boot, Round
from lsmeter.measure.results import boots
from lsmeter.measure.results.boots import BOOT_FILE, FORMAT, VERSION, Rounds, read_boot, rounds_of
from lsmeter.measure.results.directory import RunData, boot_folder, read_run
from lsmeter.measure.results.documents import DamagedResultError, digest_of, sealed

MAIN = Path(__file__).parents[2] / "examples/main.lsmeter"
SEAL, ZEROS = b'"sha256": "', b"0" * 64


@pytest.fixture(scope="module")
def main() -> RunData:
    return read_run(MAIN)


def refuse(_: bytes) -> None:
    raise ValueError


@pytest.fixture
def stored(main: RunData, tmp_path: Path) -> Boot:
    """Store a boot as this version writes it: that of the run is older, and has lines."""
    boot = main.boots[0]
    folder = boot_folder(tmp_path, boot)
    folder.mkdir(parents=True)
    for path in main.folder(boot).iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    document = json.loads((folder / BOOT_FILE).read_bytes())
    content = {key: document[key] for key in [*document][3:]}
    text = json.dumps(content, separators=(",", ":")).encode()
    (folder / BOOT_FILE).write_bytes(sealed(FORMAT, VERSION, text))
    return boot


def change(folder: Path, old: bytes, new: bytes) -> None:
    """Replace text of boot.json once, and seal it anew."""
    data = (folder / BOOT_FILE).read_bytes()
    begin = data.index(SEAL) + len(SEAL)
    data = data[:begin] + ZEROS + data[begin + len(ZEROS) :]
    assert old in data
    data = data.replace(old, new, 1)
    (folder / BOOT_FILE).write_bytes(data.replace(ZEROS, digest_of(data).encode(), 1))


def test_windows_parsed_apart_are_the_windows_and_are_shared(
    stored: Boot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = boot_folder(tmp_path, stored)
    first, second = (read_boot(folder, stored).boot for _ in range(2))
    monkeypatch.setattr(boots, "_parse", refuse)
    assert first == second == read_boot(folder, stored).boot == stored
    pairs = zip(map(rounds_of, first.samples), map(rounds_of, second.samples), strict=True)
    assert sum(len(one) for one, other in pairs if one is other) > 1000


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b'"rounds":[{', b'"rounds":[{"operations":"1"},{', "rounds.0.operations"),
        (b'"rounds":[{', b'"rounds":[,{', "not valid JSON"),
        (b'"ticks":0', b'"ticks":1' + b"0" * 19, "a number of 20 digits"),
        (b'"wall_s":', b'"index":1' + b"0" * 19 + b',"wall_s":', "a number of 20 digits"),
        (b'"ticks":0', b'"ticks":-1', "a window that cannot be"),
    ],
)
def test_what_is_wrong_is_said_as_of_the_whole(
    stored: Boot, tmp_path: Path, old: bytes, new: bytes, said: str
) -> None:
    folder = boot_folder(tmp_path, stored)
    change(folder, old, new)
    with pytest.raises(DamagedResultError, match=said):
        read_boot(folder, stored)


def test_lists_that_are_of_no_benchmark_are_left_to_the_whole(stored: Boot, tmp_path: Path) -> None:
    folder = boot_folder(tmp_path, stored)
    change(folder, b'"rounds":[{', b'"rounds":[],"rounds":[{')
    assert read_boot(folder, stored).boot == stored


def test_equal_windows_have_one_digest() -> None:
    one, other = (Rounds([Round(24, 10, 1000, 0, (1, 2))]) for _ in range(2))
    assert one.digest == other.digest != Rounds([Round(24, 10, 1000, 0, (1, 3))]).digest
    assert Rounds().digest == b""
