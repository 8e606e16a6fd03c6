# SPDX-License-Identifier: GPL-2.0-or-later
"""Sources of apt: both formats, what is carried over, and which are Debian's."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from lsmeter.sources.kernels.apt import (
    debian_sources,
    packages_of,
    parse_deb822,
    parse_one_line,
    render,
)

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
DEB822 = f"""\
# a comment
Types: deb deb-src
# another, inside
URIs: https://mirror.example.org/debian
Suites: bookworm
  bookworm-updates
Components: main contrib
Signed-By: {KEYRING}
X-Repolib-Name: ignored

Enabled: no
Types: deb
URIs: https://off.example.org/debian
Suites: bookworm
Components: main

Types: deb
URIs: https://mirror.example.org/debian-security
Suites: bookworm-security
Components: main
Signed-By: {KEYRING}
Check-Valid-Until: no
Architectures: amd64 i386

Types: deb
URIs: https://vendor.example.com/debian/12/prod
Suites: bookworm
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abcdef
 -----END PGP PUBLIC KEY BLOCK-----
"""
ONE_LINE = """\
# deb https://off.example.org/debian bookworm main
deb [ arch=amd64 signed-by=/k.gpg check-date=no ] https://mirror.example.org/debian/ sid main # x
deb-src https://mirror.example.org/debian sid main contrib
deb cdrom:[Debian]/ bookworm main
rpm nonsense
deb https://mirror.example.org/flat ./
"""
MIRROR = "https://mirror.example.org/debian"


def test_deb822_is_read_and_what_decides_about_trust_is_carried_over() -> None:
    first, security = debian_sources(parse_deb822(DEB822))
    assert first == {
        "URIs": MIRROR,
        "Suites": "bookworm bookworm-updates",
        "Components": "main",
        "Signed-By": KEYRING,
    }
    assert security["URIs"] == f"{MIRROR}-security"
    assert (security["Signed-By"], security["Check-Valid-Until"]) == (KEYRING, "no")
    vendor = parse_deb822(DEB822)[-1]
    assert "abcdef" in debian_sources([vendor])[0]["Signed-By"]


def test_one_line_is_read() -> None:
    binary, source, *rest = parse_one_line(ONE_LINE)
    assert (binary["Types"], binary["URIs"], binary["Suites"]) == ("deb", f"{MIRROR}/", "sid")
    assert (binary["signed-by"], binary["Check-Date"]) == ("/k.gpg", "no")
    assert (source["Types"], source["Components"]) == ("deb-src", "main contrib")
    assert [item["Suites"] for item in rest] == ["bookworm", "./"]


def test_ubuntu_cdroms_and_flat_archives_are_not_debian() -> None:
    ubuntu = parse_one_line("deb http://archive.example.org/ubuntu noble main universe")
    assert debian_sources(ubuntu) == ()
    assert [s["Suites"] for s in debian_sources(parse_one_line(ONE_LINE))] == ["sid"]


def test_a_mirror_with_its_own_key_counts_where_there_is_no_other() -> None:
    text = "deb [signed-by=/our.gpg] https://inside.example.org/d trixie main"
    assert len(debian_sources(parse_one_line(text))) == 1


def test_other_suites_come_from_the_same_mirrors() -> None:
    debian = debian_sources(parse_deb822(DEB822))
    stable, security = packages_of(debian, ("stable", "stable-security"), Targets="Packages")
    assert (stable["URIs"], stable["Suites"]) == (MIRROR, "stable")
    assert security["URIs"] == f"{MIRROR}-security"
    assert security["Signed-By"] == KEYRING
    assert (stable["Types"], stable["Targets"]) == ("deb", "Packages")
    assert packages_of(debian[:1], ("stable-security",)) == ()


def test_own_suites_are_of_one_kind_and_once() -> None:
    line = "deb http://m.example.org/debian sid main\n"
    machine = parse_one_line(line + line.replace("deb ", "deb-src "))
    assert len(packages_of(debian_sources(machine))) == 1


def test_what_is_written_is_read_back() -> None:
    debian = packages_of(debian_sources((*parse_deb822(DEB822), *parse_one_line(ONE_LINE))))
    assert [dict(source) for source in parse_deb822(render(debian))] == list(debian)
    vendor = debian_sources(parse_deb822(DEB822)[-1:])
    assert [dict(source) for source in parse_deb822(render(vendor))] == list(vendor)


def test_text_is_never_taken_for_the_name_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "sources").write_text(DEB822)
    assert parse_deb822(str(tmp_path / "sources")) == ()
    assert parse_deb822("a" * 5000) == ()


@given(st.text())
def test_any_text_is_read_without_an_exception(text: str) -> None:
    parse_deb822(text)
    parse_one_line(text)
