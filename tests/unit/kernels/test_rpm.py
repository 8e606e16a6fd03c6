# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels in RPM packages: real packages, a real repository over them, and damaged ones."""

from __future__ import annotations

import functools
import gzip
import hashlib
import http.server
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.sources.kernels import repository
from lsmeter.sources.kernels.entry import KERNELS
from lsmeter.sources.kernels.resolve import Request, resolve
from tests.conftest import DEADLINE_S
from tests.unit.kernels.synthetic import write_tree

RELEASE = "6.12.0-1.fc43.x86_64"
INDEX = "repodata/repomd.xml"
SPEC = """\
%define _binary_payload w1.gzdio
Name: {name}
Version: 6.12.0
Release: {release}
Summary: a kernel for a test
License: GPL-2.0-only
AutoReqProv: no
%define debug_package %{{nil}}
%define __os_install_post %{{nil}}
%define _build_id_links none
%description
None.
%files
{files}
"""


def rpm(into: Path, name: str, root: Path, release: str = "1.fc43") -> Path:
    """Make a package of the files under `root` with rpmbuild."""
    top, home = into / "build", into / "build" / "root"
    shutil.copytree(root, home)
    files = "\n".join(f"/{path.relative_to(root)}" for path in root.rglob("*") if path.is_file())
    (top / "a.spec").write_text(SPEC.format(name=name, release=release, files=files))
    words = ["rpmbuild", "-bb", "--target", "x86_64", "--define", f"_topdir {top}"]
    words += ["--buildroot", str(home), "--noclean", str(top / "a.spec")]
    subprocess.run(words, check=True, capture_output=True, timeout=DEADLINE_S)
    (made,) = top.glob("RPMS/*/*.rpm")
    path = Path(shutil.move(made, into / made.name))
    shutil.rmtree(top)
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a repository: the image and the modules of a kernel, and the image of an older one."""
    home = tmp_path_factory.mktemp("packages")
    whole = write_tree(home / "whole", RELEASE)
    base = f"lib/modules/{RELEASE}"
    core, modules = home / "core" / base, home / "modules" / base
    core.mkdir(parents=True)
    modules.mkdir(parents=True)
    (whole / f"boot/vmlinuz-{RELEASE}").rename(core / "vmlinuz")
    (whole / f"boot/config-{RELEASE}").rename(core / "config")
    (whole / base / "modules.builtin").rename(core / "modules.builtin")
    (whole / base / "kernel").rename(modules / "kernel")
    (home / "packages").mkdir()
    rpm(home / "packages", "kernel-core", home / "core", "0.fc43")
    rpm(home / "packages", "kernel-core", home / "core")
    rpm(home / "packages", "kernel-modules-core", home / "modules")
    index(home / "packages")
    return home / "packages"


@pytest.fixture
def packages(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "packages"))


@pytest.fixture
def served(packages: Path) -> Iterator[str]:
    """Serve the packages on the loopback interface."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(packages))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_a_package_brings_the_modules_beside_it(packages: Path) -> None:
    kernel = resolve(str(packages / "kernel-core-6.12.0-1.fc43.x86_64.rpm"))
    assert (kernel.release, kernel.version) == (RELEASE, "kernel-core-6.12.0-1.fc43")
    assert [item.name for item in kernel.modules] == ["brd", "libcrc32c", "xfs"]
    alone = resolve(str(packages / "kernel-core-6.12.0-0.fc43.x86_64.rpm"))
    assert not alone.modules


@pytest.mark.parametrize("kind", ["directory", "address"])
def test_a_repository_gives_its_newest_kernel_or_a_version(
    packages: Path, served: str, kind: str
) -> None:
    place = str(packages) if kind == "directory" else served
    kernel = resolve(f"rpm:{place}")
    assert kernel.origin.startswith("RPM package kernel-core 6.12.0-1.fc43 of ")
    assert [item.name for item in kernel.modules] == ["brd", "libcrc32c", "xfs"]
    assert "6.12.0-0.fc43" in resolve(f"rpm:{place}#6.12.0-0.fc43").origin
    with pytest.raises(UsageError, match=r"no kernel-core 5\.0") as error:
        resolve(f"rpm:{place}#5.0")
    assert "6.12.0-0.fc43, 6.12.0-1.fc43" in error.value.hint


def test_an_address_is_not_asked_again_on_the_same_day(packages: Path, served: str) -> None:
    with pytest.raises(InfrastructureError, match="is not cached"):
        resolve(f"rpm:{served}", Request(offline=True))
    first = resolve(f"rpm:{served}")
    shutil.rmtree(packages)
    assert resolve(f"rpm:{served}") == resolve(f"rpm:{served}", Request(offline=True)) == first
    with pytest.raises(InfrastructureError, match="File not found"):
        resolve(f"rpm:{served}", Request(refresh=True))


def index(packages: Path) -> None:
    words = ["createrepo_c", "--quiet", "--simple-md-filenames", str(packages)]
    subprocess.run(words, check=True, capture_output=True, timeout=DEADLINE_S)


def test_a_directory_is_looked_at_each_time(
    packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = packages / "kernel-core-6.12.0-1.fc43.x86_64.rpm"
    newest.rename(tmp_path / newest.name)
    index(packages)
    assert "6.12.0-0.fc43" in resolve(f"rpm:{packages}").origin
    (tmp_path / newest.name).rename(newest)
    index(packages)
    assert "6.12.0-1.fc43" in resolve(f"rpm:{packages}").origin
    # The same words in another directory are another repository.
    other = Path(shutil.copytree(packages, tmp_path / "other/packages"))
    (other / newest.name).unlink()
    index(other)
    for home, release in ((tmp_path, "1.fc43"), (other.parent, "0.fc43")):
        monkeypatch.chdir(home)
        assert f"6.12.0-{release}" in resolve("rpm:./packages").origin


def test_an_address_is_asked_once_a_day(packages: Path, served: str) -> None:
    resolve(f"rpm:{served}")
    day_ago_s = time.time() - 90_000
    for _ in range(2):  # also where the same was found a day ago
        for home in KERNELS.home.glob("rpm-*"):
            for path in (home / "kernel.json", home):
                os.utime(path, (day_ago_s, day_ago_s))
        resolve(f"rpm:{served}")
        index_file = packages / INDEX
        index_file.rename(packages / "away")
        resolve(f"rpm:{served}")  # no more today
        (packages / "away").rename(index_file)


def test_a_directory_without_metadata_has_to_be_told(packages: Path, tmp_path: Path) -> None:
    shutil.rmtree(packages / "repodata")
    with pytest.raises(UsageError, match="has 2 packages kernel-core-"):
        resolve(f"rpm:{packages}")
    assert resolve(f"rpm:{packages}#6.12.0-1.fc43").modules
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="has no package"):
        resolve(f"rpm:{tmp_path / 'empty'}")


@pytest.mark.parametrize("place", ["http://example.org/x", "ftp://example.org/x", "file:///etc"])
def test_an_address_that_anybody_could_answer_is_refused(place: str) -> None:
    with pytest.raises(UsageError, match="needs https"):
        resolve(f"rpm:{place}")


@pytest.mark.parametrize(
    ("place", "said"),
    [("https://[::1", "Invalid IPv6 URL"), ("{home}#**", "no package kernel-core-**.*.rpm")],
)
def test_a_place_that_cannot_be_is_refused(tmp_path: Path, place: str, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        resolve(f"rpm:{place.format(home=tmp_path)}")


def test_a_cut_package_is_named(packages: Path) -> None:
    path = packages / "kernel-core-6.12.0-0.fc43.x86_64.rpm"
    path.write_bytes(path.read_bytes()[:-400])
    with pytest.raises(UsageError, match=r"0\.fc43\.x86_64\.rpm is not a whole package: \S"):
        resolve(str(path))


def rewrite(packages: Path, old: str, new: str) -> None:
    """Change the list of packages, and its digest in the index: a repository that lies."""
    listed = packages / "repodata/primary.xml.gz"
    text = gzip.decompress(listed.read_bytes()).decode()
    changed = re.sub(old, new, text)
    assert changed != text
    listed.write_bytes(gzip.compress(changed.encode()))
    index = packages / INDEX
    digest = hashlib.sha256(listed.read_bytes()).hexdigest()
    found = re.sub(
        r'(<data type="primary">\s*<checksum type="sha256">)\w+',
        rf"\g<1>{digest}",
        index.read_text(),
    )
    index.write_text(found)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (r'package="\d+"', 'package="99999999999"', "of 99999999999 bytes is no kernel's"),
        (r'package="\d+"', 'package="100"', "is not what its list says"),
        (r'(pkgid="YES">)\w+', rf"\g<1>{'0' * 64}", "is not what its list says"),
        ('href="kernel', 'href="../kernel', "leads out of the repository"),
        ('href="kernel', 'href="/kernel', "leads out of the repository"),
        ('rel="', 'rel="../', "has no kernel-core"),
        ("<metadata", "<!DOCTYPE a><metadata", "it declares a document type"),
        ("</metadata>", "", "damaged metadata"),
        ("<name>", "<a>" * 20 + "<name>", "too deep"),
        ('encoding="UTF-8"', 'encoding="nosuch"', "damaged metadata"),
        ('encoding="UTF-8"', 'encoding="utf-7"', "damaged metadata"),
    ],
)  # fmt: skip
def test_a_repository_that_lies_is_refused(packages: Path, old: str, new: str, said: str) -> None:
    rewrite(packages, old, new)
    with pytest.raises(UsageError, match=re.escape(said)):
        resolve(f"rpm:{packages}")


@pytest.mark.parametrize("text", ["<p><a><p/></a></p>", "<p><p/></p>", "<p/>"])
def test_elements_within_themselves_are_read(text: str) -> None:
    assert repository._elements(text.encode(), "p", "a list")


def test_a_list_that_is_not_the_indexs_is_refused(packages: Path) -> None:
    listed = packages / "repodata/primary.xml.gz"
    listed.write_bytes(gzip.compress(gzip.decompress(listed.read_bytes()) + b"\n"))
    with pytest.raises(UsageError, match=r"is not what repodata/repomd\.xml says"):
        resolve(f"rpm:{packages}")


def test_what_a_list_unpacks_to_is_bounded(packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository, "_MOST_TEXT_BYTES", 100)
    with pytest.raises(UsageError, match="unpacks to more than"):
        resolve(f"rpm:{packages}")
