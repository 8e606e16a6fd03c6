# SPDX-License-Identifier: GPL-2.0-or-later
"""A run as one file: what it leaves out, what it keeps, and what is refused."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from lsmeter.core.errors import LsmeterError
from lsmeter.machines.journal import value_of
from lsmeter.measure.results.anonymous import _Names
from lsmeter.measure.results.directory import read_run
from lsmeter.measure.results.documents import digest_of
from lsmeter.measure.results.pack import packed, unpacked
from tests.cli.conftest import CAPTURES, replay  # noqa: F401
from tests.conftest import Lsmeter

SECRET = "of the user's own"  # noqa: S105
SETUP = """\
name = "mine"
title = "my module"
lsms = ["selinux"]
cmdline = ["selinux=1", "enforcing=0"]
[files]
policy = "policy"
"""


def made(lsmeter: Lsmeter) -> Path:
    """Make a run of a setup with a file, whose words and guests name paths."""
    home = lsmeter.home / "home of alice"
    home.mkdir()
    (home / "mine.toml").write_text(SETUP)
    (home / "policy").write_text(SECRET)
    captures = lsmeter.home / "captures"
    for name, recorded in (("capability", "capability"), ("mine", "selinux")):
        shutil.copytree(CAPTURES / recorded, captures / name)
    setups = ("--setup", "capability", "--setup", str(home / "mine.toml"))
    words = ("--kernel", "./kernel", "--machine", "replay", "--run-dir", str(home / "run"))
    five = ("-b", "getppid", "-b", "open depth=[12]", "-b", "stat depth=[12]", "--samples", "20")
    done = lsmeter("run", *setups, *words, *five, LSMETER_REPLAY=str(captures))
    assert done.code == 0, done.err
    return home / "run"


def told(lsmeter: Lsmeter, run: Path, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lsmeter("report", str(run), "-f", "json", *words).out)
    found.pop("notes", None)
    return found


def content(run: Path) -> bytes:
    """Return all that a directory holds, unpacked."""
    files = [path for path in sorted(run.rglob("*")) if path.is_file()]
    unpack = {".zst": lambda data: zstandard.decompress(data, max_output_size=1 << 26)}
    return b"\n".join(unpack.get(f.suffix, bytes)(f.read_bytes()) for f in files)


def test_a_packed_run_is_shown_as_the_run_and_names_nobody(
    replay: Lsmeter,  # noqa: F811
) -> None:
    run = made(replay)
    assert str(replay.home).encode() in content(run)
    assert base64.b64encode(SECRET.encode()) in content(run)
    done = replay("pack", str(run), "-o", "given.lsmeter")
    assert (done.code, done.out) == (replay("report", str(run)).code, ""), done.err
    pack = replay.home / "given.lsmeter"
    inside = content(unpacked(pack))
    for secret in (str(replay.home), "alice", base64.b64encode(SECRET.encode()).decode()):
        assert secret.encode() not in inside
        assert secret.encode() not in pack.read_bytes()
    mine, given = told(replay, run), told(replay, pack)
    kernel = given["estimates"][0]["kernel"]
    assert kernel.startswith("path-")
    for key in ("estimates", "comparisons"):
        assert json.loads(json.dumps(mine[key]).replace("./kernel", kernel)) == given[key] != []
    assert given == told(replay, run, "--anonymous")
    text = replay("report", str(run), "--anonymous", "--all").out
    assert "alice" not in text + json.dumps(given)
    # All that reads a run reads it: it is compared with the run, and nothing differs.
    assert replay("compare", str(run), "given.lsmeter").code == 0
    assert replay("report", "given.lsmeter", "--verify").code == 0


def test_machines_and_boots_have_other_names(in_process: Lsmeter) -> None:
    words = ("run", "--instrument", "timed", "-s", "running", "-b", "stat depth=1")
    assert in_process(*words, "--samples", "20", "--boots", "1", "--run-dir", "run").code == 0
    assert in_process("pack", "run").code == 0
    pack = in_process.home / "run.lsmeter"
    inside = content(unpacked(pack))
    facts = dict(read_run(in_process.home / "run").boots[0].facts)
    boot = value_of(Path("/proc/sys/kernel/random/boot_id"))
    assert facts["host.boot_id"] == boot
    machine = dict(read_run(in_process.home / "run").manifest.tools)["machine"]
    for secret in (boot, machine, str(in_process.home)):
        assert secret.encode() not in inside
    assert dict(read_run(pack).boots[0].facts)["host.boot_id"] == "boot-1"
    mine, given = (told(in_process, in_process.home / name) for name in ("run", "run.lsmeter"))
    assert mine["estimates"] == given["estimates"]
    shown = in_process("report", "run", "--anonymous", "-f", "json").out
    assert not {name for name in (boot, machine) if name in shown}


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("lsmeter run -s /srv/alice/x.toml", "lsmeter run -s path-1"),
        ("a '/srv/of alice/x y' b", "a 'path-1' b"),
        ("see ./runs/a/boots; then sh ~/b", "see path-1; then sh path-2"),
        ("'/srv/of a/x' is not in /srv/of a/x/y", "'path-1' is not in path-2"),
        ("-drive file=/var/lib/x.img,if=none", "-drive file=path-1,if=none"),
        ("/proc/self/attr /etc/x /usr/bin/y /closed", "/proc/self/attr /etc/x /usr/bin/y /closed"),
        ("http://127.0.0.1/page/1 a/b 6/2", "http://127.0.0.1/page/1 a/b 6/2"),
        ("ssh:root@alpha", "ssh:host-1"),
        ("ssh:root@alpha:/srv/x and ssh:beta", "ssh:host-1:path-1 and ssh:host-2"),
        ("ssh: connect to host alpha port 22", "ssh: connect to host host-1 port 22"),
        ("Linux version 6.1 (alice@build.example.org)", "Linux version 6.1 (host-1)"),
        ("root=UUID=123e4567-e89b-12d3-a456-426614174000", "root=UUID=id-1"),
        ("open depth=1 path=dotdot-3", "open depth=1 path=dotdot-3"),
    ],
)
def test_what_names_somebody_is_hidden(text: str, hidden: str) -> None:
    names = _Names()
    names.learn([text, "ssh:alpha"] if "alpha" in text else [text], [])
    assert names.hide(text) == hidden
    assert names.hide(text) == hidden


@pytest.mark.parametrize("text", ["a" * 4_000_000 + "@", "'" + "/" * 4_000_000, "~" * 4_000_000])
def test_a_console_of_one_letter_is_read_once(text: str) -> None:
    """And not again from each of its letters, which took hours."""
    assert _Names().hide(text) == text


def test_each_of_many_names_is_given_once() -> None:
    text = " ".join(f"/home/{number}" for number in range(200_000))
    names = _Names()
    assert names.hide(text).split()[-1] == "path-200000"
    assert names.hide("/home/7 a@B") == "path-8 host-1"


def test_a_pack_goes_to_standard_output_and_keeps_its_name(in_process: Lsmeter) -> None:
    stored = Path(__file__).parents[2] / "examples/main.lsmeter"
    assert in_process("pack", str(stored)).code == 0
    here = in_process.home / "main.lsmeter"
    done = subprocess.run(
        [sys.executable, "-m", "lsmeter", "pack", str(stored), "-o", "-"],
        capture_output=True,
        check=False,
        cwd=in_process.home,
    )
    assert (done.returncode, done.stdout) == (0, here.read_bytes()), done.stderr
    assert [path.name for path in in_process.home.glob("*.lsmeter")] == ["main.lsmeter"]


def _changed(at: int) -> Callable[[bytes], bytes]:
    return lambda data: data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def _again(body: bytes) -> bytes:
    """Return a pack of another's making, whose digest is right."""
    return f"lsmeter-pack 1 {digest_of(body)}\n".encode() + body


def _indexed(*files: object, data: bytes = b"") -> bytes:
    index = json.dumps(files).encode()
    return _again(zstandard.compress(len(index).to_bytes(4, "little") + index + data))


def _sized(text: bytes) -> bytes:
    index = b'[["manifest.json", %b]]' % text
    return _again(zstandard.compress(len(index).to_bytes(4, "little") + index))


STRANGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "a text": lambda _: b"hello\n",
    "of a later version": lambda data: data.replace(b"pack 1", b"pack 2", 1),
    "cut": lambda data: data[:-1],
    "longer": lambda data: data + b"x",
    **{f"byte {at}": _changed(at) for at in (0, 13, 20, 90, 200, -1 + 150)},
    "no index": lambda _: _again(zstandard.compress(b"")),
    "a long index": lambda _: _again(zstandard.compress(b"\xff\xff\xff\xff")),
    "no JSON": lambda _: _again(zstandard.compress(b"\2\0\0\0{]")),
    "another JSON": lambda _: _again(zstandard.compress(b"\1\0\0\0" + b"5")),
    "deep JSON": lambda _: _again(zstandard.compress(b"\0\0\1\0" + b"[" * 65536)),
    "no zstd": lambda _: _again(b"hello"),
    "a path out": lambda _: _indexed(["../x", 1], data=b"x"),
    "an absolute path": lambda _: _indexed(["/dev/null/x", 1], data=b"x"),
    "another file": lambda _: _indexed(["boots/a-1/../../x.json", 1], data=b"x"),
    "twice": lambda _: _indexed(["manifest.json", 1], ["manifest.json", 1], data=b"xy"),
    "a size below zero": lambda _: _indexed(["manifest.json", -1]),
    "a size beyond all": lambda _: _sized(b"1e400"),
    "a file too large": lambda _: _indexed(["manifest.json", (64 << 20) + 1]),
    "too large in all": lambda _: _indexed(*([f"boots/a-{n}/x.log", 64 << 20] for n in range(65))),
    "a file that is cut": lambda _: _indexed(["manifest.json", 9], data=b"x"),
    "more than is said": lambda _: _indexed(["manifest.json", 1], data=b"xy"),
    "no manifest": lambda _: _indexed(["boots/a-1/x.log", 1], data=b"x"),
}


@pytest.mark.parametrize("kind", STRANGE)
def test_what_is_no_pack_is_refused_in_one_line(in_process: Lsmeter, kind: str) -> None:
    sound = packed({"manifest.json": os.urandom(500)})
    (in_process.home / "odd").write_bytes(STRANGE[kind](sound))
    before = sorted(in_process.home.parent.rglob("x*"))
    done = in_process("report", "odd")
    assert done.code in {2, 7}
    assert done.err.startswith("error: ")
    assert "lsmeter pack RUN" in done.err or kind == "no manifest"
    assert sorted(in_process.home.parent.rglob("x*")) == before


def test_what_was_packed_is_unpacked(tmp_path: Path) -> None:
    files = {"manifest.json": b"x", "boots/0a-1/boot.json": b"", "boots/0a-1/console.log": b"\0y"}
    (tmp_path / "pack").write_bytes(packed(files))
    home = unpacked(tmp_path / "pack")
    found = {str(p.relative_to(home)): p.read_bytes() for p in home.rglob("*") if p.is_file()}
    assert found == files
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(LsmeterError, match="a FIFO"):
        unpacked(tmp_path / "fifo")
