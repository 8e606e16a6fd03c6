# SPDX-License-Identifier: GPL-2.0-or-later
"""Sources of apt: both formats, what is carried over, and which are Debian's."""

from __future__ import annotations

import string

from hypothesis import given
from hypothesis import strategies as st

from lsmeter.kernels.apt_sources import (
    AptSource,
    debian_sources,
    own_suites,
    parse_deb822,
    parse_one_line,
    render,
    suite_on_mirror,
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


def test_deb822_is_read() -> None:
    first, security, vendor = parse_deb822(DEB822)
    assert first == AptSource(
        ("deb", "deb-src"),
        (MIRROR,),
        ("bookworm", "bookworm-updates"),
        ("main", "contrib"),
        (("signed-by", KEYRING),),
    )
    assert security.options == (("signed-by", KEYRING), ("check-valid-until", "no"))
    assert "abcdef" in dict(vendor.options)["signed-by"]


def test_one_line_is_read() -> None:
    binary, source, *rest = parse_one_line(ONE_LINE)
    assert binary == AptSource(
        ("deb",),
        (f"{MIRROR}/",),
        ("sid",),
        ("main",),
        (("signed-by", "/k.gpg"), ("check-date", "no")),
    )
    assert source.types == ("deb-src",)
    assert source.components == ("main", "contrib")
    assert [item.suites for item in rest] == [("bookworm",), ("./",)]


def test_only_debians_own_archive_counts() -> None:
    found = debian_sources(parse_deb822(DEB822))
    assert [source.uris[0] for source in found] == [MIRROR, f"{MIRROR}-security"]
    assert {source.components for source in found} == {("main",)}


def test_ubuntu_cdroms_and_flat_archives_are_not_debian() -> None:
    ubuntu = parse_one_line("deb http://archive.example.org/ubuntu noble main universe")
    assert debian_sources(ubuntu) == ()
    assert [s.suites for s in debian_sources(parse_one_line(ONE_LINE))] == [("sid",)]


def test_a_mirror_with_its_own_key_counts_where_there_is_no_other() -> None:
    text = "deb [signed-by=/our.gpg] https://inside.example.org/d trixie main"
    assert len(debian_sources(parse_one_line(text))) == 1


def test_other_suites_come_from_the_same_mirrors() -> None:
    debian = debian_sources(parse_deb822(DEB822))
    stable, security = suite_on_mirror(debian, ("stable", "stable-security"), "deb")
    assert (stable.uris, stable.suites) == ((MIRROR,), ("stable",))
    assert security.uris == (f"{MIRROR}-security",)
    assert dict(security.options)["signed-by"] == KEYRING
    assert stable.types == ("deb",)
    assert suite_on_mirror(debian[:1], ("stable-security",), "deb") == ()


def test_own_suites_are_of_one_kind_and_once() -> None:
    line = "deb http://m.example.org/debian sid main\n"
    machine = parse_one_line(line + line.replace("deb ", "deb-src "))
    assert len(own_suites(debian_sources(machine), "deb-src")) == 1


WORD = st.text(string.ascii_lowercase + string.digits + "-./:", min_size=1).filter(
    lambda word: word[0] not in "#-"
)
WORDS = st.lists(WORD, min_size=1, max_size=3).map(tuple)
SOURCE = st.builds(
    AptSource,
    types=st.sampled_from([("deb",), ("deb-src",), ("deb", "deb-src")]),
    uris=WORDS,
    suites=WORDS,
    components=WORDS,
    options=st.sampled_from([(), (("signed-by", "/a.gpg"), ("trusted", "yes"))]),
)


@given(st.lists(SOURCE, max_size=4).map(tuple))
def test_what_is_written_is_read_back(sources: tuple[AptSource, ...]) -> None:
    assert parse_deb822(render(sources)) == sources


@given(st.text())
def test_any_text_is_read_without_an_exception(text: str) -> None:
    parse_deb822(text)
    parse_one_line(text)
