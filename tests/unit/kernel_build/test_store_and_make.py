# SPDX-License-Identifier: GPL-2.0-or-later
"""The store of built kernels, and what is taken from make's output."""

from __future__ import annotations

import hashlib
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.core.errors import BuildError, InfrastructureError, UsageError
from lsmeter.core.model import BootProtocol
from lsmeter.core.model.arch import ARM64, X86_64, arch_of_host
from lsmeter.core.storage import locked
from lsmeter.sources.kernels.build.make import (
    Slot,
    check_tools,
    command,
    environment,
    error_lines,
    run_make,
    write_pahole,
)
from lsmeter.sources.kernels.resolve import Request
from lsmeter.sources.kernels.sources import built as store
from lsmeter.sources.kernels.sources.built import SOURCE


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path / "cache"))


def built(name: str, *, slot: str = "slot") -> store.BuiltKernel:
    return store.BuiltKernel(
        name=name,
        identity="i",
        release="6.1.9",
        origin="built from x",
        fragments=("base", "dac"),
        with_lsm=(),
        compiler="gcc 12",
        slot=slot,
        image_sha256=hashlib.sha256(b"ELF").hexdigest(),
        image_bytes=4,
        build_s=1.5,
    )


def put(kernel: store.BuiltKernel, tmp_path: Path) -> None:
    files = {}
    for name, text in (("vmlinux", "ELF"), ("System.map", ""), ("config", "CONFIG_HZ=250\n")):
        files[name] = tmp_path / name
        files[name].write_text(text)
    store.put(kernel, files)


def test_a_stored_kernel_is_found_listed_and_resolved(tmp_path: Path) -> None:
    put(built("6.1-dac"), tmp_path)
    assert store.find_built("built:6.1-dac") == built("6.1-dac")
    assert [item.name for item in SOURCE.listing()] == ["built:6.1-dac"]
    kernel = SOURCE.resolve("built:6.1-dac", Request())
    assert (kernel.name, kernel.release, dict(kernel.config)) == (
        "built:6.1-dac",
        "6.1.9",
        {"HZ": "250"},
    )
    assert kernel.image.read_text() == "ELF"


def test_an_unknown_kernel_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nor any other"):
        store.get_built("6.1-dac")
    put(built("6.1-dac"), tmp_path)
    with pytest.raises(UsageError, match=r"did you mean 6\.1-dac"):
        store.get_built("6.1-dax")


def test_objects_go_with_the_last_kernel_that_was_built_from_them(tmp_path: Path) -> None:
    objects = store.slots_dir() / "slot" / "obj"
    objects.mkdir(parents=True)
    put(built("one"), tmp_path)
    put(built("two"), tmp_path)
    store.remove_built("one")
    assert objects.exists()
    put(built("two", slot="new"), tmp_path)  # replaced by one from elsewhere
    assert not objects.exists()
    store.remove_built("built:two")
    assert store.KERNELS.all() == ()


def test_objects_of_a_build_that_goes_on_are_left(tmp_path: Path) -> None:
    put(built("old"), tmp_path)
    objects = store.slots_dir() / "slot"
    objects.mkdir(parents=True)
    with locked("kernel-slot-slot"):
        store.remove_built("old")
        assert objects.is_dir()
    store.drop_slot("slot")
    assert not objects.exists()


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "a b", "x" * 101])
def test_a_name_that_could_lead_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="cannot name a built kernel"):
        store.check_name(name)


def test_a_damaged_kernel_is_none(tmp_path: Path) -> None:
    put(built("one"), tmp_path)
    (store.KERNELS.home / "one" / "kernel.json").write_text('{"name": "one"}')
    assert store.find_built("one") is None
    put(built("one"), tmp_path)
    (store.KERNELS.home / "one" / "config").unlink()
    with pytest.raises(InfrastructureError, match="damaged"):
        store.to_kernel(store.get_built("one"))


def test_the_compilers_error_is_preferred_to_makes_remark() -> None:
    first, shown = error_lines(
        (
            "make[4]: *** waiting",
            "  CC      mm/a.o",
            "In file included from ../tree/security/mine/m.c:3:",
            "../tree/security/mine/m.c:12:3: error: 'x' undeclared",
            "   12 |   x = 1;",
            "make[3]: *** [scripts/Makefile.build:250: security/mine/m.o] Error 1",
        )
    )
    assert first.endswith("error: 'x' undeclared")
    assert "In file included from ../tree/security/mine/m.c:3:" in shown
    assert "  CC      mm/a.o" not in shown
    assert "   12 |   x = 1;" in shown


def test_without_a_known_error_the_end_of_the_output_is_shown() -> None:
    assert error_lines(("one", "two", "three", "four")) == ("", ("two", "three", "four"))
    assert error_lines(()) == ("", ())


def slot_with(tmp_path: Path, makefile: str) -> Slot:
    slot = Slot(tmp_path / "slot")
    slot.tree.mkdir(parents=True)
    slot.objects.mkdir()
    (slot.tree / "Makefile").write_text(makefile)
    return slot


def test_steps_are_counted(tmp_path: Path) -> None:
    rule = "all:\n\t@echo '  CC      a.o'; echo '  LD      b'; echo other; echo '  AR      c'\n"
    slot = slot_with(tmp_path, rule)
    seen: list[int] = []
    run_make(slot, ["all"], seen.append)
    assert seen == [1, 2, 3]
    assert "other" in slot.log.read_text()


def test_a_build_that_fails_says_the_first_error(tmp_path: Path) -> None:
    rule = "all:\n\t@echo '../tree/a.c:1:2: error: no'; echo more; false\n"
    with pytest.raises(BuildError, match=r"does not build: a\.c:1:2: error: no") as caught:
        run_make(slot_with(tmp_path, rule), ["all"])
    assert "more" in caught.value.log_tail


@pytest.mark.parametrize(
    "line",
    [
        "dd: error writing 'a': No space left on device",
        "gcc: fatal error: Killed signal terminated program cc1",
    ],
)
def test_what_the_host_lacks_is_no_fault_of_the_commit(tmp_path: Path, line: str) -> None:
    rule = f'all:\n\t@echo "{line}"; false\n'
    with pytest.raises(InfrastructureError, match="is not built: ") as caught:
        run_make(slot_with(tmp_path, rule), ["all"])
    assert not isinstance(caught.value, BuildError)


def test_the_users_environment_cannot_change_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("KCFLAGS", "ARCH", "KCONFIG_CONFIG", "MAKEFLAGS", "LOCALVERSION"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("KBUILD_BUILD_USER", "someone")
    env = environment(Slot(tmp_path))
    assert not {"KCFLAGS", "ARCH", "KCONFIG_CONFIG", "MAKEFLAGS", "LOCALVERSION"} & set(env)
    assert env["KBUILD_BUILD_USER"] == "lsmeter"


def test_a_kernel_of_another_architecture_has_its_compiler_and_image(tmp_path: Path) -> None:
    (other,) = (arch for arch in (X86_64, ARM64) if arch is not arch_of_host())
    words = command(Slot(tmp_path, other), ["all"])
    assert f"ARCH={other.name}" in words
    assert f"CROSS_COMPILE={other.cross}" in words
    (compiler,) = (word for word in words if word.startswith("CC="))
    assert compiler.endswith(other.compiler)
    (of_host,) = (word for word in words if word.startswith("HOSTCC="))
    assert of_host.endswith(("=gcc", " gcc"))
    own = " ".join(command(Slot(tmp_path, arch_of_host()), ["all"]))
    assert "CROSS_COMPILE" not in own
    assert f"ARCH={arch_of_host().name} " in own
    put(replace(built("two"), arch="arm64"), tmp_path)
    kernel = store.to_kernel(store.get_built("two"))
    assert (kernel.arch, kernel.boot_protocol) == ("arm64", BootProtocol.IMAGE)


def test_without_its_compiler_the_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (other,) = (arch for arch in (X86_64, ARM64) if arch is not arch_of_host())
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InfrastructureError, match=f"without {other.compiler}") as caught:
        check_tools(other)
    assert other.compiler_packages in caught.value.hint


def test_pahole_runs_on_one_thread(tmp_path: Path) -> None:
    """Its threads number types in an order of chance, and the image would differ each time."""
    real = tmp_path / "bin" / "pahole"
    real.parent.mkdir()
    real.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    real.chmod(0o755)
    slot = Slot(tmp_path / "slot")
    slot.home.mkdir()
    write_pahole(slot)
    words = [str(slot.pahole), "-J", "-j", "a b", "-j8", "--jobs", "--lang_exclude=rust", "x.o"]
    env = {"PATH": f"{real.parent}:/usr/bin:/bin"}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["-J", "a b", "--lang_exclude=rust", "x.o"]
