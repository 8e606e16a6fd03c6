# SPDX-License-Identifier: GPL-2.0-or-later
"""debian:X.Y from a small archive on disk, through the real apt and dpkg, without a network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.core.model import BootProtocol
from lsmeter.core.progress import SILENT
from lsmeter.questions.time.command import nearest
from lsmeter.sources.kernels import apt, package
from lsmeter.sources.kernels.resolve import Request, expand, listings, resolve
from lsmeter.sources.kernels.running import described
from tests.conftest import DEADLINE_S
from tests.unit.kernels.synthetic import bzimage, deb, elf, publish, write_tree

pytestmark = pytest.mark.skipif(not shutil.which("apt-get"), reason="apt is not installed")


@dataclass
class Archive:
    """An archive with Debian's layout, and the machine whose sources name it."""

    root: Path
    suites: dict[str, list[Path]] = field(default_factory=dict)

    def add_image(self, suite: str, release: str, version: str) -> Path:
        name = f"linux-image-{release}"
        tree = write_tree(self.root / "trees" / version, release)
        return self.add(suite, deb(tree, self.root / "pool", name, version))

    def add(self, suite: str, path: Path) -> Path:
        self.suites.setdefault(suite, []).append(path)
        publish(self.root, suite, self.suites[suite])
        return path


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Archive:
    etc = tmp_path / "etc"
    etc.mkdir()
    (etc / "debian.sources").write_text(
        f"Types: deb\nURIs: file:{tmp_path}/archive\nSuites: bookworm\nComponents: main\n"
        "Trusted: yes\n"
    )
    (etc / "apt.conf").write_text(
        f'Dir::Etc::sourcelist "/dev/null";\nDir::Etc::sourceparts "{etc}";\n'
        f'Dir::State::lists "{tmp_path}/no-lists";\n'
    )
    monkeypatch.setenv("APT_CONFIG", str(etc / "apt.conf"))
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path / "cache"))
    made = Archive(tmp_path / "archive")
    made.add_image("bookworm", "6.1.0-9-cloud-amd64", "6.1.9-1")
    return made


def ask_again(tmp_path: Path, spec: str) -> None:
    """Let a day and a little pass since the archive was last asked."""
    path = tmp_path / f"cache/kernels/{spec.replace(':', '-')}.latest.json"
    said = json.loads(path.read_text())
    path.write_text(json.dumps({**said, "asked_s": said["asked_s"] - 90000}))
    for stamp in tmp_path.glob("cache/apt/*/updated"):
        seconds = stamp.stat().st_mtime - 90000
        os.utime(stamp, (seconds, seconds))


def test_the_newest_release_of_a_series(archive: Archive) -> None:
    archive.add_image("bookworm", "6.1.0-10-cloud-amd64", "6.1.10-1")
    archive.add_image("bookworm", "6.10.1+deb12-cloud-amd64", "6.10.1-1")
    kernel = resolve("debian:6.1")
    assert (kernel.name, kernel.release) == ("debian:6.1", "6.1.0-10-cloud-amd64")
    assert kernel.version == "6.1.10-1"
    assert kernel.origin == "Debian package linux-image-6.1.0-10-cloud-amd64 6.1.10-1 from bookworm"
    assert kernel.boot_protocol is BootProtocol.PVH
    assert [module.name for module in kernel.modules] == ["brd", "libcrc32c", "xfs"]
    assert kernel.config["HZ"] == "250"


def test_debug_and_unsigned_packages_and_metapackages_are_passed_over(
    archive: Archive, tmp_path: Path
) -> None:
    for name, depends in (
        ("linux-image-6.1.0-99-cloud-amd64-unsigned", ""),
        ("linux-image-6.1-cloud-amd64", "linux-image-6.1.0-9-cloud-amd64 (= 6.1.9-1)"),
    ):
        root = tmp_path / name
        (root / "usr").mkdir(parents=True)
        archive.add("bookworm", deb(root, archive.root / "pool", name, "6.1.99-1", depends=depends))
    assert resolve("debian:6.1").version == "6.1.9-1"


@pytest.mark.parametrize("whole", [True, False])
def test_a_newer_layout_is_put_together_from_its_packages(
    archive: Archive, tmp_path: Path, *, whole: bool
) -> None:
    abi, version = "7.2.3+deb14-cloud-amd64", "7.2.3-1"
    pool = archive.root / "pool"
    home = f"usr/lib/modules/{abi}"
    files = {
        "linux-binary": {f"{home}/vmlinuz": bzimage(elf(), "zstd", release=abi)},
        "linux-base": {f"{home}/config": b"CONFIG_HZ=250\n"},
        "linux-modules": {},
        "linux-image": {},
    }
    depends = f"linux-base-{abi} (= {version}), linux-binary-{abi} (= {version}), linux-base"
    for kind, content in files.items():
        root = tmp_path / kind
        (root / "usr").mkdir(parents=True)
        for name, data in content.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(data)
        wanted = depends if kind == "linux-image" else ""
        package = deb(root, pool, f"{kind}-{abi}", version, depends=wanted)
        if whole or kind != "linux-base":  # dropped from the archive with its source
            archive.add("testing", package)
    kernel = resolve("debian:7.2")
    assert (kernel.release, kernel.version) == (abi, version)
    assert kernel.config == ({"HZ": "250"} if whole else {})
    lacking = "; without its configuration and modules, not in the archive"
    assert kernel.origin.endswith(f"from testing{'' if whole else lacking}")


def test_the_cache_needs_no_archive(archive: Archive) -> None:
    kernel = resolve("debian:6.1")
    shutil.rmtree(archive.root)
    assert resolve("debian:6.1") == kernel
    assert resolve("debian:6.1", Request(offline=True)) == kernel
    cached = {listing.name: listing.version for listing in listings() if listing.cached}
    assert cached == {"debian:6.1": "6.1.9-1", "debian:6.1.9-1": "6.1.9-1"}


def test_a_newer_release_is_found_once_a_day_or_on_demand(archive: Archive, tmp_path: Path) -> None:
    resolve("debian:6.1")
    archive.add_image("bookworm", "6.1.0-10-cloud-amd64", "6.1.10-1")
    assert resolve("debian:6.1").version == "6.1.9-1"
    assert resolve("debian:6.1", Request(refresh=True)).version == "6.1.10-1"
    archive.add_image("bookworm", "6.1.0-11-cloud-amd64", "6.1.11-1")
    ask_again(tmp_path, "debian:6.1")
    assert resolve("debian:6.1").version == "6.1.11-1"


def test_a_cached_kernel_is_used_when_a_newer_one_cannot_be_fetched(
    archive: Archive, tmp_path: Path
) -> None:
    kernel = resolve("debian:6.1")
    archive.add_image("bookworm", "6.1.0-10-cloud-amd64", "6.1.10-1").unlink()
    ask_again(tmp_path, "debian:6.1")
    again = resolve("debian:6.1")
    assert again.version == kernel.version
    assert again.image_sha256 == kernel.image_sha256
    assert again.origin.startswith(f"{kernel.origin}; update check failed (apt-get ")
    assert resolve("debian:6.1") == again, "and it is not tried again at once"


def test_a_file_that_the_archive_lists_and_has_no_longer(archive: Archive) -> None:
    archive.add_image("bookworm", "6.12.0-1-cloud-amd64", "6.12.1-1").unlink()
    with pytest.raises(InfrastructureError, match="apt-get download failed") as caught:
        resolve("debian:6.12")
    assert "lists it and has no such file" in caught.value.hint


def test_offline_with_a_cold_cache(archive: Archive) -> None:
    with pytest.raises(InfrastructureError, match=r"debian:6\.1 is not cached, and the network"):
        resolve("debian:6.1", Request(offline=True))


def test_no_network_with_a_cold_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Nothing listens on port 9 of this host, so apt fails as it does without a network.
    (tmp_path / "sources.list").write_text("deb http://127.0.0.1:9/debian bookworm main\n")
    (tmp_path / "apt.conf").write_text(
        f'Dir::Etc::sourcelist "{tmp_path}/sources.list";\nDir::Etc::sourceparts "/dev/null";\n'
        f'Dir::State::lists "{tmp_path}/no-lists";\nAcquire::http::Proxy "DIRECT";\n'
    )
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("APT_CONFIG", str(tmp_path / "apt.conf"))
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path / "cache"))
    with pytest.raises(InfrastructureError) as caught:
        resolve("debian:6.1")
    assert caught.value.title.startswith(
        "kernel debian:6.1 is not cached and cannot be fetched: no network (Could not connect to"
    )
    assert "\n" not in caught.value.title
    assert "check the network" in caught.value.hint
    assert not caught.value.log_tail, "one line says it all"


def test_a_package_that_is_not_what_the_index_says(archive: Archive, tmp_path: Path) -> None:
    package = archive.suites["bookworm"][0]
    package.write_bytes(package.read_bytes()[:-1] + b"?")
    with pytest.raises(InfrastructureError, match=r"debian:6\.1 is not cached and cannot be"):
        resolve("debian:6.1")
    left = [path.name for path in (tmp_path / "cache/kernels").glob("*")]
    assert left == []


def test_an_unknown_series_has_its_nearest(archive: Archive) -> None:
    with pytest.raises(UsageError, match=r"debian:6\.11 is not in Debian's archive; did you mean"):
        resolve("debian:6.11")


def test_a_calibration_takes_the_nearest_and_not_what_is_cached(
    archive: Archive, tmp_path: Path
) -> None:
    resolve("debian:6.1")
    running = described("6.12.44-fc", "#1", "")
    assert nearest(running) == ("debian:6.1", "the nearest series, of those in Debian's archive")
    archive.add_image("bookworm", "6.12.9-cloud-amd64", "6.12.9-1")
    archive.add_image("bookworm", "6.16.9-cloud-amd64", "6.16.9-1")
    ask_again(tmp_path, "debian:6.1")
    assert nearest(running) == ("debian:6.12", "the same series, of those in Debian's archive")
    shutil.rmtree(tmp_path / "archive")
    ask_again(tmp_path, "debian:6.1")
    (tmp_path / "etc/debian.sources").unlink()
    assert nearest(running) == ("debian:6.1", "the nearest series, of those in the cache")


BACKPORT = "6.1.9-1~bpo11+1"


@pytest.fixture
def twice(archive: Archive) -> Archive:
    """One release that two suites have built, another one, and a release candidate."""
    archive.add_image("oldoldstable", "6.1.9+deb11-cloud-amd64", BACKPORT)
    archive.add_image("bookworm", "6.1.0-10-cloud-amd64", "6.1.10-1")
    archive.add_image("experimental", "7.3-cloud-amd64", "7.3~rc7-1~exp1")
    return archive


def test_a_pattern_is_every_build_of_every_suite(twice: Archive) -> None:
    six = (f"debian:{BACKPORT}", "debian:6.1.9-1", "debian:6.1.10-1")
    assert expand(["debian:6.1.*"]) == six
    assert expand(["host", "debian:*", six[0]]) == ("host", *six, "debian:7.3~rc7-1~exp1")
    shutil.rmtree(twice.root)
    assert expand(["debian:6.1.*"], Request(offline=True)) == six, "by the lists that are here"
    with pytest.raises(
        UsageError, match=r"no kernel in Debian's archive is a debian:5\.\*"
    ) as error:
        expand(["debian:5.*"], Request())
    assert error.value.hint == "the archive has 6.1, 7.3"
    with pytest.raises(UsageError, match="only Debian's"):
        expand(["built:*"])
    assert expand(["./*/vmlinux"]) == ("./*/vmlinux",)


def test_a_release_built_twice_is_told_apart(twice: Archive, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"debian:6\.1\.9 was built 2 times") as error:
        resolve("debian:6.1.9")
    assert error.value.hint == f"name one build: debian:{BACKPORT}, debian:6.1.9-1"
    assert resolve(f"debian:{BACKPORT}").version == BACKPORT
    assert resolve("debian:6.1.10").version == "6.1.10-1"
    assert resolve("debian:7.3~rc7").version == resolve("debian:7.3").version == "7.3~rc7-1~exp1"
    with pytest.raises(UsageError, match=r"debian:6\.1\.11 is not in Debian's archive"):
        resolve("debian:6.1.11")


def test_a_cached_build_is_never_asked_for_again(twice: Archive, tmp_path: Path) -> None:
    kernel = resolve(f"debian:{BACKPORT}")
    shutil.rmtree(twice.root)
    shutil.rmtree(tmp_path / "cache/apt")
    assert resolve(f"debian:{BACKPORT}", Request(refresh=True)) == kernel
    assert expand(["debian:*"], Request(offline=True)) == (f"debian:{BACKPORT}",)
    assert resolve("debian:6.1.9-1~bpo11+1", Request(offline=True)) == kernel


@pytest.mark.parametrize("spec", ["debian", "debian:", "debian:6", "debian:6.1.5-", "debian:../x"])
def test_a_malformed_name(spec: str) -> None:
    with pytest.raises(UsageError, match="malformed kernel name") as caught:
        resolve(spec)
    assert "debian:6.1" in caught.value.hint


def test_a_machine_without_debian_in_its_sources(archive: Archive, tmp_path: Path) -> None:
    sources = tmp_path / "etc/debian.sources"
    sources.write_text(sources.read_text().replace("bookworm", "noble"))
    with pytest.raises(InfrastructureError, match="no Debian archive is in this machine's"):
        resolve("debian:6.1")


def test_no_apt_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LSMETER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InfrastructureError, match="apt is not installed"):
        resolve("debian:6.1")


def test_two_processes_at_once_fetch_it_once(archive: Archive, tmp_path: Path) -> None:
    program = (
        "from lsmeter.sources.kernels.resolve import Request, resolve\n"
        "class Shown:\n"
        "    def update(self, task, done, total, *, unit=''): pass\n"
        "    def finish(self, task): print(task)\n"
        "kernel = resolve('debian:6.1', Request(progress=Shown()))\n"
        "print(kernel.image_sha256)\n"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    outputs = [child.communicate(timeout=DEADLINE_S)[0].split("\n") for child in children]
    assert [child.returncode for child in children] == [0, 0]
    assert outputs[0][-2] == outputs[1][-2]
    fetches = [line for output in outputs for line in output if line.startswith("fetch ")]
    assert len(fetches) == 1


class Recorder:
    """Progress that keeps what it is told."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, float, float | None, str]] = []
        self.finished: list[str] = []

    def update(self, task: str, done: float, total: float | None, *, unit: str = "") -> None:
        self.seen.append((task, done, total, unit))

    def finish(self, task: str) -> None:
        self.finished.append(task)


def test_progress_is_shown_and_every_task_ends(archive: Archive) -> None:
    progress = Recorder()
    resolve("debian:6.1", Request(progress=progress))
    assert "unpack debian:6.1" in progress.finished
    assert "fetch linux-image-6.1.0-9-cloud-amd64" in progress.finished
    assert {task for task, *_ in progress.seen} <= set(progress.finished)


class TestApt:
    def test_any_package_can_be_fetched(self, archive: Archive, tmp_path: Path) -> None:
        (tmp_path / "tool/usr").mkdir(parents=True)
        archive.add("bookworm", deb(tmp_path / "tool", archive.root / "pool", "tool", "2:1-1"))
        state = apt.open_state(apt.OWN)
        assert state is not None
        assert state.update(SILENT)
        found = package.newest(package.packages(state, ["tool", "nonesuch"]))
        assert found is not None
        assert (found.name, found.version) == ("tool", "2:1-1")
        into = tmp_path / "into"
        into.mkdir()
        files = package.fetch(state, [found], into, SILENT)
        assert list(files.values()) == [found.sha256]
        assert all(path.is_file() for path in files)
        assert package.packages(state, ["nonesuch"]) == ()
        assert package.suite_of(state, found) == "bookworm"

    def test_versions_are_ordered_as_debian_does(self) -> None:
        versions = ["6.1.9-1", "6.1.10-1~bpo1", "6.1.10-1", "6.1.10~rc1-1"]
        found = [package.Package("x", version, "amd64", (), 1, "") for version in versions]
        best = package.newest(found)
        assert best is not None
        assert best.version == "6.1.10-1"
        assert package.newest([]) is None

    @pytest.mark.usefixtures("archive")
    def test_a_changed_mirror_makes_the_lists_old(self, tmp_path: Path) -> None:
        state = apt.open_state(apt.OWN)
        assert state is not None
        assert state.update(SILENT)
        assert state.age_s < float("inf")
        sources = tmp_path / "etc/debian.sources"
        sources.write_text(sources.read_text() + "Check-Date: no\n")
        assert apt.open_state(apt.OWN) == state
        assert state.age_s == float("inf")

    def test_alternatives_and_versions_of_dependencies(self) -> None:
        text = (
            "Package: a\nVersion: 1\nArchitecture: amd64\nSize: 3\nSHA256: aa\n"
            "Pre-Depends: pp (>= 2)\nDepends: bb (= 1-2), cc | dd, ee:any\n"
        )
        assert package.parse_packages(text)[0].depends == (
            ("pp", ""),
            ("bb", "1-2"),
            ("cc", ""),
            ("ee", ""),
        )
