# SPDX-License-Identifier: GPL-2.0-or-later
"""What holds for every command: its help, its options, how it speaks and how it ends."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from lsmeter.app import Commands, make_app
from lsmeter.cli import exit_status
from lsmeter.core.errors import InfrastructureError
from lsmeter.core.registry import unknown
from tests.conftest import Done, InProcess, Lsmeter

ROOT = Path(__file__).parents[2]


def walk(command: Any, words: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Return every command and group by its words."""
    inner = getattr(command, "commands", {})
    found = {words: command}
    for name, item in inner.items():
        found |= walk(item, (*words, name))
    return found


COMMANDS = walk(typer.main.get_command(make_app()))
GROUPS = [words for words, item in COMMANDS.items() if hasattr(item, "commands")]
LEAVES = [words for words in COMMANDS if words not in GROUPS]
DOCUMENTS = {path.stem for path in (ROOT / "docs").rglob("[a-z]*.md")}
OPTIONS = {
    words: {name for item in COMMANDS[words].params for name in item.opts} for words in LEAVES
}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_is_for_people(in_process: InProcess, words: tuple[str, ...]) -> None:
    done = in_process(*words, "--help")
    assert done.code == 0
    lines = done.out.splitlines()
    assert max(map(len, lines)) <= 80
    # Types of Python are no names; arguments are in capitals. A gate's rules have `<=`.
    assert not set("<{}") & set(done.out.replace("<=", ""))
    usage = lines[0].removeprefix("Usage: lsmeter").split()
    assert usage[: len(words)] == list(words)
    examples = [line for line in lines if line.startswith("      lsmeter ")]
    if words in LEAVES and words[0] in {"run", "report", "compare", "slopes", "history", "hooks"}:
        assert examples
    assert all(line.count("lsmeter ") - line.count("; lsmeter ") == 1 for line in examples)


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_all_of_a_command_is_in_help(in_process: InProcess, words: tuple[str, ...]) -> None:
    done = in_process("help", *words)
    assert done.code == 0
    text, _, document = done.out.partition("\n# ")
    assert max(map(len, text.splitlines())) <= 80
    assert bool(document) == ("-".join(words) in DOCUMENTS)
    shown = [item for item in COMMANDS[words].params if not getattr(item, "hidden", False)]
    for item in shown:
        assert (item.opts[0] if item.opts[0][0] == "-" else item.metavar) in text
    brief = in_process(*words, "--help").out
    # What is left out is said to be elsewhere.
    assert ("lsmeter help " in brief.splitlines()[-1]) == (text.count("\n") > brief.count("\n"))


def test_every_command_is_in_a_group_of_the_help(in_process: InProcess) -> None:
    listed = [name for names in Commands.menu.values() for name in names]
    assert sorted(listed) == sorted(words[0] for words in COMMANDS if len(words) == 1)
    text = in_process("--help").out.partition("\nMeasure:\n")[2]
    lines = [line for line in text.split("\n\n  Exit codes")[0].splitlines() if line]
    assert [line[:-1] for line in lines if line[0] != " "] == [*Commands.menu][1:]
    # Each is told in one line.
    assert [line.split()[0] for line in lines if line[0] == " "] == listed


def test_the_help_of_run_fits_60_lines(in_process: InProcess) -> None:
    assert len(in_process("run", "--help").out.splitlines()) <= 60


@pytest.mark.parametrize("words", GROUPS, ids=" ".join)
def test_a_group_alone_shows_its_help_and_is_wrong_usage(
    in_process: InProcess, words: tuple[str, ...]
) -> None:
    done = in_process(*words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"Usage: {' '.join(('lsmeter', *words))} [OPTIONS] COMMAND")
    assert "error:" not in done.err


def test_one_word_means_one_thing() -> None:
    short = {"-k": "--kernel", "-s": "--setup", "-b": "--benchmark", "-j": "--jobs"}
    short |= {"-o": "--output", "-f": "--format", "-q": "--quiet", "-v": "--verbose"}
    for words, names in OPTIONS.items():
        for letter, name in short.items():
            assert (letter in names) == (name in names), (words, name)
        assert {"--colour", "--quiet", "--verbose"} <= names
        assert not {"--again", "--refresh", "--no-cache", "--out"} & names
        # What prints something can print it to a file.
        assert ("--output" in names) == (words[-1] not in {"remove", "worker"})
        assert ("--format" in names) <= ("--output" in names)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("run", "-s", "SELinux"), "did you mean selinux?"),
        (("list", "setup"), "did you mean setups?"),
        (("list", "formats", "-f", "md"), "did you mean markdown?"),
        (("list", "formats", "-f", "HTML"), "did you mean html?"),
        (
            ("slopes", "-f", "ktap"),
            "--format ktap: not of lsmeter slopes; these have it: lsmeter g",
        ),
        (("hooks", "count", "-f", "pprof"), "not of lsmeter hooks count; these have it: lsmeter h"),
        (("help", "experimnts"), "did you mean experiments?"),
        (("hooks", "cots"), "Did you mean 'cost'"),
        (("run", "--margin", "5"), "'5' is no share: write 1% or 0.01"),
        (("run", "--margin", "nan"), "is no share"),
        (("run", "--margin", "1%%"), "is no share"),
        (("run", "--boots", "9" * 5000), "Invalid value for '--boots'"),
        (("run", "--condition", "icount_shift=²"), "icount_shift"),
        (("run", "--condition", "icount_shift=" + "9" * 5000), "icount_shift"),
        (("run", *("--user", "user") * 201), "--user: given more than 200 times"),
    ],
)
def test_wrong_words_are_told_in_one_short_line(
    in_process: InProcess, words: tuple[str, ...], part: str
) -> None:
    done = in_process(*words)
    assert (done.code, done.out) == (2, ""), done.err
    title, *rest = done.err.splitlines()
    assert title.startswith("error: ")
    assert part in title
    assert len(title) < 1000
    assert all(line.startswith("  hint: ") for line in rest)


def test_at_most_five_names_are_near() -> None:
    error = unknown("hook", "inode_permision", (f"inode_permission{n}" for n in range(200)))
    assert error.hint.count("inode_permission") == 5
    assert unknown("hook", "zzz", map(str, range(200))).hint == "200 are known, none like it"


def test_nothing_is_suggested_that_was_not_built(in_process: InProcess) -> None:
    cache = str(in_process.home / "cache")
    done = in_process("run", "-k", "biult:6.1-lsm-all", LSMETER_CACHE=cache)
    assert done.code == 2
    assert "built:" not in done.err.replace("biult:6.1-lsm-all", "")


def test_old_names_of_options_are_taken(in_process: InProcess) -> None:
    done = in_process("run", "--out", "there", "--color", "never", "-k", "./none")
    assert "./none" in done.err
    told = "--out is the former name of --run-dir; version 2 will not take it"
    assert done.err.splitlines()[:2] == [
        told,
        told.replace("--out", "--color").replace("--run-dir", "--colour"),
    ]
    twice = in_process("list", "formats", "--color=never", "--color", "never", "-f", "commit").err
    assert twice.splitlines() == [
        "--color is the former name of --colour; version 2 will not take it",
        "--format commit is the former name of text; version 2 will not take it",
    ]
    assert in_process("list", "formats", "--colour", "never").err == ""
    assert "No such option" not in done.err
    assert "No such option" not in in_process("image", "build", "--again", "./none.toml").err


def test_every_topic_is_shown_and_hints_name_real_ones(in_process: InProcess) -> None:
    listed = [line.split()[0] for line in in_process("help").out.splitlines()]
    assert listed == sorted(path.stem for path in (ROOT / "docs").rglob("[a-z]*.md"))
    assert in_process("help", "experiments").out.startswith("# Experiments\n")
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    named = {word for text in texts for word in _topics(text)}
    assert named <= {*listed, *(words[0] for words in COMMANDS if words)}


def _topics(text: str) -> list[str]:
    return re.findall(r"lsmeter help ([a-zA-Z-]+)", text)


def test_output_goes_to_a_file_or_a_dash(in_process: InProcess) -> None:
    shown = in_process("list", "formats", "-f", "csv").out
    assert in_process("list", "formats", "-f", "csv", "-o", "-").out == shown
    done = in_process("list", "formats", "-f", "csv", "-o", "a.csv")
    assert (done.code, done.out) == (0, "")
    assert (in_process.home / "a.csv").read_text() == shown
    assert in_process("list", "formats", "-q", "-o", "a.csv").err == ""
    missing = in_process("list", "formats", "-o", "none/a.csv")
    assert missing.code == 2
    assert "none: no such directory" in missing.err
    assert not (in_process.home / "none").exists()
    (in_process.home / "home").mkdir()
    there = in_process("list", "formats", "-o", "home")
    assert (there.code, "--output home: a directory" in there.err) == (2, True)
    # Not after what takes minutes.
    assert in_process("run", "--setup", "none", "-o", "home").err == there.err


def test_colour_stands_before_and_after_the_command(in_process: InProcess) -> None:
    # In a pipe there is none unless it is asked for.
    assert "\x1b[" not in in_process("doctor", PATH="/nowhere").out
    for words in (("--colour", "always", "doctor"), ("doctor", "--colour", "always")):
        assert "\x1b[" in in_process(*words, PATH="/nowhere").out


def shell(lsmeter: Lsmeter, script: str, **extra: str) -> Done:
    """Run a line of shell in which $L is lsmeter."""
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=lsmeter.home,
        env={**lsmeter.environment(extra), "L": f"{sys.executable} -m lsmeter"},
        capture_output=True,
        check=False,
        timeout=300,
    )
    text = (data.decode(errors="surrogateescape") for data in (done.stdout, done.stderr))
    return Done(done.returncode, *text)


PLAIN: dict[str, str] = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}


@pytest.mark.parametrize(
    "extra",
    [{"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "ascii:strict"}, PLAIN],
    ids=["ascii", "strict", "C"],
)
def test_what_the_output_cannot_carry_has_stand_ins(
    lsmeter: Lsmeter, extra: dict[str, str]
) -> None:
    done = shell(lsmeter, "$L list formats && $L list nonsense-é", **extra)
    assert done.code == 2, done.err
    assert done.out.isascii() and done.err.isascii()
    assert "-----" in done.out
    assert "?" not in done.out


def test_latin_1_keeps_its_own_letters(lsmeter: Lsmeter) -> None:
    done = shell(lsmeter, "$L list 'é…'", PYTHONIOENCODING="latin-1")
    assert "\udce9..." in done.err


def test_data_stays_data_where_the_output_is_ascii(replay_page: str, lsmeter: Lsmeter) -> None:
    (lsmeter.home / "write.py").write_text(replay_page)
    script = f"{sys.executable} write.py"
    done = shell(lsmeter, script, PYTHONIOENCODING="ascii")
    assert done.code == 0, done.err
    text, page = done.out.splitlines()
    assert json.loads(text) == "±😀"
    assert page == "&#177;&#128512;"


@pytest.fixture
def replay_page() -> str:
    return (
        "import json\nfrom lsmeter.cli.console import SCREEN\n"
        "SCREEN.write(json.dumps('±😀', ensure_ascii=False) + '\\n', 'json')\n"
        "SCREEN.write('±😀\\n', 'html')\n"
    )


@pytest.mark.parametrize(
    ("script", "code", "part"),
    [
        ("$L list formats > /dev/full", 7, "cannot write to standard output: No space left"),
        ("$L list formats -f json > /dev/full", 7, "cannot write to standard output"),
        ("$L help experiments > /dev/full", 7, "cannot write to standard output"),
        ("$L list formats >&-", 7, "standard output is closed"),
        ("$L list nonsense 2> /dev/full", 2, ""),
        ("$L list nonsense 2>&-", 2, ""),
        ("$L list nonsense 2>&- >&- <&-", 2, ""),
        ("$L list formats 2>&- > /dev/null", 0, ""),
        ("$L list setups | true; exit ${PIPESTATUS[0]}", 0, ""),
        ("$L list nonsense 2>&1 >/dev/null | true; exit ${PIPESTATUS[0]}", 2, ""),
        ("ulimit -v 200000; $L list formats", 7, "memory is limited to 195 MiB"),
        ("ulimit -v 800000; $L list formats", 7, "memory is limited to 781 MiB"),
        ("ulimit -n 20; $L list formats", 7, "20 files may be open at a time"),
        ("$L list formats -o /proc/self/fd/1 > x; cat x >&2", 0, "csv"),
    ],
)
def test_an_output_or_a_limit_in_the_way_is_one_line(
    lsmeter: Lsmeter, script: str, code: int, part: str
) -> None:
    done = shell(lsmeter, script)
    assert done.code == code, done.err
    assert part in done.err
    assert "Traceback" not in done.err and "Exception ignored" not in done.err
    if code == 7:
        assert len(done.err.splitlines()) == 2
        assert "hint:" in done.err


def test_a_fault_of_ours_has_its_own_code_and_a_log(
    in_process: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> None:
        raise KeyError("it")

    monkeypatch.setattr("lsmeter.tables.render.find_format", broken)
    cache = in_process.home / "cache"
    done = in_process("list", "formats", LSMETER_CACHE=str(cache))
    assert done.code == 9
    (log,) = (cache / "faults").iterdir()
    assert f"log: {log}" in done.err
    assert "report" in done.err
    text = log.read_text()
    assert "Traceback" in text
    assert "list formats" in text


_CUT_MODULE = typer.Abort()  # what typer makes of it
_CUT_MODULE.__cause__ = EOFError("marshal data too short")


@pytest.mark.parametrize(
    ("error", "code", "part"),
    [
        (_CUT_MODULE, 9, "marshal data too short"),
        (MemoryError(), 7, "out of memory"),
        (OSError(24, "Too many open files"), 7, "too many open files"),
        (RuntimeError("can't start new thread"), 7, "threads"),
        (OSError(28, "No space left on device", "x"), 7, "the disk is full"),
        (PermissionError(13, "Permission denied", "a/b.c"), 7, "a/b.c: permission denied"),
        (OSError(5, "Input/output error", "a/b.c"), 7, "a/b.c: input/output error"),
        (PermissionError(1, "Operation not permitted"), 9, "fault of lsmeter"),
        (FileNotFoundError(2, "No such file or directory", "a/b.c"), 9, "fault of lsmeter"),
        (ExceptionGroup("x", [InfrastructureError("it is gone")]), 7, "it is gone"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (BaseException("a panic"), 9, "fault of lsmeter"),
        (KeyError("memory allocation"), 9, "fault of lsmeter"),
        (ImportError("x.so: failed to map segment from shared object"), 7, "out of memory"),
        (BaseException("ThreadPoolBuildError { Os { code: 11, kind: WouldBlock"), 7, "threads"),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("limit", [resource.RLIM_INFINITY, 8 << 30])
def test_whatever_is_raised_ends_in_one_line(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    error: BaseException,
    code: int,
    part: str,
    limit: int,
) -> None:
    def work() -> None:
        raise error

    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path))
    monkeypatch.setattr(os, "dup2", lambda *_: None)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    assert exit_status.exit_status(work) == code
    assert part in capsys.readouterr().err


def test_what_a_name_holds_is_printable(in_process: InProcess) -> None:
    done = in_process("list", "a\x1b[31m\u202eb")
    assert "\x1b" not in done.err and "\u202e" not in done.err
    assert r"\x1b[31m\u202eb" in done.err
