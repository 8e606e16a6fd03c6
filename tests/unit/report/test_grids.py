# SPDX-License-Identifier: GPL-2.0-or-later
"""How places are named beside each other."""

from __future__ import annotations

from lsmeter.core.model import Place
from lsmeter.questions.cost.grids import told_apart


def test_places_are_named_by_what_differs_and_nothing_else() -> None:
    one = Place("debian:6.1", "selinux", "file", "tmpfs", "root")
    other = Place("debian:6.1", "landlock", "file", "tmpfs", "root")
    assert told_apart([]) == []
    assert told_apart([one, other]) == ["", ""]
    two = Place("debian:6.1", "selinux", "net", "tmpfs", "root", 2)
    assert told_apart([one, other, two]) == ["file", "file", "net, 2 copies"]
    user = Place("debian:7.2", "selinux", "file", "tmpfs", "user")
    assert told_apart([one, user]) == ["debian:6.1, root", "debian:7.2, user"]
