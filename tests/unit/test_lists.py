# SPDX-License-Identifier: GPL-2.0-or-later
"""What `kernel list`, `image list`, `doctor` and `list` show, as documents."""

from __future__ import annotations

import json

import pytest

from lsmeter.cli import doctor
from lsmeter.cli.doctor import Finding, State, doctor_document
from lsmeter.cli.list_command import names_document
from lsmeter.core import process
from lsmeter.sources.images.build import BuiltImage
from lsmeter.sources.images.command import images_document
from lsmeter.sources.kernels.command import kernels_document
from lsmeter.sources.kernels.sources.built import BuiltKernel
from lsmeter.tables.render import formats, render, rendered

KERNEL = BuiltKernel(
    name="6.1-dac",
    identity="i",
    release="6.1.9",
    origin="built from x",
    fragments=("base", "dac"),
    with_lsm=(),
    compiler="gcc 12",
    slot="slot",
    image_sha256="0" * 64,
    image_bytes=30 << 20,
    build_s=591.2,
)
IMAGE = BuiltImage("mine", "f" * 64, "a title", "c" * 64, 1 << 30, 179 << 20, 6927, (), (), 12.3)


def test_built_kernels_have_numbers_for_machines_and_words_for_people() -> None:
    document = kernels_document([KERNEL])
    (row,) = json.loads(render(document, "json"))["tables"]["kernels"]
    assert row == {
        "name": "built:6.1-dac",
        "release": "6.1.9",
        "image_mib": 30,
        "build_s": 591.2,
        "origin": "built from x",
    }
    assert " 591 " in render(document, "table")
    assert "no kernel has been built" in render(kernels_document([]), "text")


def test_images_are_listed_with_those_that_can_be_built() -> None:
    document = images_document([IMAGE], {"mine": "not shown", "policy": "Debian"})
    (found,) = json.loads(render(document, "json"))["images"]
    assert (found["name"], found["labelled"]) == ("mine", 6927)
    assert found["path"].endswith("image.ext4")
    text = render(document, "table")
    assert "fffffffffff" in text
    assert "(not built)" in text
    assert "not shown" not in text


def test_findings_say_what_to_do() -> None:
    findings = [
        Finding("QEMU", State.MISSING, "not installed", "apt-get install it"),
        Finding("disk", State.OK, "9 MiB"),
    ]
    checks = json.loads(render(doctor_document(findings), "json"))["tables"]["checks"]
    assert [check["state"] for check in checks] == ["missing", "ok"]
    assert checks[0]["what_to_do"] == "apt-get install it"


def test_doctor_names_the_file_systems_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    only = {"file systems": doctor._CHECKS["file systems"]}
    monkeypatch.setattr(doctor, "_CHECKS", only)
    monkeypatch.setattr(doctor, "_kvm", lambda *, fresh: "not looked at" if fresh else "")
    monkeypatch.setattr(process, "find", lambda name: None if name == "mkfs.xfs" else name)
    found, _kvm = doctor.findings()
    assert (found.state, found.text) == (State.LIMITED, "mkfs.xfs not found: no guest has xfs")
    assert found.hint == "install: apt-get install xfsprogs"
    monkeypatch.setattr(process, "find", lambda name: name)
    found, _kvm = doctor.findings()
    assert (found.state, found.text) == (State.OK, "tmpfs, ext2, ext4, xfs, btrfs, overlay")


def test_every_list_is_shown_in_every_format() -> None:
    for form in formats():
        if form.commands or form.name == "svg":
            continue  # it has neither results of benchmarks nor a plot
        found = rendered(names_document("setups", [("landlock", "a title")]), form.name)
        assert (b"landlock" if form.binary else "landlock") in found  # type: ignore[operator]
