# SPDX-License-Identifier: GPL-2.0-or-later
"""Which modules are loaded, in which order; a kernel's configuration."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.core.errors import UsageError
from lsmeter.sources.kernels import tree
from lsmeter.sources.kernels.tree import ModuleInfo, _before, load_order
from tests.unit.kernels.synthetic import bzimage, elf, module, write_tree

NAMES = st.sampled_from([f"m{number}" for number in range(12)])


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("kernel/drivers/block/brd.ko", "brd"),
        ("./lib/x/virtio-net.ko.xz", "virtio_net"),
        ("9p.ko.zst", "9p"),
        ("a.ko.gz", "a"),
        ("a.ko.debug", None),
        ("modules.dep", None),
        ("", None),
    ],
)
def test_module_name(path: str, name: str | None) -> None:
    assert tree.module_name(path) == name


def test_modinfo_is_read() -> None:
    info = tree.read_modinfo(module("xfs", "libcrc32c,a-b", "pre: crc32c x post: y"))
    assert info == ModuleInfo(("libcrc32c", "a_b"), ("crc32c", "x"))


@given(st.binary(max_size=300))
def test_a_damaged_module_is_a_value_error(tail: bytes) -> None:
    for content in (tail, module("xfs")[:64] + tail, module("xfs")[: -len(tail) or None]):
        try:
            tree.read_modinfo(content)
        except ValueError:
            continue


@given(
    # Edges only from a higher number to a lower one: no cycles.
    edges=st.sets(st.tuples(st.integers(0, 11), st.integers(0, 11)).filter(lambda e: e[0] > e[1])),
    wanted=st.lists(NAMES, max_size=5),
    builtin=st.frozensets(NAMES, max_size=4),
)
def test_dependencies_come_first_and_nothing_more(
    edges: set[tuple[int, int]], wanted: list[str], builtin: frozenset[str]
) -> None:
    needs = {f"m{n}": tuple(f"m{b}" for a, b in edges if a == n) for n in range(12)}
    available = frozenset(needs) - builtin
    order = tuple(load_order(wanted, available, builtin, lambda name: ModuleInfo(needs[name])))
    assert len(set(order)) == len(order)
    assert set(order) >= set(wanted) - builtin
    assert not set(order) & builtin
    for place, name in enumerate(order):
        assert set(needs[name]) - builtin <= set(order[:place])
        assert name in wanted or any(name in needs[other] for other in order[place:])


def test_a_missing_dependency_and_a_cycle_are_errors() -> None:
    with pytest.raises(ValueError, match="module a needs b, which is not there"):
        load_order(["a"], frozenset("a"), frozenset(), lambda _: ModuleInfo(("b",)))
    needs = {"a": ("b",), "b": ("a",)}
    with pytest.raises(ValueError, match="modules need each other: a, b, a"):
        load_order(["a"], frozenset("ab"), frozenset(), lambda name: ModuleInfo(needs[name]))


def test_soft_dependencies_are_wishes() -> None:
    info = {"a": ModuleInfo((), ("b", "absent")), "b": ModuleInfo((), ("a",))}
    assert tuple(load_order(["a"], frozenset("ab"), frozenset(), info.__getitem__)) == ("b", "a")


def test_config_values_have_no_prefix_and_no_quotes() -> None:
    text = '# CONFIG_A is not set\nCONFIG_B=y\nCONFIG_C="x \\"y\\" \\\\z"\nCONFIG_D=""\nOTHER=1\n'
    assert tree.parse_config(text) == {"B": "y", "C": 'x "y" \\z', "D": ""}


class TestTree:
    def test_a_distribution_layout_is_found(self, tmp_path: Path) -> None:
        write_tree(tmp_path, "6.1.0-9")
        found = tree.find(tmp_path, "6.1.0-9")
        assert tree.releases(tmp_path) == ("6.1.0-9",)
        assert found.image == tmp_path / "boot/vmlinuz-6.1.0-9"
        assert set(found.module_files) == {"brd", "xfs", "libcrc32c", "9pnet"}
        assert found.system_map is None, "a stand-in of one line is no System.map"

    def test_modules_are_unpacked_in_loading_order(self, tmp_path: Path) -> None:
        write_tree(tmp_path, "6.1")
        found = tree.find(tmp_path, "6.1")
        files = tree.needed_modules(found, ("xfs", "ext4", "9pnet", "nonesuch"), tmp_path / "out")
        assert files[tmp_path / "out/xfs.ko"][0] == "libcrc32c"
        assert [file.name for file in files] == ["libcrc32c.ko", "xfs.ko", "9pnet.ko"]
        assert list(files)[1].read_bytes() == module("xfs", "libcrc32c", "pre: crc32c")

    @pytest.mark.parametrize(
        "content", [b"\xfd7zXZ\0damaged", lzma.compress(b"no ELF")], ids=["xz", "elf"]
    )
    def test_a_damaged_module_is_named(self, tmp_path: Path, content: bytes) -> None:
        write_tree(tmp_path, "6.1")
        found = tree.find(tmp_path, "6.1")
        found.module_files["xfs"].write_bytes(content)
        with pytest.raises(UsageError, match=r"modules of kernel 6\.1: .*xfs"):
            tree.needed_modules(found, ("xfs",), tmp_path / "out")

    def test_newer_layout(self, tmp_path: Path) -> None:
        home = tmp_path / "usr/lib/modules/7.2.1"
        home.mkdir(parents=True)
        for name in ("vmlinuz", "config", "System.map"):
            (home / name).write_bytes(bzimage(elf()) * 3)
        found = tree.find(tmp_path, "7.2.1")
        assert found.image == home / "vmlinuz"
        assert (found.config, found.system_map) == (home / "config", home / "System.map")

    def test_only_a_kernels_files_are_wanted(self) -> None:
        for path in ("boot/vmlinuz-6.1", "usr/lib/modules/7.2/kernel/a/b.ko.xz"):
            assert tree.is_wanted(path)
        for path in ("etc/shadow", "boot/a/vmlinuz-6.1", "lib/modules/7.2/build", "boot/vmlinuz"):
            assert not tree.is_wanted(path)


def test_what_is_loaded_first_is_read_in_one_pass() -> None:
    assert [*_before("pre: a b post: c pre: d")] == ["a", "b", "d"]
    assert [*_before("pre: " + "a" * 2_000_000)] == ["a" * 2_000_000]
