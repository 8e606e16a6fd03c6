# SPDX-License-Identifier: GPL-2.0-or-later
"""A build that is stopped while mmdebstrap has mounted: no mount and no file stays.

A script stands for mmdebstrap. It mounts, and dies of a signal without unmounting, as mmdebstrap
does while a hook runs.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from lsmeter.images.bootstrap import can_mount_apart
from tests.conftest import Lsmeter

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

Wait = Callable[[Callable[[], bool], float], None]


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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_stays(
    lsmeter: Lsmeter, extra: dict[str, str], wait_for: Wait, number: signal.Signals
) -> None:
    with lsmeter.start("image", "build", "./tiny.toml", **extra) as process:
        wait_for(Path(extra["MARK"]).exists, 60)
        assert left(lsmeter)
        process.send_signal(number)
        process.communicate(timeout=60)
    wait_for(lambda: not left(lsmeter), 60)
    assert str(lsmeter.home) not in Path("/proc/mounts").read_text().replace("\\040", " ")


def test_the_next_build_removes_what_one_has_left(lsmeter: Lsmeter, extra: dict[str, str]) -> None:
    scratch = lsmeter.home / "a cache" / "images" / ".scratch"
    for name in ("mmdebstrap.tiny-abcdefgh", "mmdebstrap.tiny-more-abcdefgh"):
        (scratch / name / "root").mkdir(parents=True)
    (lsmeter.home / "bin" / "mmdebstrap").write_text("#!/bin/sh\nexit 1\n")
    assert lsmeter("image", "build", "./tiny.toml", **extra).code == 3
    assert [path.name for path in left(lsmeter)] == ["mmdebstrap.tiny-more-abcdefgh"]
