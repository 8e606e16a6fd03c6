# SPDX-License-Identifier: GPL-2.0-or-later
"""What is packed with a command: real files of this machine, and files that a stranger made."""

from __future__ import annotations

import errno
import io
import os
import random
import stat
import subprocess
import tarfile
from pathlib import Path

import pytest

from lsmeter.core.errors import UsageError
from lsmeter.core.model.arch import ARM64, X86_64, Arch
from lsmeter.sources.commands.collect import Collector, find, make_tree
from lsmeter.sources.commands.elf import ForeignElfError, read_needs
from lsmeter.sources.commands.tree import Entry, Tree


def packed(path: str, tree: Tree | None = None, arch: Arch = X86_64) -> Tree:
    found = make_tree(None) if tree is None else tree
    Collector(found, arch).add_program(path)
    return found


def real(tree: Tree, path: str) -> str:
    """Follow the links of the tree, and of nothing else."""
    tree.closed = True
    return tree.add(path)


def compiled(folder: Path, text: str, *words: str, name: str = "program") -> Path:
    (folder / "source.c").write_text(text)
    target = folder / name
    subprocess.run(["cc", "source.c", "-o", str(target), *words], cwd=folder, check=True)
    return target


def test_a_program_has_its_loader_and_libraries_at_their_places(tmp_path: Path) -> None:
    tree = packed(str(compiled(tmp_path, "int main(void) { return 0; }")))
    needs = read_needs(tree.entries[str(tmp_path / "program")].data, X86_64)
    assert needs.loader
    assert needs.libraries
    assert tree.entries[real(tree, needs.loader)].data[:4] == b"\x7fELF"
    names = {Path(name).name for name in tree.entries}
    assert names >= set(needs.libraries)


def test_what_ldd_says_is_packed() -> None:
    lines = subprocess.run(["ldd", "/bin/ls"], capture_output=True, text=True, check=True).stdout
    tree = packed("/bin/ls")
    found = [word for word in lines.split() if word.startswith("/")]
    assert len(found) > 2
    for path in found:
        assert tree.entries[real(tree, path)].data == Path(path).read_bytes()


def test_a_library_beside_the_program_is_found_by_its_origin(tmp_path: Path) -> None:
    compiled(tmp_path, "int one(void) { return 1; }", "-shared", "-fPIC", name="libone.so")
    words = ("-L.", "-lone", "-Wl,-rpath,$ORIGIN")
    program = compiled(tmp_path, "int one(void); int main(void) { return one(); }", *words)
    assert str(tmp_path / "libone.so") in packed(str(program)).entries
    (tmp_path / "libone.so").unlink()
    with pytest.raises(UsageError, match=r"needs libone\.so, which is nowhere here"):
        packed(str(program))


def test_a_script_has_its_interpreter_and_what_env_names(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/usr/bin/env -S sh -e\nexit 0\n")
    script.chmod(0o755)
    tree = packed(str(script))
    assert tree.entries[real(tree, "/usr/bin/env")].data[:4] == b"\x7fELF"
    assert tree.entries[real(tree, "/bin/sh")].data[:4] == b"\x7fELF"


def test_an_interpreter_of_itself_ends(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(f"#!{script}\n")
    script.chmod(0o755)
    with pytest.raises(UsageError, match="neither an ELF file nor a script"):
        packed(str(script))


@pytest.mark.parametrize(
    ("content", "mode", "said"),
    [
        (b"text", 0o755, "neither an ELF file nor a script"),
        (b"#!\n", 0o755, "names no interpreter"),
        (b"#!/nowhere/at/all\n", 0o755, "No such file"),
        (b"#!/bin/sh\n", 0o644, "not executable"),
        (b"\x7fELF", 0o755, "headers cannot be read"),
        (b"\x7fELF\x02\x01\x01" + b"\xff" * 200, 0o755, "runs in no guest"),
    ],
)
def test_what_cannot_run_is_one_line(tmp_path: Path, content: bytes, mode: int, said: str) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    file.chmod(mode)
    with pytest.raises(UsageError, match=said):
        packed(str(file))
    with pytest.raises(UsageError, match="no file that can be run"):
        packed(str(tmp_path))


def test_a_program_for_another_machine_is_refused() -> None:
    head = bytearray(Path("/bin/ls").read_bytes())
    head[18:20] = (183).to_bytes(2, "little")
    with pytest.raises(ForeignElfError, match="EM_AARCH64"):
        read_needs(bytes(head), X86_64)
    assert read_needs(bytes(head), ARM64)
    with pytest.raises(UsageError, match="no guest of arm64") as error:
        packed("/bin/ls", arch=ARM64)
    assert "--root" in str(error.value.hint)


def test_damaged_headers_never_raise_anything_else() -> None:
    whole = Path("/bin/true").read_bytes()
    for at in range(0, 4000, 7):
        data = bytearray(whole)
        data[at : at + 8] = bytes(byte ^ 0xFF for byte in data[at : at + 8])
        try:
            read_needs(bytes(data), X86_64)
        except ForeignElfError:
            continue


@pytest.mark.parametrize(("arch", "hint"), [(X86_64, "--with FILE"), (ARM64, "--root")])
def test_a_program_whose_loader_is_nowhere_is_refused(
    tmp_path: Path, arch: Arch, hint: str
) -> None:
    program = compiled(tmp_path, "int main(void) { return 0; }", "-Wl,--dynamic-linker=/no/ld.so")
    data = bytearray(program.read_bytes())
    data[18:20] = {X86_64: 62, ARM64: 183}[arch].to_bytes(2, "little")
    program.write_bytes(data)
    with pytest.raises(UsageError, match=r"needs /no/ld\.so, which is nowhere here") as error:
        packed(str(program), arch=arch)
    assert hint in error.value.hint
    tree = Tree()
    Collector(tree, arch).add_path(str(tmp_path))  # among other files it is one more
    assert str(program) in tree.entries


def test_a_library_that_may_not_be_read_is_no_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied")

    program = compiled(tmp_path, "int main(void) { return 0; }")
    needs = read_needs(program.read_bytes(), X86_64)
    monkeypatch.setattr("lsmeter.sources.commands.tree.read_file", refused)
    with pytest.raises(UsageError, match=f"needs {needs.loader}, which is nowhere here"):
        packed(str(program))


@pytest.mark.parametrize(("kind", "at"), [("xz", 0.5), ("gz", 0.3), ("bz2", 0.5)])
def test_a_damaged_archive_is_refused(tmp_path: Path, kind: str, at: float) -> None:
    path = tmp_path / f"root.tar.{kind}"
    with tarfile.open(path, f"w:{kind}") as archive:  # type: ignore[call-overload]
        item = tarfile.TarInfo("file")
        item.size = 300_000
        archive.addfile(item, io.BytesIO(random.Random(1).randbytes(item.size)))
    data = bytearray(path.read_bytes())
    middle = int(len(data) * at)
    data[middle : middle + 64] = bytes(64)
    path.write_bytes(data)
    with pytest.raises(UsageError, match="no tar archive that can be read"):
        make_tree(path)


def test_links_stay_links_and_loops_end(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "loop").symlink_to("loop")
    tree = Tree()
    assert tree.add(str(tmp_path / "link")) == str(tmp_path / "file")
    assert stat.S_ISLNK(tree.entries[str(tmp_path / "link")].mode)
    with pytest.raises(UsageError, match="more than 40 links"):
        tree.add(str(tmp_path / "loop"))


def test_a_directory_is_packed_with_all_below_it(tmp_path: Path) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "deep" / "file").write_text("x")
    (tmp_path / "in" / "away").symlink_to("/nowhere")
    (tmp_path / "in" / "pipe").unlink(missing_ok=True)
    subprocess.run(["mkfifo", str(tmp_path / "in" / "pipe")], check=True)
    tree = Tree()
    Collector(tree, X86_64).add_path(str(tmp_path / "in"))
    assert tree.entries[str(tmp_path / "in/deep/file")].data == b"x"
    assert tree.entries[str(tmp_path / "in/away")].data == b"/nowhere"
    assert tree.skipped == [str(tmp_path / "in/pipe")]
    with pytest.raises(UsageError, match="--with"):
        Collector(tree, X86_64).add_path(str(tmp_path / "none"))


def test_the_same_files_are_the_same_tree() -> None:
    assert packed("/bin/ls").entries == packed("/bin/ls").entries


def test_a_tar_has_its_own_files_and_none_of_this_machine(tmp_path: Path) -> None:
    path = tmp_path / "root.tar"
    with tarfile.open(path, "w") as archive:
        for name, data in (("../../bin/own", b"#!/bin/sh\n"), ("dev/null", b"no")):
            item = tarfile.TarInfo(name)
            item.size, item.mode = len(data), 0o755
            archive.addfile(item, io.BytesIO(data))
        link = tarfile.TarInfo("bin/sh")
        link.type, link.linkname = tarfile.SYMTYPE, "/bin/own"
        archive.addfile(link)
    tree = make_tree(path)
    assert tree.entries["/bin/own"].data == b"#!/bin/sh\n"
    assert "/dev/null" not in tree.entries
    assert find(tree, "own", "/bin", "/") == "/bin/own"
    with pytest.raises(UsageError, match="no command 'ls'"):
        find(tree, "ls", "/bin", "/")
    with pytest.raises(UsageError, match="No such file"):
        packed("/bin/ls", tree)
    (tmp_path / "text").write_text("x" * 2000)
    with pytest.raises(UsageError, match="no tar archive"):
        make_tree(tmp_path / "text")


@pytest.mark.parametrize("kind", ["directory", "tar"])
def test_a_root_says_itself_where_its_libraries_are(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "root"
    (root / "etc/ld.so.conf.d").mkdir(parents=True)
    (root / "opt").mkdir()
    compiled(tmp_path, "int one(void) { return 1; }", "-shared", "-fPIC", name="libone.so")
    words = ("-L.", "-lone", "-nostdlib", "-Wl,--dynamic-linker=/opt/libone.so")
    compiled(tmp_path, "int one(void); void _start(void) { one(); }", *words).rename(root / "own")
    (tmp_path / "libone.so").rename(root / "opt/libone.so")
    # Neither file of this machine has a part in it, nor what is no file or no pattern.
    (root / "etc/ld.so.conf").symlink_to("/etc/conf")
    (root / "etc/conf").write_text("include\ninclude /\ninclude /etc/ld.so.conf.d/*.conf\n")
    (root / "etc/ld.so.conf.d/one.conf").write_text("/opt\n")
    os.mkfifo(root / "etc/ld.so.conf.d/two.conf")
    given = root
    if kind == "tar":
        given = tmp_path / "root.tar"
        with tarfile.open(given, "w") as archive:
            archive.add(root, "/")
    assert "/opt/libone.so" in packed("/own", make_tree(given)).entries


@pytest.mark.parametrize("name", ["bin/own", "/bin/own", "./bin/own", "//bin/../bin//own"])
def test_a_tar_may_have_absolute_names(tmp_path: Path, name: str) -> None:
    path = tmp_path / "root.tar"
    with tarfile.open(path, "w") as archive:
        archive.addfile(tarfile.TarInfo(name))
        link = tarfile.TarInfo("bin/other")
        link.type, link.linkname = tarfile.LNKTYPE, name
        archive.addfile(link)
    assert {"/bin/own", "/bin/other"} <= make_tree(path).entries.keys()


@pytest.mark.parametrize("depth", [1500, 5000])
def test_a_deep_tar_is_taken_or_refused(tmp_path: Path, depth: int) -> None:
    path = tmp_path / "root.tar"
    with tarfile.open(path, "w") as archive:
        archive.addfile(tarfile.TarInfo("d/" * depth + "file"))
    if depth > 4096 / 2:
        with pytest.raises(UsageError, match="more than 4096 characters"):
            make_tree(path)
    else:
        assert "/d" * depth + "/file" in make_tree(path).entries


def test_a_directory_as_root_is_all_there_is(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sh").symlink_to("/bin/busy")
    (tmp_path / "bin" / "busy").write_bytes(b"\x7fELF")
    tree = make_tree(tmp_path)
    assert tree.has_file("/bin/sh")
    assert not tree.has_file("/bin/ls")
    assert tree.add("/bin/sh") == "/bin/busy"


def test_where_files_are_changes_nothing_of_their_tree(tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "file").write_text("x")
    found: list[dict[str, Entry]] = []
    for results in ("one", "two"):
        (tmp_path / results).mkdir()
        os.utime(tmp_path, (0, len(found) + 1))
        tree = make_tree(None)
        Collector(tree, X86_64).add_path(str(tmp_path / "given"))
        found.append(tree.entries)
    assert found[0] == found[1]
    assert found[0][str(tmp_path / "given")].mtime_s > 0  # a command may look at what it is given
