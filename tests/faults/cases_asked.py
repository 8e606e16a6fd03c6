# SPDX-License-Identifier: GPL-2.0-or-later
"""Setup files and experiment files that are wrong in a name, a type, a size or a depth."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.faults.case import Case
from tests.faults.field import FIVE, Ended, Field

_SETUP = 'name = "mine"\ntitle = "a module"\nlsms = ["capability"]\n'
_REST = 'title = "a module"\nlsms = ["capability"]\n'
_NAMED = 'name = "mine"\ntitle = "a module"\n'
_CHECK = '[[checks]]\nname = "a"\naccess = "read"\npath = "/a"\ndenied = true\n'
_REPLAYED = ("--kernel", "./kernel", "--machine", "replay", "--run-dir", "run")
_ASKED = (
    *(word for name in FIVE for word in ("--benchmark", name)),
    *("--samples", "20", *_REPLAYED),
)
_MIB = 1 << 20

Content = str | bytes | Callable[[Path], object]


def _put(path: Path, content: Content) -> None:
    if callable(content):
        content(path)
    elif isinstance(content, str):
        path.write_text(content, "utf-8")
    else:
        path.write_bytes(content)


def _setup_file(content: Content, words: tuple[str, ...], field: Field) -> Ended:
    """Name a setup file beside a setup that comes with lsmeter."""
    _put(field.home / "mine.toml", content)
    return field("run", "--setup", "capability", *(words or ("--setup", "./mine.toml")), *_ASKED)


def _experiment_file(content: Content, field: Field) -> Ended:
    _put(field.home / "asked.toml", content)
    return field("run", "./asked.toml", *_REPLAYED)


def _two_files(second: str, words: tuple[str, ...], field: Field) -> Ended:
    (field.home / "other.toml").write_text(second, "utf-8")
    return _setup_file(_SETUP, words, field)


def _parts(make: Callable[[Path], object], text: str, field: Field) -> Ended:
    """Name a setup file whose [files] are made by `make` in the directory beside it."""
    make(field.home)
    return _setup_file(_SETUP + text, (), field)


def _numbered(home: Path) -> None:
    for number in range(200):
        with (home / f"p{number}").open("wb") as file:
            file.truncate(_MIB)


def _large(home: Path) -> None:
    with (home / "part").open("wb") as file:
        file.truncate(_MIB + 1)


def _no_text(encoding: str) -> bytes:
    return _SETUP.encode(encoding)


# What a TOML file is, wherever one is named.
_NO_TOML: dict[str, tuple[Content, str]] = {
    "missing": (lambda _: None, "no such"),
    "directory": (Path.mkdir, "directory"),
    "FIFO": (os.mkfifo, "FIFO"),
    "endless device": (lambda path: path.symlink_to("/dev/zero"), "device"),
    "link to itself": (lambda path: path.symlink_to(path.name), "cannot read"),
    "link to nothing": (lambda path: path.symlink_to("nothing"), "no such"),
    "1 MiB and a byte": (b"#" * (_MIB + 1), "larger than"),
    "UTF-16": (_no_text("utf-16"), "UTF-8"),
    "Latin-1": ('title = "größer"'.encode("latin-1"), "UTF-8"),
    "byte order mark": (_no_text("utf-8-sig"), "not valid TOML"),
    "NUL bytes": (bytes(100), "not valid TOML: invalid statement"),
    "escape sequence": ("\x1b[31m = 1\n", "not valid TOML"),
    "lone surrogate": (b'title = "\xed\xa0\x80"\n', "UTF-8"),
    "escaped surrogate": ('title = "\\ud800"\n', "not valid TOML"),
    "a key twice": ("seed = 1\nseed = 2\n", "not valid TOML"),
    "a table twice": ("[files]\n[files]\n", "not valid TOML"),
    "unfinished": ("name = ", "not valid TOML"),
    "JSON": ('{"name": "mine"}', "not valid TOML"),
    "lists 50,000 deep": ("a = " + "[" * 50_000, "lists too deep"),
    "tables 50,000 deep": ("a = " + "{a=" * 50_000, "lists too deep"),
    "key of 50,000 parts": ("a" + ".a" * 50_000 + " = 1\n", "a key of more than"),
    "number of 5,000 digits": (f"seed = {'9' * 5000}\n", "number"),
}
# A setup file, and what is said of it.
_SETUPS: dict[str, tuple[str, str]] = {
    "nothing in it": ("", "missing"),
    "no name": (_REST, "name: missing"),
    "no title": ('name = "mine"\nlsms = ["yama"]\n', "title: missing"),
    "no modules": (_NAMED, "lsms: missing"),
    "empty list of modules": (_NAMED + "lsms = []\n", "lsms: "),
    "modules as a word": (_NAMED + 'lsms = "yama"\n', "lsms: "),
    "modules as numbers": (_NAMED + "lsms = [1]\n", "lsms.0: "),
    "17 modules": (_NAMED + f"lsms = {['yama'] * 17}\n", "lsms: "),
    "a module in capitals": (_NAMED + 'lsms = ["Yama"]\n', "lsms.0: "),
    "a module with a comma": (_NAMED + 'lsms = ["yama,bpf"]\n', "lsms.0: "),
    "empty name": ('name = ""\n' + _REST, "name: "),
    "name as a number": ("name = 1\n" + _REST, "name: "),
    "name of a stack": ('name = "yama+mine"\n' + _REST, "name: "),
    "name with a parameter": ('name = "landlock:layers=2"\n' + _REST, "name: "),
    "name of two lines": ('name = "mine\\nselinux"\n' + _REST, "name: "),
    "name with an escape sequence": ('name = "\\u001b[2Jmine"\n' + _REST, "name: "),
    "name that turns around": ('name = "\\u202eenim"\n' + _REST, "name: "),
    "name in look-alikes": ('name = "s\u0435linux"\n' + _REST, "name: "),
    "name of no width": ('name = "mine\\u200b"\n' + _REST, "name: "),
    "name of 51 letters": (f'name = "{"m" * 51}"\n' + _REST, "name: "),
    "name of a path": ('name = "../mine"\n' + _REST, "name: "),
    "name of the baseline": ('name = "capability"\n' + _REST, "comes with lsmeter"),
    "name of another setup": ('name = "selinux"\n' + _REST, "comes with lsmeter"),
    "title of 201 letters": (f'name = "mine"\ntitle = "{"t" * 201}"\nlsms = ["a"]\n', "title: "),
    "a key mistyped": (_SETUP + 'lsm = "yama"\n', "did you mean lsms?"),
    "a key of two lines": (_SETUP + '"a\\nb" = 1\n', "unknown key"),
    "a key with an escape sequence": (_SETUP + '"\\u001b[2J" = 1\n', "unknown key"),
    "a key that turns around": (_SETUP + '"\\u202e" = 1\n', "unknown key"),
    "a key of 100,000 letters": (_SETUP + f'"{"k" * 100_000}" = 1\n', "unknown key"),
    "a word of the command line with a space": (_SETUP + 'cmdline = ["a b"]\n', "cmdline.0: "),
    "a word of the command line with a newline": (_SETUP + 'cmdline = ["a\\n"]\n', "cmdline.0: "),
    "33 words of the command line": (_SETUP + f"cmdline = {['a'] * 33}\n", "cmdline: "),
    "an option of the kernel in small letters": (_SETUP + 'needs_config = ["bpf"]\n', "needs_"),
    "an unknown step": (_SETUP + 'steps = [["rum", "/x"]]\n', "did you mean run?"),
    "an empty step": (_SETUP + "steps = [[]]\n", "is no action"),
    "a step that is a word": (_SETUP + 'steps = ["run"]\n', "steps.0: "),
    "a step of numbers": (_SETUP + "steps = [[1]]\n", "steps.0.0: "),
    "129 steps": (_SETUP + f"steps = {[['work']] * 129}\n", "steps: "),
    "a step before readings that is unknown": (_SETUP + 'before = [["no"]]\n', "before"),
    "a layer that is none": (_SETUP + 'layer = "attic"\n', "layer: "),
    "over a path": (_SETUP + 'over = "./other.toml"\n', "over: "),
    "a check without a path": (
        _SETUP + '[[checks]]\nname = "a"\naccess = "read"\ndenied = true\n',
        "checks.0.path: missing",
    ),
    "a check of an unknown access": (_SETUP + _CHECK.replace("read", "eat"), "checks.0.access: "),
    "a check of a relative path": (_SETUP + _CHECK.replace("/a", "a"), "checks.0.path: "),
    "a check that is a number": (_SETUP + _CHECK.replace("true", "1"), "checks.0.denied: "),
    "33 checks": (_SETUP + _CHECK * 33, "checks: "),
    "checks as a table": (_SETUP + "[checks]\na = 1\n", "checks: "),
    "checks under both names": (_SETUP + _CHECK + _CHECK.replace("checks", "proofs"), "proofs"),
    "an expectation without a value": (_SETUP + '[[expect]]\nfact = "a"\n', "expect.0.value"),
    "a fact that is a path": (_SETUP + '[reads]\na = "b"\n', "reads.a: "),
    "pairs of three": (_SETUP + 'confine = [["/a", "b", "c"]]\n', "confine.0"),
    "a file that is not there": (_SETUP + '[files]\np = "p"\n', "files.p: "),
    "a file of a wrong name": (_SETUP + '[files]\n"../p" = "p"\n', "files"),
    "a file that is a directory": (_SETUP + '[files]\np = "."\n', "files.p: "),
    "a file whose path has a NUL": (_SETUP + '[files]\np = "a\\u0000b"\n', "files.p: "),
}
_EXPERIMENTS: dict[str, tuple[str, str]] = {
    "an unknown key": ('setup = ["selinux"]\n', "did you mean setups?"),
    "an unknown key in a table": ("[sampling]\nsample = 1\n", "did you mean samples?"),
    "setups as a word": ('setups = "selinux"\n', "setups: "),
    "no setups": ("setups = []\n", "setups: "),
    "an empty setup": ('setups = [""]\n', "setups.0: "),
    "201 setups": (f"setups = {['selinux'] * 201}\n", "setups: "),
    "a setup in capitals": ('setups = ["SELinux"]\n', "setup"),
    "a setup mistyped": ('setups = ["selinx"]\n', "did you mean selinux?"),
    "a setup that turns around": ('setups = ["\\u202exuniles"]\n', "setup"),
    "a setup with an escape sequence": ('setups = ["\\u001b[2J"]\n', "setup"),
    "a stack of 17": (f'setups = ["{"+".join(["yama"] * 17)}"]\n', "at most 16"),
    "a module twice in a stack": ('setups = ["yama+yama"]\n', "twice"),
    "a parameter out of its limits": ('setups = ["landlock:layers=17"]\n', "1 to 16"),
    "a parameter in digits of another script": ('setups = ["landlock:layers=\u0663"]\n', "setup"),
    "a parameter of 5,000 digits": (f'setups = ["landlock:layers={"9" * 5000}"]\n', "setups.0"),
    "an unknown baseline": ('baseline = "nothing"\n', "baseline"),
    "an unknown suite": ('suites = ["fil"]\n', "did you mean file?"),
    "an unknown benchmark": ('benchmarks = ["opem"]\n', "did you mean open?"),
    "an unknown file system": ('filesystems = ["ntfs"]\n', "file system"),
    "an unknown user": ('users = ["nobody"]\n', "users.0: "),
    "100,000 users": (f"users = {['root'] * 100_000}\n", "100000 entries"),
    "an unknown instrument": ('instrument = "stopwatch"\n', "instrument"),
    "an unknown task": ('task = "nap"\n', "task"),
    "boots as a word": ('boots = "2"\n', "boots: "),
    "boots as true": ("boots = true\n", "boots: "),
    "no boots": ("boots = 0\n", "boots: "),
    "a million boots": ("boots = 1_000_000\n", "boots: "),
    "boots as a date": ("boots = 2026-11-20\n", "boots: "),
    "a seed below 0": ("seed = -1\n", "seed: "),
    "a seed of 18 digits": (f"seed = {'9' * 18}\n", "seed: "),
    "a margin that is no number": ("margin = nan\n", "margin: "),
    "an endless margin": ("margin = inf\n", "margin: "),
    "a margin below 0": ("margin = -0.1\n", "margin: "),
    "no samples": ("[sampling]\nsamples = 0\n", "sampling.samples: "),
    "sampling as a word": ('sampling = "x"\n', "sampling"),
    "an unknown condition": ('[conditions]\nmitigation = "on"\n', "did you mean mitigations?"),
    "a CPU with a space": ('[conditions]\ncpu = "max ,x"\n', "conditions.cpu: "),
    "memory for nothing": ("[conditions]\nmemory_mib = 1\n", "conditions.memory_mib: "),
    "delays as words": ('delays_ns = ["1"]\n', "delays_ns.0: "),
    "a title of 201 letters": (f'title = "{"t" * 201}"\n', "title: "),
    "a setup file that is not there": ('setups = ["./none.toml"]\n', "no such setup file"),
    "itself as a setup": ('setups = ["./asked.toml"]\n', "asked.toml: unknown key 'setups'"),
}
# Texts that a file may hold, and that do nothing wherever they are shown.
_ODD = {
    "escape sequences": "\x1b[2J\x1b]0;x\x07",
    "text that turns around": "\u202eabc\u2066",
    "markup that is not closed": "[bold][link=https://example.org]x",
    "markup that was never opened": "[/red][/]",
    "HTML": "</td><script>alert(1)</script>",
    "Markdown": "|a|\n# b\n```",
    "a formula": "=cmd|'/c x'!A0",
    "places for values": "{0} {x} %s %(x)s $HOME `id`",
    "emoji and wide letters": "\U0001f9ea\u4e2d\u6587\u0301",
    "every control character": "".join(map(chr, (*range(1, 32), *range(127, 160)))),
}
_FORMATS = ("table", "text", "markdown", "csv", "json", "html")


def _shown(text: str, field: Field) -> Ended:
    """Give every text of a setup file and an experiment file this content, and show the run."""
    quoted = json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
    captures = field.own_captures()
    shutil.copytree(captures / "capability", captures / "mine")
    _put(
        field.home / "mine.toml",
        f'name = "mine"\ntitle = {quoted}\nlsms = ["capability"]\nnote = {quoted}\n'
        f'cmdline = ["a"]\nsteps = [["file", "/a", {quoted}]]\n'
        f'[[expect]]\nfact = "uid"\nvalue = {quoted}\nwhy = {quoted}\n',
    )
    asked = f'title = {quoted}\nquestion = {quoted}\nsetups = ["capability", "./mine.toml"]\n'
    _put(field.home / "asked.toml", asked)
    done = [field("run", "./asked.toml", *_ASKED)]
    done += [field("report", "run", "--format", name) for name in _FORMATS]
    worst = next((item.code for item in done[1:] if item.code != 0), done[0].code)
    # JSON may hold what it escapes, and files are for programs that know their form.
    return Ended(done[0].words, worst, "".join(item.out for item in done), done[0].err)


_USAGE = frozenset({2})
_refused = partial(Case, codes=_USAGE, recovers=False)

CASES = [
    *(
        _refused("setup file", name, partial(_setup_file, content, ()), says=says)
        for name, (content, says) in {**_NO_TOML, **_SETUPS}.items()
    ),
    *(
        _refused("experiment file", name, partial(_experiment_file, content), says=says)
        for name, (content, says) in {**_NO_TOML, **_EXPERIMENTS}.items()
    ),
    *(
        _refused(
            "setup file",
            name,
            partial(_two_files, second, words),
            says="different setups of one name",
        )
        for name, second, words in (
            ("two of one name", _SETUP + 'cmdline = ["a"]\n', ("./mine.toml", "./other.toml")),
            ("a baseline of one name", _SETUP + 'note = "a"\n', ("./mine.toml",)),
            (
                "stacks of one name",
                _SETUP + 'note = "a"\n',
                ("yama+./mine.toml", "yama+./other.toml"),
            ),
        )
        for words in [
            (
                *(word for setup in words for word in ("--setup", setup)),
                *(("--baseline", "./other.toml") if len(words) == 1 else ()),
            )
        ]
    ),
    _refused(
        "setup file",
        "one name twice in a stack",
        partial(_two_files, _SETUP, ("--setup", "./mine.toml+./other.toml")),
        says="twice",
    ),
    _refused(
        "setup file",
        "a part that is a FIFO",
        partial(_parts, lambda home: os.mkfifo(home / "part"), '[files]\np = "part"\n'),
        says="files.p: ",
    ),
    _refused(
        "setup file",
        "a part of 1 MiB and a byte",
        partial(_parts, _large, '[files]\np = "part"\n'),
        says="larger than",
    ),
    _refused(
        "setup file",
        "200 parts",
        partial(_parts, _numbered, "[files]\n" + "".join(f'p{n} = "p{n}"\n' for n in range(200))),
        says="files: ",
    ),
    # The guest did not report the fact that was expected: no numbers, and a report that says so.
    *(
        Case("odd text", name, partial(_shown, text), frozenset({1}), sound=False, recovers=False)
        for name, text in _ODD.items()
    ),
]
