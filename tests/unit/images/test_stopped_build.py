# SPDX-License-Identifier: GPL-2.0-or-later
"""A build that is stopped while mmdebstrap has mounted: no mount and no file stays.

A script stands for mmdebstrap. It mounts, and dies of a signal without unmounting, as mmdebstrap
does while a hook runs.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from lsmeter.sources.images.bootstrap import can_mount_apart
from tests.conftest import DEADLINE_S, Lsmeter, Wait

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not can_mount_apart(),
    reason="only root mounts, and only where it may",
)

MMDEBSTRAP = """\
#!/bin/sh
[ "$1" != --version ] || { echo mmdebstrap 1.3.5; exit; }
root=$(mktemp -d) && mkdir "$root/proc" && mount -t tmpfs none "$root/proc" || exit
: >"$root/proc/file"
: >"$MARK"
sleep 600
"""


@pytest.fixture
def extra(lsmeter: Lsmeter) -> dict[str, str]:
    program = lsmeter.home / "bin" / "mmdebstrap"
    program.parent.mkdir()
    program.write_text(MMDEBSTRAP)
    program.chmod(0o755)
    (lsmeter.home / "tiny.toml").write_text('title = "x"\npackages = []\n')
    return {
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "LSMETER_CACHE": str(lsmeter.home / "a cache"),
        "TMPDIR": "",
        "MARK": str(lsmeter.home / "mounted"),
    }


def left(lsmeter: Lsmeter) -> list[Path]:
    return list((lsmeter.home / "a cache" / "images" / ".scratch").iterdir())


def partial(lsmeter: Lsmeter) -> list[Path]:
    return list((lsmeter.home / "a cache" / "images").glob("*.partial"))


def processes(mark: str) -> list[Path]:
    """Return the processes that were started by the build."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"MARK={mark}\0".encode() in path.read_bytes():
                found.append(path)
        except OSError:
            continue
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_stays(
    lsmeter: Lsmeter, extra: dict[str, str], wait_for: Wait[bool], number: signal.Signals
) -> None:
    with lsmeter.start("image", "build", "./tiny.toml", **extra) as process:
        wait_for(Path(extra["MARK"]).exists)
        assert left(lsmeter)
        process.send_signal(number)
        process.communicate(timeout=DEADLINE_S)
    wait_for(lambda: not left(lsmeter))
    assert str(lsmeter.home) not in Path("/proc/mounts").read_text().replace("\\040", " ")
    wait_for(lambda: not processes(extra["MARK"]))
    if number is signal.SIGKILL:
        # What dies at once cannot tidy up; the next build, of whatever image, does it then.
        (lsmeter.home / "other.toml").write_text('title = "y"\npackages = []\n')
        (lsmeter.home / "bin" / "mmdebstrap").write_text("#!/bin/sh\nexit 1\n")
        assert lsmeter("image", "build", "./other.toml", **extra).code == 3
    assert not partial(lsmeter)


def test_the_next_build_removes_what_one_has_left(lsmeter: Lsmeter, extra: dict[str, str]) -> None:
    scratch = lsmeter.home / "a cache" / "images" / ".scratch"
    for name in ("mmdebstrap.tiny-abcdefgh", "mmdebstrap.tiny-more-abcdefgh"):
        (scratch / name / "root").mkdir(parents=True)
    (lsmeter.home / "bin" / "mmdebstrap").write_text("#!/bin/sh\nexit 1\n")
    assert lsmeter("image", "build", "./tiny.toml", **extra).code == 3
    assert [path.name for path in left(lsmeter)] == ["mmdebstrap.tiny-more-abcdefgh"]
