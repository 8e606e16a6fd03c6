# SPDX-License-Identifier: GPL-2.0-or-later
"""Building the plugin: the right interface, the cache, and clear errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from lsmeter.core.errors import BuildError
from lsmeter.core.model.arch import Kind
from lsmeter.machines.plugin import (
    Symbol,
    SymbolTable,
    build_plugin,
    plugin_interface,
    source_dir,
    write_symbols,
)


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
    path = write_symbols(table)
    assert path.read_text() == "lsmeter-symbols 1 1 2 1\n1 f a@selinux\n"
    assert write_symbols(table) == path


def test_sources_are_found() -> None:
    assert (source_dir() / "qemu_api.h").is_file()
