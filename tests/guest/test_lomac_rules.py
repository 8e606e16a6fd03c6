# SPDX-License-Identifier: GPL-2.0-or-later
"""Every rule of the LOMAC example, tried in a real guest, with and without its programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from lsmeter.core.model import Kernel
from lsmeter.guest.initramfs import archive
from lsmeter.guest.probe import find_program
from lsmeter.sources.kernels.resolve import resolve
from tests.guest_programs import compiled, tried

pytestmark = pytest.mark.guest

SOURCE = Path(__file__).with_name("lomac_rules.c")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return compiled(SOURCE, tmp_path_factory.mktemp("rules"))


def rules(kernel: Kernel, program: bytes, place: Path, word: str) -> dict[str, tuple[str, str]]:
    loader = archive({"setup/lsmeter-bpf": find_program("lsmeter-bpf").path.read_bytes()})
    return tried(kernel, program, place, "bpf", more_files=loader, more_words=word)


@pytest.mark.parametrize("name", ["debian:6.1", "debian:6.12", "debian:7.2"])
def test_rules_hold(name: str, program: bytes, tmp_path: Path) -> None:
    """Of 6.12 the verifier follows a file's path, of 7.2 only one that is given to a function."""
    found = rules(resolve(name), program, tmp_path, "lomac=1")
    assert len(found) > 80
    assert {name: rule for name, rule in found.items() if rule[0] != rule[1]} == {}
    denied = {name for name, (wanted, _) in found.items() if wanted == "EACCES"}
    assert {"low-writes-high", "fork-inherits", "low-rename-high", "low-truncate-high"} <= denied
    assert {"high-writes-high", "fresh-process-is-high", "low-writes-low"}.isdisjoint(denied)


def test_without_the_programs_nothing_is_denied(
    debian_kernel: Kernel, program: bytes, tmp_path: Path
) -> None:
    """Shows that it is not file modes, or a broken test, that denies."""
    found = rules(debian_kernel, program, tmp_path, "")
    assert len(found) > 80
    assert {got for _, got in found.values()} == {"0"}
