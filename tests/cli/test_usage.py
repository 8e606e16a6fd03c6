# SPDX-License-Identifier: GPL-2.0-or-later
"""Wrong words: one clear line, exit code 2, and no traceback."""

from __future__ import annotations

import pytest

from lsmeter.machines import machines
from tests.conftest import InProcess, Lsmeter


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("run", "--setup", "selinx"), "unknown setup 'selinx'; did you mean selinux?"),
        (("run", "--kernel", "debian"), "debian"),
        (("run", "--kernel", "debain:6.1"), "unknown kernel 'debain:6.1'"),
        (("run", "--kernel", "./none"), "./none"),
        (("run", "--suite", "fiel"), "unknown suite 'fiel'; did you mean file?"),
        (("run", "--filesystem", "ext5"), "unknown file system 'ext5'; did you mean ext4?"),
        (("run", "--benchmark", "opne"), "unknown benchmark 'opne'; did you mean open?"),
        (("run", "--instrument", "exat"), "unknown instrument 'exat'; did you mean exact?"),
        (("run", "--condition", "tick"), "'tick' is not KEY=VALUE"),
        (("run", "--condition", "tik=nohz"), "did you mean tick?"),
        (("run", "--boots", "0"), "boots: "),
        (("run", "--boots", "many"), "'--boots'"),
        (("run", "--kernel", "~nobody-of-that-name/vmlinux"), "no such user"),
        (("run", "--kernel", f"./{'n' * 300}"), "the name is too long"),
        (("kernel", "build", "n" * 300), "the name is too long"),
        (("exec", "--", "ls", "\udcff"), "not UTF-8"),
        (("exec", "--directory", "/no/such", "--", "true"), "/no/such: no such directory"),
        (("run", "none.toml"), "none.toml: no such experiment file"),
        (("run", "--no-such-option"), "--no-such-option"),
        (("report", "nowhere"), "nowhere: no such run directory"),
        (("report", "nowhere", "--format", "htlm"), "did you mean html?"),
        (("compare", "a", "b"), "a: no such run directory"),
        (("list", "everything"), "everything"),
        (("frobnicate",), "frobnicate"),
        (("selftest", "exact", "--format", "tabel"), "did you mean table?"),
        (("selftest", "exact", "--boots", "1"), "'--boots'"),
        (("selftest", "exact", "-k", "debian:6.1", "-k", "debian:7.2"), "one at a time"),
        (("selftest", "exact", "--arch", "arm64", "--arch", "x86_64"), "--arch: one at a time"),
        (("selftest", "exact", "--condition", "icount_shift=11"), "icount_shift"),
    ],
)
def test_wrong_words_exit_with_2(lsmeter: Lsmeter, words: tuple[str, ...], part: str) -> None:
    done = lsmeter(*words, LSMETER_REPLAY="")
    assert done.code == 2, done.err
    assert part in " ".join(done.err.split()), done.err
    assert done.out == ""


def test_malformed_toml_names_the_file_and_the_line(lsmeter: Lsmeter) -> None:
    (lsmeter.home / "bad.toml").write_text('title = "x"\nboots = = 2\n')
    done = lsmeter("run", "bad.toml")
    assert done.code == 2
    assert "bad.toml: not valid TOML" in done.err
    assert "line 2" in done.err


@pytest.mark.parametrize("command", ["run", "report", "compare", "list", "doctor"])
def test_every_command_explains_itself(lsmeter: Lsmeter, command: str) -> None:
    done = lsmeter(command, "--help")
    assert done.code == 0
    assert len(done.out.splitlines()) > 8
    assert max(map(len, done.out.splitlines())) <= 80


def test_without_words_it_shows_its_help(lsmeter: Lsmeter) -> None:
    done = lsmeter()
    assert "run" in done.out + done.err


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("setups", "landlock"),
        ("suites", "file"),
        ("benchmarks", "open depth=8"),
        ("kernels", "debian:6.1"),
        ("instruments", "exact"),
        ("filesystems", "ext4"),
        ("formats", "markdown"),
    ],
)
def test_names_are_listed(lsmeter: Lsmeter, kind: str, name: str) -> None:
    done = lsmeter("list", kind)
    assert done.code == 0
    assert name in done.out


def test_the_version_is_printed(lsmeter: Lsmeter) -> None:
    done = lsmeter("--version")
    assert (done.code, done.out.split()[0]) == (0, "lsmeter")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("-s ./a.toml -s ./b.toml", "./a.toml and ./b.toml are different setups of one name"),
        ("-s ./known.toml", "'selinux' is a setup that comes with lsmeter"),
        ("-s selinxu", "unknown setup 'selinxu'; did you mean selinux?"),
        ("-b opne", "unknown benchmark 'opne'; did you mean open?"),
        ("--suite flie", "unknown suite 'flie'; did you mean file?"),
        ("--filesystem nfs", "unknown file system 'nfs'"),
    ],
)
@pytest.mark.parametrize(
    "command", ["run", "history", "slopes", "hooks count", "hooks cost", "hooks agree"]
)
def test_wrong_words_are_refused_before_a_kernel_is_fetched(
    in_process: InProcess, monkeypatch: pytest.MonkeyPatch, command: str, words: str, said: str
) -> None:
    machines()  # what imports it by name does so now: later tests need the real one
    monkeypatch.setattr(
        "lsmeter.sources.kernels.resolve.resolve", lambda *_: pytest.fail("fetched")
    )
    setup = 'name = "{}"\ntitle = "a module"\nlsms = ["mine"]\n'
    files = {"a": setup.format("mine"), "known": setup.format("selinux")}
    for name, text in {**files, "b": files["a"] + 'cmdline = ["quiet"]\n'}.items():
        (in_process.home / f"{name}.toml").write_text(text)
    done = in_process(*command.split(), *words.split())
    assert done.code == 2
    assert said in " ".join(done.err.split())
