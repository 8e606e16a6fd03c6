# SPDX-License-Identifier: GPL-2.0-or-later
"""The probe's reader of a kernel's type information, on data made here and on noise."""

from __future__ import annotations

import ctypes
import errno
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SOURCES = Path(__file__).parents[2] / "probe"
INT, STRUCT, FUNC, FUNC_PROTO, UNKNOWN = 1, 4, 12, 13, 31

Find = Callable[[bytes, str], int]


@pytest.fixture(scope="module")
def find(tmp_path_factory: pytest.TempPathFactory) -> Find:
    library = tmp_path_factory.mktemp("btf") / "btf.so"
    words = ["cc", "-shared", "-fPIC", "-O1", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror"]
    sources = [str(SOURCES / name) for name in ("bpf/btf.c", "bpf/syscall.c")]
    subprocess.run([*words, f"-I{SOURCES}", "-o", str(library), *sources], check=True)
    call = ctypes.CDLL(str(library)).btf_find_function

    def found(data: bytes, name: str) -> int:
        return int(call(data, ctypes.c_size_t(len(data)), name.encode()))

    return found


def btf(types: bytes, strings: bytes = b"\0open\0bpf_lsm_open\0") -> bytes:
    header = struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(types), len(types), len(strings))
    return header + types + strings


def kind(number: int, name: int, tail: bytes = b"", count: int = 0) -> bytes:
    return struct.pack("<III", name, number << 24 | count, 0) + tail


def test_the_id_counts_every_kind_of_type(find: Find) -> None:
    types = (
        kind(INT, 1, bytes(4))
        + kind(STRUCT, 1, bytes(24), count=2)
        + kind(FUNC_PROTO, 0, bytes(8), count=1)
        + kind(FUNC, 1)
        + kind(FUNC, 6)
    )
    assert find(btf(types), "bpf_lsm_open") == 5
    assert find(btf(types), "open") == 4  # a function, not the type of the same name
    assert find(btf(types), "bpf_lsm_op") == -errno.ENOENT


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x9f\xeb",
        btf(kind(FUNC, 6))[:30],  # shorter than its header says
        btf(kind(UNKNOWN, 0)),  # its length cannot be known
        btf(kind(FUNC, 6)[:8]),
        b"\xeb\x9f" + btf(kind(FUNC, 6))[2:],
    ],
)
def test_what_is_no_type_information(find: Find, data: bytes) -> None:
    assert find(data, "bpf_lsm_open") == -errno.EINVAL


def test_a_name_outside_the_strings_is_no_name(find: Find) -> None:
    assert find(btf(kind(FUNC, 4_000_000_000)), "open") == -errno.ENOENT
    assert find(btf(kind(FUNC, 1), b"\0open"), "open") == -errno.ENOENT  # not terminated


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(types=st.binary(max_size=200), strings=st.binary(max_size=40), cut=st.integers(0, 300))
def test_noise_is_survived(find: Find, types: bytes, strings: bytes, cut: int) -> None:
    data = btf(types, strings)
    assert find(data[: len(data) - cut], "open") in {-errno.EINVAL, -errno.ENOENT, *range(1, 20)}
