# SPDX-License-Identifier: GPL-2.0-or-later
"""The one call of mmdebstrap: its words, its progress, and what its failures say."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from lsmeter.core import process
from lsmeter.core.errors import BuildError, InfrastructureError
from lsmeter.core.model.arch import ARM64, X86_64, Arch, arch_of_host
from lsmeter.sources.images import bootstrap
from lsmeter.sources.images.definition import FilePart, ImageDefinition, identity
from lsmeter.sources.kernels.apt import parse_one_line

PLACES = bootstrap.Bootstrap(Path("/cache dir/images/.x"))
PLAIN = ImageDefinition(name="mine", title="title", packages=("attr", "kmod"))
FULL = PLAIN.model_copy(
    update={
        "parts": (FilePart("/p", b"x"),),
        "prepare": "/p",
        "labels": True,
        "keep": ("/k/*",),
    }
)


def words(
    definition: ImageDefinition, arch: Arch = X86_64, *, root: bool = False, sources: bool = True
) -> list[str]:
    return bootstrap.command(
        definition, PLACES, arch, packages=Path("/pack ages"), root=root, sources=sources
    )


def test_root_and_user_differ_in_the_mode_alone() -> None:
    as_root, as_user = words(FULL, root=True), words(FULL)
    different = [pair for pair in zip(as_root, as_user, strict=True) if pair[0] != pair[1]]
    assert different == [("--mode=root", "--mode=unshare")]


def test_an_image_of_another_architecture_has_its_packages() -> None:
    here, there = words(FULL), words(FULL, ARM64)
    assert [pair for pair in zip(here, there, strict=True) if pair[0] != pair[1]] == [
        ("--architectures=amd64", "--architectures=arm64")
    ]
    programs = {"mmdebstrap": "1"}
    assert identity(FULL, programs) != identity(FULL, programs, ARM64)


def test_without_what_runs_its_programs_another_architecture_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process, "find", lambda _: "/x")
    monkeypatch.setattr(
        process, "run", lambda words: subprocess.CompletedProcess(words, words[0] == "arch-test")
    )
    (other,) = (of for of in (X86_64, ARM64) if of is not arch_of_host())
    with pytest.raises(InfrastructureError, match=f"image of {other.name}: its") as caught:
        bootstrap.need_to_build(other)
    assert "apt-get install qemu-user-static" in caught.value.hint


def test_the_archive_and_the_sources_come_last() -> None:
    assert words(PLAIN)[-3:] == ["bookworm", str(PLACES.archive), str(PLACES.sources)]
    assert words(PLAIN, sources=False)[-2:] == ["bookworm", str(PLACES.archive)]


def test_hooks_are_in_the_order_in_which_they_depend_on_each_other() -> None:
    hooks = [word for word in words(FULL) if word.startswith("--customize-hook=")]
    places = [
        next(i for i, hook in enumerate(hooks) if part in hook)
        for part in ("sync-out", "tar-in", "/bin/sh -eu /p", "matchpathcon", "download")
    ]
    assert places == sorted(places)


def test_the_scripts_of_what_is_extended_come_first() -> None:
    extending = FULL.model_copy(update={"prepare_before": ("/first", "/second")})
    hooks = [word for word in words(extending) if word.startswith("--customize-hook=")]
    run = [hook.split("-eu ")[1] for hook in hooks if "/bin/sh -eu /" in hook]
    assert run == ["/first", "/second", "/p"]
    assert "matchpathcon" in hooks[hooks.index(next(h for h in hooks if h.endswith("/p"))) + 1]


def test_paths_with_spaces_stay_one_word() -> None:
    text = "\n".join(words(FULL))
    assert "'/cache dir/images/.x/files.tar'" in text
    assert "'/pack ages'" in text


def test_only_what_is_asked_for_is_done() -> None:
    text = "\n".join(words(PLAIN))
    assert "matchpathcon" not in text
    assert "tar-in" not in text
    assert "--include=attr,kmod" in words(PLAIN)
    bare = PLAIN.model_copy(update={"packages": ()})
    assert not any(word.startswith("--include") for word in words(bare))


def test_what_is_kept_brings_its_directories() -> None:
    assert bootstrap.with_parents(("/usr/share/doc/a/b/*", "/usr/share/doc/a/c")) == (
        "/usr/share/doc/a",
        "/usr/share/doc/a/b",
        "/usr/share/doc/a/b/*",
        "/usr/share/doc/a/c",
    )


def test_the_overlay_is_the_same_bytes_each_time_and_belongs_to_root() -> None:
    parts = (FilePart("/bin/x", b"1", executable=True), FilePart("/etc/y", b"2"))
    data = bootstrap.overlay_tar(parts)
    assert data == bootstrap.overlay_tar(parts)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        found = [(m.name, m.mode, m.uid, m.gid) for m in archive]
    assert found == [("bin/x", 0o755, 0, 0), ("etc/y", 0o644, 0, 0)]


def test_packages_come_from_the_machines_own_mirrors() -> None:
    machine = parse_one_line(
        "deb http://a.test/debian trixie main\n"
        "deb http://b.test/sec trixie-security main\n"
        "deb http://c.test/ nodistro main\n"
    )
    text = bootstrap.sources_for("bookworm", machine)
    assert "URIs: http://a.test/debian\nSuites: bookworm\n" in text
    assert "URIs: http://b.test/sec\nSuites: bookworm-security\n" in text
    assert "c.test" not in text


def test_a_machine_without_debian_leaves_the_source_to_mmdebstrap() -> None:
    ubuntu = parse_one_line("deb http://a.test/ubuntu noble main\n")
    assert bootstrap.sources_for("bookworm", ubuntu) == ""


@pytest.mark.parametrize(
    ("line", "stage"),
    [
        ("I: downloading packages with apt...\n", "fetching packages"),
        ("I: extracting archives...\n", "unpacking packages"),
        ("I: success in 60.1 seconds\n", None),
        ("Setting up downloading packages\n", None),
    ],
)
def test_stages_are_read_from_the_output(line: str, stage: str | None) -> None:
    assert bootstrap.step_of(line) == stage


@pytest.mark.parametrize(
    ("log", "title", "hint"),
    [
        (
            "I: running\nE: Unable to locate package nope\nE: run_chroot failed: E: x\n",
            "Unable to locate package nope",
            "is the package's name right",
        ),
        (
            "Err:1 http://a.test bookworm InRelease\nE: Failed to fetch x  Could not resolve 'a'\n",
            "no network (Could not resolve 'a')",
            "check the network",
        ),
        ("tar: write: No space left on device\nE: tar failed\n", "tar failed", "free some space"),
        (
            "Failed to resolve\nlsmeter: the SELinux module does not compile\nE: setup failed\n",
            "lsmeter: the SELinux module does not compile",
            "the lines above",
        ),
        (
            "dpkg: error processing archive /tmp/x.deb (--unpack):\n- no space for it\nE: Sub\n",
            "dpkg: error processing archive /tmp/x.deb (--unpack): no space for it",
            "the lines above",
        ),
        ("", "status 1", "the lines above"),
    ],
)
def test_failures_say_why(log: str, title: str, hint: str) -> None:
    error = bootstrap.failed(log, 1)
    assert title in error.title
    assert hint in error.hint


def test_missing_programs_are_named_with_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "find", lambda name: None if name == "mmdebstrap" else "/x")
    with pytest.raises(InfrastructureError) as caught:
        bootstrap.need_to_build(X86_64)
    assert caught.value.title.startswith("mmdebstrap not found")
    assert caught.value.hint == "install: apt-get install mmdebstrap"


def test_without_root_a_range_of_users_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "find", lambda _: "/x")
    monkeypatch.setattr(os, "geteuid", lambda: 4242)
    with pytest.raises(InfrastructureError, match="no range for this user") as caught:
        bootstrap.need_to_build(X86_64)
    assert "--add-subuids" in caught.value.hint


def test_a_program_that_fails_is_an_error_with_its_words() -> None:
    with pytest.raises(BuildError, match="mke2fs failed with status 1"):
        process.output(["mke2fs", "-q", "/nonexistent/image", "1M"])
