# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tunable module promises of its labels, tried in a guest with a kernel that has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lsmeter.core.model import Kernel
from lsmeter.sources.kernels.build.builder import build_kernel
from tests.build.kernels import SOURCE, plain
from tests.guest_programs import compiled, tried

pytestmark = pytest.mark.build

# The name is of the tests' own: kernels of the user's stay as they are.
NAME = "test-tiny-tunable"
PROGRAM = Path(__file__).with_name("tunable_labels.c")


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    plain()
    return build_kernel(SOURCE, ["tiny", "tunable"], name=NAME)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return compiled(PROGRAM, tmp_path_factory.mktemp("labels"))


def test_labels_are_set_read_and_inherited(kernel: Kernel, program: bytes, tmp_path: Path) -> None:
    found = tried(kernel, program, tmp_path, "capability", "tunable")
    assert {name: both for name, both in found.items() if both[0] != both[1]} == {}
    inherited = {name for name in found if "-by-" in name}
    assert len(inherited) == 9
    assert {"set-unknown", "remove", "user-sets", "delay-beyond-limit"} <= found.keys()


def test_without_the_module_no_promise_is_kept_by_chance(
    kernel: Kernel, program: bytes, tmp_path: Path
) -> None:
    """Shows that the test can fail: there is no label then, but for one that was set by hand."""
    found = tried(kernel, program, tmp_path, "capability")
    assert found["new-file"] == ("ignored", "ENODATA")
    assert found["create-by-trusted"] == ("trusted", "ENODATA")
    assert found["set-unknown"] == ("EINVAL", "0")
    assert found["remove"] == ("EACCES", "0")
    assert found["creation-is-counted"] == ("1", "0")
