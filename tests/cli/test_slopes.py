# SPDX-License-Identifier: GPL-2.0-or-later
"""Wrong words for a sweep: told before anything is fetched or booted."""

from __future__ import annotations

import pytest

from tests.conftest import Lsmeter


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--delays", "5"), "--delays: 1 delays; a line needs 3 to 512"),
        (("--delays", "0:20000000:10000000"), "20000000 ns is more than the 10000000 ns"),
        (("--format", "html"), "--format: unknown format 'html'"),
        (("--plot", "plot.gif"), "--plot: plot.gif is no .svg or .png file"),
        (("--filesystem", "ext5"), "--filesystem: unknown file system 'ext5'; did you mean ext4?"),
        (("--kernel", "./none"), "./none"),
        (("--benchmark", "opne"), "unknown benchmark 'opne'; did you mean open?"),
        (("--samples", "0"), "--samples"),
        (("--lookups", "apparmor"), "--lookups: apparmor has no counters of what it looks up"),
        (("--lookups", "selinx"), "--lookups: unknown setup 'selinx'; did you mean selinux?"),
    ],
)
def test_wrong_words_exit_with_2(lsmeter: Lsmeter, words: tuple[str, ...], part: str) -> None:
    done = lsmeter("slopes", *words)
    assert done.code == 2, done.err
    assert part in " ".join(done.err.replace("│", " ").split()), done.err
    assert done.out == ""
