# SPDX-License-Identifier: GPL-2.0-or-later
"""Images really built: the one that lsmeter brings, a small one of a user's, and failing ones."""

from __future__ import annotations

import re
import shutil
import signal
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

from lsmeter.core import process
from lsmeter.sources.images import ext4
from tests.conftest import DEADLINE_S, Lsmeter, Wait

pytestmark = [pytest.mark.build, pytest.mark.network]

CONFINED = "system_u:system_r:lsmeter_confined_t:s0"
UNCONFINED = "unconfined_u:unconfined_r:unconfined_t:s0"
KERNEL = "system_u:system_r:kernel_t:s0"
WORK = "system_u:object_r:lsmeter_work_t:s0"
REFUSED = "system_u:object_r:lsmeter_secret_t:s0"
TINY = """\
title = "the smallest"
packages = ["attr"]
files = "tiny"
prepare = "/usr/lib/prepare"
tools = ["/usr/bin/setfattr", "/srv/made"]
size_mib = 512
"""


def out_of(image: Path, path: str, to: Path) -> Path:
    process.output(["debugfs", "-R", f"dump {ext4.quoted(path)} {to}", str(image)])
    return to


def test_the_file_system_is_whole_and_read_only(policy_image: Path) -> None:
    assert stat.S_IMODE(policy_image.stat().st_mode) == 0o444
    process.output(["e2fsck", "-fn", str(policy_image)])


def test_every_file_has_the_label_that_was_looked_up(policy_image: Path) -> None:
    wanted = {}
    for line in policy_image.with_name("contexts").read_text().splitlines():
        context, path = line.split("\t", 1)
        wanted[path] = context
    assert wanted["/srv/lsmeter/secret"] == REFUSED
    assert wanted["/data"] == WORK
    assert wanted["/etc/shadow"] == "system_u:object_r:shadow_t:s0"
    assert len(wanted) > 3000
    asked = "".join(f"ea_get -V {ext4.quoted(path)} security.selinux\n" for path in wanted)
    found = ext4.debugfs(policy_image, asked).replace("\0", "").split("\n")
    assert found == list(wanted.values())


def access(policydb: Path, source: str, target: str, kind: str, home: Path) -> set[str]:
    """Return what the compiled policy allows, as checkpolicy computes it."""
    image_root = home / "checkpolicy"
    words = [str(image_root), "-M", "-b", "-d", str(policydb)]
    text = subprocess.run(
        words,
        input=f"2\n{source}\n2\n{target}\nq\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_S,
    ).stdout
    first, second = re.findall(r"^sid (\d+)$", text, re.MULTILINE)
    text = subprocess.run(
        words,
        input=f"2\n{source}\n2\n{target}\n0\n{first}\n{second}\n{kind}\nq\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_S,
    ).stdout
    match = re.search(r"^allowed \{([^}]*)\}", text, re.MULTILINE)
    assert match, text
    return set(match[1].split())


@pytest.mark.parametrize("name", ["default", "auditallow"])
def test_the_policies_allow_what_is_measured_and_deny_what_is_tried(
    policy_image: Path, name: str, tmp_path: Path
) -> None:
    policydb = out_of(policy_image, f"/etc/lsmeter/selinux/{name}.policy", tmp_path / "policy")
    out_of(policy_image, "/usr/bin/checkpolicy", tmp_path / "checkpolicy").chmod(0o755)
    wanted = {"read", "write", "create", "unlink", "rename", "setattr", "getattr", "open"}
    for subject in (CONFINED, UNCONFINED):
        assert wanted <= access(policydb, subject, WORK, "file", tmp_path)
        assert access(policydb, subject, REFUSED, "file", tmp_path) == set()
        assert "dyntransition" in access(policydb, KERNEL, subject, "process", tmp_path)
        assert "use" in access(policydb, subject, KERNEL, "fd", tmp_path)
    shadow = "system_u:object_r:shadow_t:s0"
    assert "read" not in access(policydb, CONFINED, shadow, "file", tmp_path)


def test_a_second_build_is_none(policy_image: Path, lsmeter: Lsmeter) -> None:
    before = policy_image.stat().st_mtime_ns
    done = lsmeter("image", "build", "policy")
    assert done.out.strip() == str(policy_image)
    assert policy_image.stat().st_mtime_ns == before
    assert lsmeter("image", "path").out.strip() == str(policy_image)


@pytest.fixture
def tiny(lsmeter: Lsmeter) -> Path:
    """Return a small definition of a user's own, in a cache of its own but for the packages."""
    folder = lsmeter.home / "tiny" / "usr" / "lib"
    folder.mkdir(parents=True)
    (folder / "prepare").write_text("echo made >/srv/made\n")
    (lsmeter.home / "tiny.toml").write_text(TINY)
    return lsmeter.home / "tiny.toml"


def build(lsmeter: Lsmeter) -> tuple[int, str, str]:
    done = lsmeter("image", "build", "./tiny.toml", LSMETER_CACHE=str(lsmeter.home / "cache"))
    return done.code, done.out, done.err


def kept(lsmeter: Lsmeter) -> list[Path]:
    return list((lsmeter.home / "cache" / "images").glob("[!.]*"))


@pytest.mark.usefixtures("tiny")
def test_a_definition_of_ones_own_is_built(lsmeter: Lsmeter) -> None:
    code, out, err = build(lsmeter)
    assert code == 0, err
    image = Path(out.strip())
    assert "User:     0   Group:     0" in ext4.debugfs(image, "stat /srv/made\n")
    assert "Group:    42" in ext4.debugfs(image, "stat /etc/shadow\n")
    assert "Mode:  04755" in ext4.debugfs(image, "stat /usr/bin/su\n")
    assert kept(lsmeter) == [image.parent]


def left_but_its_log(lsmeter: Lsmeter, err: str) -> list[Path]:
    """Return what a build that failed left beside its log, which the error has to name."""
    log = lsmeter.home / "cache" / "images" / "tiny.failed.log"
    assert f"log: {log}\n" in err
    assert log.read_text()
    return [path for path in kept(lsmeter) if path != log]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('["attr"]', '["no-such-package"]', "no-such-package"),
        pytest.param(
            "size_mib = 512", "size_mib = 64", "not allocate block", marks=pytest.mark.long
        ),
        pytest.param("tools", "labels = true\ntools", "matchpathcon", marks=pytest.mark.long),
    ],
)
def test_what_cannot_be_built_is_said_and_only_its_log_is_kept(
    lsmeter: Lsmeter, tiny: Path, old: str, new: str, said: str
) -> None:
    tiny.write_text(TINY.replace(old, new))
    code, out, err = build(lsmeter)
    assert code == 3, err
    assert said in err
    assert out == ""
    assert left_but_its_log(lsmeter, err) == []


@pytest.mark.long
def test_a_tool_that_no_package_brings_is_said_and_nothing_is_kept(
    lsmeter: Lsmeter, tiny: Path
) -> None:
    tiny.write_text(TINY.replace('"/srv/made"]', '"/usr/bin/none"]'))
    code, out, err = build(lsmeter)
    assert code == 2, err
    assert "has no /usr/bin/none" in err
    assert out == ""
    assert kept(lsmeter) == []


@pytest.mark.long
def test_a_script_that_fails_gives_its_reason(lsmeter: Lsmeter, tiny: Path) -> None:
    script = tiny.parent / "tiny" / "usr" / "lib" / "prepare"
    script.write_text("echo 'lsmeter: this is why'; exit 1\n")
    code, _, err = build(lsmeter)
    assert code == 3
    assert "this is why" in err
    assert left_but_its_log(lsmeter, err) == []


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_build_that_is_killed_leaves_nothing(
    lsmeter: Lsmeter, number: signal.Signals, wait_for: Wait[bool]
) -> None:
    # Not below the test's own directory, which a user namespace could not enter.
    scratch = Path(tempfile.mkdtemp(prefix="lsmeter-test-"))
    scratch.chmod(0o777)
    extra = {"LSMETER_CACHE": str(lsmeter.home / "cache"), "TMPDIR": str(scratch)}
    with lsmeter.start("image", "build", "./tiny.toml", **extra) as process:
        wait_for(lambda: any(scratch.glob("mmdebstrap.*/*")))
        process.send_signal(number)
        process.communicate(timeout=DEADLINE_S)
    wait_for(lambda: not any(scratch.glob("mmdebstrap.*")))
    shutil.rmtree(scratch)
    assert kept(lsmeter) == []
