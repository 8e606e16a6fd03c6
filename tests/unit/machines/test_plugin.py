# SPDX-License-Identifier: GPL-2.0-or-later
"""Building the plugin: the right interface, the cache, and clear errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lsmeter.core.errors import BuildError
from lsmeter.core.model.arch import Kind
from lsmeter.machines import plugin as plugins
from lsmeter.machines.plugin import (
    Symbol,
    SymbolTable,
    build_plugin,
    symbol_file,
    write_symbols,
)
from lsmeter.machines.plugin_sources import (
    plugin_interface,
    plugin_recipe,
    shipped_plugins,
    source_dir,
)
from lsmeter.measure.tasks import kinds


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("version", "interface"),
    [
        ("7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)", 1),
        ("8.2.2", 1),
        ("9.0.4", 2),
        ("9.1.0", 3),
        ("10.0.2 (Debian 1:10.0.2+ds-2)", 3),
        ("11.1.3", 7),
    ],
)
def test_interface_of_a_version(version: str, interface: int) -> None:
    assert plugin_interface(version) == interface


def test_versions_that_cannot_serve() -> None:
    with pytest.raises(BuildError, match=r"QEMU 6\.2 is too old") as caught:
        plugin_interface("6.2.0")
    assert "--attribute" in caught.value.hint
    with pytest.raises(BuildError, match="cannot tell the version"):
        plugin_interface("unknown")


@pytest.mark.parametrize("version", ["7.2.22", "9.0.4", "10.0.2", "11.1.3"])
def test_builds_once(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = build_plugin("attribution", version)
    assert plugin.path.read_bytes().startswith(b"\x7fELF")
    monkeypatch.setenv("CC", "/nowhere/cc")
    assert build_plugin("attribution", version) == plugin


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/nowhere/cc")
    with pytest.raises(BuildError, match="could not be compiled: /nowhere/cc not found") as caught:
        build_plugin("attribution", "7.2.22")
    assert "gcc" in caught.value.hint


def test_what_was_shipped_needs_no_compiler_while_it_is_of_these_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "/nowhere/cc")
    monkeypatch.setattr(plugins, "SHIPPED", tmp_path)
    recipe = plugin_recipe("attribution", 1)
    shipped = tmp_path / recipe.name
    shipped.touch()
    found = build_plugin("attribution", "8.2.2")
    assert (found.path, found.sha256) == (shipped, recipe.sha256)
    with pytest.raises(BuildError, match="could not be compiled"):
        build_plugin("attribution", "9.0.0")  # another interface
    shipped.rename(tmp_path / shipped.name.replace("-1-", "-1-0"))  # of other sources
    with pytest.raises(BuildError, match="could not be compiled"):
        build_plugin("attribution", "8.2.2")


def test_wheels_serve_three_distributions() -> None:
    shipped = {recipe.name.rpartition("-")[0] for recipe in shipped_plugins()}
    # Debian 12, Ubuntu 24.04, Debian 13.
    wanted = {plugin_interface(version) for version in ("7.2.22", "8.2.2", "10.0.11")}
    names = {task.plugin for task in kinds().values() if task.plugin}
    assert shipped == {f"{name}-{number}" for name in names for number in wanted}


def test_what_builds_the_programs_needs_no_dependency() -> None:
    # hatch_build.py runs where pip has installed only the builder.
    parts = "lsmeter.guest.probe, lsmeter.machines.plugin_sources"
    code = f"import sys; sys.path.insert(0, sys.argv[1]); import {parts}"
    source = str(Path(plugins.__file__).parents[2])
    subprocess.run([sys.executable, "-ISc", code, source], check=True)


def test_a_compiler_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\necho no such header >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    with pytest.raises(BuildError, match="failed with status 1: no such header") as caught:
        build_plugin("attribution", "7.2.22")
    assert caught.value.log_tail == ("no such header",)


def test_symbols_are_written_once() -> None:
    table = SymbolTable(1, 2, (Symbol(1, "a", Kind.FUNCTION, "selinux"),))
    data = symbol_file(table).encode()
    path = write_symbols(data)
    assert path.read_text() == "lsmeter-symbols 1 1 2 1\n1 f a@selinux\n"
    assert write_symbols(data) == path


def test_sources_are_found() -> None:
    assert (source_dir() / "qemu_api.h").is_file()
