# SPDX-License-Identifier: GPL-2.0-or-later
"""AppArmor's profiles on a machine as it runs: files stand in for its controls and its compiler."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.core.errors import InfrastructureError
from lsmeter.machines.apparmor import compiled, control, loaded
from lsmeter.machines.here import Here
from lsmeter.machines.journal import is_left, restore
from tests.conftest import DEADLINE_S

PARSER = """#!/bin/sh
[ "$*" = "--quiet --skip-cache --stdout" ] || exit 9
echo compiled; cat
"""
NAME = "lsmeter-here-enforce"
SETUP = parse_setup("running-apparmor")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a machine that runs AppArmor, with two profiles of its own."""
    monkeypatch.setenv("LSMETER_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("LSMETER_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    for name, text in {
        "proc/sys/kernel/random/boot_id": "first\n",
        "sys/kernel/security/lsm": "capability,landlock,apparmor\n",
        "sys/kernel/security/apparmor/.load": "",
        "sys/kernel/security/apparmor/.remove": "",
        "sys/kernel/security/apparmor/profiles": "/usr/bin/man (enforce)\nman_filter (enforce)\n",
        "bin/apparmor_parser": PARSER,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "bin/apparmor_parser").chmod(0o755)
    compiled.cache_clear()
    return tmp_path


def test_a_profile_is_loaded_for_the_length_of_the_block_and_removed(place: Path) -> None:
    home = control()
    with loaded(SETUP, place):
        said = (home / ".load").read_text()
        assert said.startswith("compiled\nprofile lsmeter-here-enforce  {")
        assert (home / ".remove").read_text() == ""
        listed(home, NAME)
    assert (home / ".remove").read_text() == NAME
    assert not is_left()


def test_turns_of_one_setup_are_under_one_profile(place: Path) -> None:
    home = control()
    with ExitStack() as second:
        with loaded(SETUP, place):
            listed(home, NAME)
            (home / ".load").write_text("")
            second.enter_context(loaded(SETUP, place))
        assert ((home / ".load").read_text(), (home / ".remove").read_text()) == ("", "")
    assert (home / ".remove").read_text() == NAME
    assert not is_left()


def listed(home: Path, name: str) -> None:
    with (home / "profiles").open("a") as file:
        file.write(f"{name} (enforce)\n")


def test_a_profile_that_is_not_there_any_more_is_not_removed(place: Path) -> None:
    with loaded(SETUP, place):
        listed(control(), f"{NAME}-not-ours")
    assert (control() / ".remove").read_text() == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="a full device stands for a kernel that refuses")
def test_a_profile_that_cannot_be_loaded_ends_the_run(place: Path) -> None:
    (control() / ".load").unlink()
    (control() / ".load").symlink_to("/dev/full")
    with (
        pytest.raises(InfrastructureError, match=f"AppArmor's profile {NAME}"),
        loaded(SETUP, place),
    ):
        pytest.fail("the block was entered")


_KILLED = """
import os, signal, sys
from pathlib import Path
from lsmeter.machines.apparmor import loaded
from lsmeter.catalogue.setups import parse_setup
with loaded(parse_setup("running-apparmor"), Path(sys.argv[1])):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_after_a_kill_the_profile_is_removed_by_the_next_command(place: Path) -> None:
    words = [sys.executable, "-c", _KILLED, str(place)]
    assert subprocess.run(words, timeout=DEADLINE_S, check=False).returncode == -signal.SIGKILL
    listed(control(), NAME)
    (place / f"{NAME}.profile").unlink()  # its directory goes with the block
    assert restore() == ([f"AppArmor's profile {NAME}"], [])
    assert (control() / ".remove").read_text() == NAME


def test_the_profile_of_each_mode_has_its_own_name(place: Path) -> None:
    complain, unconfined = (
        parse_setup(f"running-apparmor:mode={mode}") for mode in ("complain", "unconfined")
    )
    assert "lsmeter-here-complain flags=(complain) {" in compiled(complain.profiles[0][1]).decode()
    with loaded(unconfined, place):
        assert not is_left()


@pytest.mark.parametrize(
    ("gone", "text", "said"),
    [
        ("sys/kernel/security/lsm", "landlock", "does not run apparmor: it runs landlock"),
        ("sys/kernel/security/apparmor/.load", None, "does not run apparmor: there is no "),
        ("bin/apparmor_parser", "#!/bin/sh\necho no such rule >&2; exit 1", "no such rule"),
        ("bin/apparmor_parser", None, "apparmor_parser not found"),
    ],
)
def test_what_a_machine_lacks_is_one_line(
    place: Path, monkeypatch: pytest.MonkeyPatch, gone: str, text: str | None, said: str
) -> None:
    assert Here().why_unsupported(SETUP) == ""
    compiled.cache_clear()
    if text is None:
        (place / gone).unlink()
        monkeypatch.setenv("PATH", str(place / "bin"))
        monkeypatch.setattr("lsmeter.core.process.environment", lambda _=None: {**os.environ})
    else:
        (place / gone).write_text(text)
    why = Here().why_unsupported(SETUP)
    assert said in why
    assert "\n" not in why
