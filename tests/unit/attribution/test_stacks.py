# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles: the sums of the trees, read back by a reader of its own and by pprof itself."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lsmeter.core.errors import UsageError
from lsmeter.measure.tasks.events import EVENTS
from lsmeter.questions.attribution.account import counterparts, run_accounts
from lsmeter.questions.attribution.load import load_run
from lsmeter.questions.attribution.tables import cost_document, diff_document
from lsmeter.tables.model import Document
from lsmeter.tables.render import Files, rendered
from lsmeter.tables.stacks import Call, Stack, Stacks
from tests.unit.attribution.recorded import write_run

PPROF = "github.com/google/pprof@v0.0.0-20250403155104-27863c87afa6"


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the fields of a message: whole numbers, and bytes."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        else:
            assert tag & 7 == 2
            size = varint()
            yield tag >> 3, data[at : at + size]
            at += size


def packed(data: bytes) -> list[int]:
    # A field of numbers that are not packed looks the same as its numbers alone.
    numbers, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(value - (1 << 64) if value >> 63 else value)
            value = shift = 0
    return numbers


def files_of(document: Document) -> dict[str, bytes]:
    found = rendered(document, "pprof")
    assert isinstance(found, Files)
    return dict(found.files)


def samples(data: bytes) -> list[tuple[tuple[str, ...], dict[str, int], dict[str, str]]]:
    """Return each sample of a profile: its path, its counts by name, its labels."""
    parts = [*fields(gzip.decompress(data))]
    strings = [value.decode() for field, value in parts if field == 6]
    assert strings[0] == "" and len(set(strings)) == len(strings)
    names = [strings[dict(fields(value))[1]] for field, value in parts if field == 1]
    functions = {(of := dict(fields(v)))[1]: strings[of[2]] for field, v in parts if field == 5}
    locations = {
        (of := dict(fields(v)))[1]: functions[dict(fields(of[4]))[1]]
        for field, v in parts
        if field == 4
    }
    found = []
    for field, value in parts:
        if field == 2:
            inner = [*fields(value)]
            path = tuple(locations[i] for i in packed(dict(inner)[1]))
            counts = dict(zip(names, packed(dict(inner)[2]), strict=True))
            pairs = (dict(fields(each)) for of, each in inner if of == 3)
            found.append((path, counts, {strings[i[1]]: strings[i[2]] for i in pairs}))
    return found


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    home = tmp_path_factory.mktemp("profiles")
    return write_run(home / "a", "before", events=True), write_run(home / "b", "after", events=True)


def test_a_profile_sums_to_the_difference_of_each_benchmark(runs: tuple[Path, Path]) -> None:
    run, cells, _ = load_run(runs[1])
    accounts = run_accounts(cells, run.manifest.baseline_setup)
    files = files_of(cost_document(accounts))
    assert sorted(files) == ["selinux.pb.gz", "smack.pb.gz"]
    for item in accounts:
        sums: Counter[str] = Counter()
        found = samples(files[f"{item.place.setup}.pb.gz"])
        for _, counts, labels in found:
            base = labels.get("pprof::base") == "true"
            assert labels["setup"] == ("capability" if base else item.place.setup)
            assert all(value * (-1 if base else 1) >= 0 for value in counts.values())
            sums[labels["benchmark"]] += counts["instructions"]
        expected = {name: x.difference_insns for name, x in item.typical.benchmarks.items()}
        assert dict(sums) == expected
        assert [*found[0][1]] == ["instructions", "calls", *(e for e in EVENTS if e != "insns")]
        # The innermost function is first, as the format has it.
        assert {path[-1] for path, _, _ in found} == {"[user]", "entry_SYSCALL_64"}


def test_what_was_not_counted_is_left_out(tmp_path: Path) -> None:
    run, cells, _ = load_run(write_run(tmp_path / "run", "before"))
    document = cost_document(run_accounts(cells, run.manifest.baseline_setup))
    data = files_of(document)["selinux.pb.gz"]
    assert {tuple(counts) for _, counts, _ in samples(data)} == {("instructions", "calls")}
    with pytest.raises(UsageError, match="there are no call paths"):
        rendered(Document("lsmeter-hooks-cost", 1, "Title"), "pprof")


calls = st.builds(Call, st.text(max_size=20), st.sampled_from(("", "selinux", "\x1b[1m")))
stacks = st.lists(
    st.builds(
        Stack,
        st.lists(calls, min_size=1, max_size=5).map(tuple),
        st.tuples(st.integers(-(2**62), 2**62), st.integers(0, 2**40)),
        st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=2),
        st.booleans(),
    ),
    max_size=8,
)


def hostile(found: list[Stack]) -> Document:
    profile = Stacks("x", "title \ud800", ("instructions", "calls"), lambda: found)
    return Document("x", 1, "Title", stacks=(profile,))


@given(stacks)
@settings(max_examples=50, deadline=None)
def test_every_path_is_there_whatever_it_is_called(found: list[Stack]) -> None:
    kept = [stack for stack in found if any(stack.counts)]
    read = samples(files_of(hostile(found))["x.pb.gz"])
    assert [len(path) for path, _, _ in read] == [len(stack.path) for stack in kept]
    signs = [-1 if stack.base else 1 for stack in kept]
    assert [tuple(counts.values()) for _, counts, _ in read] == [
        tuple(sign * value for value in stack.counts)
        for sign, stack in zip(signs, kept, strict=True)
    ]


@pytest.fixture(scope="module")
def pprof(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return pprof: that of this machine, or one that Go builds."""
    found, go = shutil.which("pprof"), shutil.which("go")
    if found is None and go is None:
        pytest.skip("there is neither pprof nor go")
    if found is None:
        home = tmp_path_factory.mktemp("go")
        done = subprocess.run(
            [str(go), "install", PPROF],
            env={**os.environ, "GOBIN": str(home)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found = str(home / "pprof")
    return found


def shown(pprof: str, path: Path, *words: str) -> str:
    done = subprocess.run(
        [pprof, "-symbolize=none", *words, str(path)],
        env={**os.environ, "PPROF_TMPDIR": str(path.parent), "HOME": str(path.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.network
def test_pprof_opens_a_profile_as_a_difference(
    pprof: str, runs: tuple[Path, Path], tmp_path: Path
) -> None:
    (_, before, _), (_, after, _) = map(load_run, runs)
    accounts = list(counterparts(before, after))
    (patched,) = [item for item in accounts if item.place.setup == "selinux"]
    path = tmp_path / "selinux.pb.gz"
    path.write_bytes(files_of(diff_document(accounts, "a", "b"))["selinux.pb.gz"])
    text = shown(pprof, path, "-top")
    assert "Type: instructions" in text
    changed = re.search(r"^ *(-?\d+) +\S+ +\S+ +\S+ +\S+ +selinux_inode_rename$", text, re.M)
    assert changed is not None, text
    # 100 NOPs in each of its two calls, as the recordings have it.
    functions = patched.typical.total.functions
    assert int(changed[1]) == next(
        item.difference_insns for item in functions if item.function == "selinux_inode_rename"
    )
    tagged = shown(pprof, path, "-top", "-sample_index=loads", "-tagfocus=benchmark=stat depth=2")
    assert "Type: loads" in tagged
    odd = tmp_path / "odd.pb.gz"
    paths = [Stack((Call("a\nb"), Call("é <x>", "m")), (5, 1), {"benchmark": "x y"}, base=False)]
    odd.write_bytes(files_of(hostile(paths))["x.pb.gz"])
    assert "é <x>" in shown(pprof, odd, "-top")
