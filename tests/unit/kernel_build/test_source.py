# SPDX-License-Identifier: GPL-2.0-or-later
"""Sources: trees, tarballs and git trees, what names them, and that they are only read."""

from __future__ import annotations

import io
import os
import random
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from lsmeter.core.errors import BuildError, InfrastructureError, UsageError
from lsmeter.sources.kernels.build.builder import _refuse_moved
from lsmeter.sources.kernels.build.source import (
    SourceTree,
    fetch_debian_source,
    kernel_release,
    resolve_source,
)
from lsmeter.sources.kernels.resolve import Request

MAKEFILE = "VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 9\nEXTRAVERSION = -rc2\nNAME = Fish\n"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    top = tmp_path / "linux"
    (top / "security").mkdir(parents=True)
    (top / "Makefile").write_text(MAKEFILE)
    (top / "Kconfig").write_text("")
    (top / "security" / "Kconfig").write_text("")
    return top


def git(tree: Path, *words: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", tree, *identity, *words], check=True, capture_output=True)


@pytest.fixture
def git_tree(tree: Path) -> Path:
    git(tree, "init", "-q")
    (tree / ".gitignore").write_text("*.o\n.config\n")
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "first")
    return tree


def resolve(path: Path) -> SourceTree:
    return resolve_source(str(path))


def test_release_is_what_the_makefile_says(tree: Path) -> None:
    assert kernel_release(tree) == "6.1.9-rc2"


def test_a_directory_is_named_by_names_sizes_and_times(tree: Path) -> None:
    before = resolve(tree)
    assert before.label.startswith("6.1.9-rc2-d")
    assert resolve(tree) == before
    os.utime(tree / "Kconfig", ns=(1, 1))
    assert resolve(tree).identity != before.identity


def test_a_clean_git_tree_is_named_by_its_commit(git_tree: Path) -> None:
    before = resolve(git_tree)
    assert "dirty" not in before.label
    (git_tree / "built.o").write_text("ignored")
    assert resolve(git_tree) == before


def test_a_changed_git_tree_is_named_by_its_content(git_tree: Path) -> None:
    clean = resolve(git_tree)
    (git_tree / "Kconfig").write_text("# changed\n")
    changed = resolve(git_tree)
    assert "-dirty-" in changed.label
    assert "not committed" in changed.origin
    (git_tree / "new.c").write_text("int x;\n")
    more = resolve(git_tree)
    (git_tree / "new.c").write_text("int y;\n")
    other = resolve(git_tree)
    git(git_tree, "add", "new.c")
    staged = resolve(git_tree)
    identities = {clean.identity, changed.identity, more.identity, other.identity}
    assert len(identities) == 4
    assert staged.identity not in {clean.identity, changed.identity, more.identity}
    (git_tree / "Kconfig").write_text("")
    git(git_tree, "rm", "-qf", "new.c")
    assert resolve(git_tree).identity == clean.identity


def test_a_git_tree_is_not_written(git_tree: Path) -> None:
    (git_tree / "Kconfig").write_text("# changed\n")
    index = (git_tree / ".git" / "index").read_bytes()
    resolve(git_tree)
    assert (git_tree / ".git" / "index").read_bytes() == index


def test_a_git_tree_that_was_built_in_place_gives_only_its_own_files(git_tree: Path) -> None:
    assert resolve(git_tree).files is None
    (git_tree / ".config").write_text("")
    (git_tree / "stale.o").write_text("")
    files = resolve(git_tree).files
    assert files is not None
    assert set(files) == {".gitignore", "Kconfig", "Makefile", "security/Kconfig"}


def test_another_tree_that_was_built_in_place_is_refused(tree: Path) -> None:
    (tree / ".config").write_text("")
    with pytest.raises(UsageError, match="built in place") as caught:
        resolve(tree)
    assert "make mrproper" in caught.value.hint


@pytest.mark.parametrize("name", ["linux.tar", "linux.tar.xz", "linux.tar.gz"])
def test_a_tarball_is_unpacked_once_and_named_by_its_content(tree: Path, name: str) -> None:
    tarball = tree.parent / name
    mode: Any = f"w:{name.rpartition('.')[2].removeprefix('tar')}"
    with tarfile.open(tarball, mode) as archive:
        archive.add(tree, arcname="linux-6.1")
    found = resolve(tarball)
    assert kernel_release(found.path) == "6.1.9-rc2"
    assert found.label.startswith("6.1.9-rc2-t")
    marker = found.path / "marker"
    marker.write_text("")
    assert resolve(tarball).path == found.path
    assert marker.exists()


def test_a_tarball_cannot_write_outside(tmp_path: Path, tree: Path) -> None:
    tarball = tmp_path / "evil.tar"
    with tarfile.open(tarball, "w") as archive:
        archive.add(tree, arcname="linux")
        member = tarfile.TarInfo("linux/../../escaped")
        member.size = 1
        archive.addfile(member, io.BytesIO(b"x"))
    with pytest.raises(InfrastructureError, match="cannot unpack"):
        resolve(tarball)
    assert not list(tmp_path.rglob("escaped"))
    assert not list((tmp_path / "cache" / "kernel-source").glob("tar-*"))


def test_a_name_that_would_fill_the_memory_is_refused(tmp_path: Path, tree: Path) -> None:
    tarball = tmp_path / "linux.tar.gz"
    with tarfile.open(tarball, "w:gz") as archive:
        archive.add(tree, arcname="linux")
        member = tarfile.TarInfo("long")
        member.type, member.size = tarfile.GNUTYPE_LONGNAME, (1 << 20) + 1
        archive.addfile(member, io.BytesIO(b"n" * member.size))
    with pytest.raises(InfrastructureError, match="a header is too long"):
        resolve(tarball)


def test_a_tarball_that_is_cut_short_or_no_kernel_is_an_error(tmp_path: Path, tree: Path) -> None:
    whole = tmp_path / "linux.tar.xz"
    with tarfile.open(whole, "w:xz") as archive:
        archive.add(tree, arcname="linux")
    cut = tmp_path / "cut.tar.xz"
    cut.write_bytes(whole.read_bytes()[:200])
    with pytest.raises(InfrastructureError, match="cannot unpack"):
        resolve(cut)
    other = tmp_path / "other.tar"
    with tarfile.open(other, "w") as archive:
        archive.add(tree / "Kconfig", arcname="thing/Kconfig")
    with pytest.raises(UsageError, match="not a kernel source tree"):
        resolve(other)


@pytest.mark.parametrize("kind", ["xz", "gz"])
@pytest.mark.parametrize("where", [0.3, 0.6, 0.95])
def test_a_damaged_tarball_is_unpacked_to_nothing(
    tmp_path: Path, tree: Path, kind: str, where: float
) -> None:
    whole = tmp_path / f"linux.tar.{kind}"
    (tree / "security/noise.c").write_bytes(random.Random(1).randbytes(100_000))
    mode: Any = f"w:{kind}"
    with tarfile.open(whole, mode) as archive:
        archive.add(tree, arcname="linux")
    data = bytearray(whole.read_bytes())
    data[int(len(data) * where)] ^= 1
    whole.write_bytes(data)
    with pytest.raises(InfrastructureError, match="cannot unpack"):
        resolve(whole)
    assert not list((tmp_path / "cache" / "kernel-source").glob("tar-*"))


@pytest.mark.parametrize("text", ["nowhere", "/dev/null"])
def test_what_is_no_source_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="kernel source"):
        resolve_source(text)


@pytest.mark.parametrize("series", ["", "6", "6.1.2", "../..", "6.1 x"])
def test_what_is_no_series_is_refused(series: str) -> None:
    with pytest.raises(UsageError, match="names no series"):
        resolve_source(f"debian-source:{series}")


def test_without_network_an_uncached_series_is_an_error_that_says_so() -> None:
    with pytest.raises(InfrastructureError, match="not cached"):
        fetch_debian_source("6.1", Request(offline=True))


def test_a_tree_that_changes_while_it_is_built_gives_no_kernel(tree: Path) -> None:
    source = resolve(tree)
    _refuse_moved(source)
    (tree / "Kconfig").write_text("# saved by an editor\n")
    with pytest.raises(BuildError, match="changed while the kernel was built"):
        _refuse_moved(source)


def test_a_directory_that_is_no_kernel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a kernel source tree"):
        resolve(tmp_path)
