# SPDX-License-Identifier: GPL-2.0-or-later
"""Sources of this machine's apt, and those of a private apt state made of them; pure text.

Both formats of sources.list(5) become stanzas of deb822. What decides whether an archive is
trusted (Signed-By and its like) is carried over, the rest is set anew. `apt-get indextargets`
cannot stand in for it: it does not tell Signed-By.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from debian.deb822 import Deb822

Source = Mapping[str, str]  # the fields of a stanza; Deb822 ignores the case of their names

# The names of suites that Debian's archive has: stable names, and code names since Debian 12.
_SUITE = re.compile(
    r"^(oldstable|stable|testing|unstable|bookworm|trixie|forky|duke|sid)"
    r"(-security|-updates|-backports|-proposed-updates)?$"
)
_URI = re.compile(r"^(https?|file|copy|ftp|tor\+https?|mirror(\+\w+)?|\w+\+https?):", re.IGNORECASE)
# Options that decide about trust and freshness.
_CARRIED = (
    *("Signed-By", "Trusted", "Check-Valid-Until", "Valid-Until-Min", "Valid-Until-Max"),
    *("Check-Date", "Date-Max-Future", "By-Hash", "Allow-Insecure", "Allow-Weak"),
    "Allow-Downgrade-To-Insecure",
)
_OFF = ("no", "false", "0", "off", "without", "disable")
_ONE_LINE = re.compile(
    r"^(?P<type>deb|deb-src)\s+(?:\[(?P<options>[^\]]*)\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)"
    r"(?P<components>(?:\s+\S+)*)$"
)


def parse_one_line(text: str) -> tuple[Source, ...]:
    """Read the one-line format; comments and lines that are no source are passed over."""
    found: list[Source] = []
    for raw in text.splitlines():
        match = _ONE_LINE.match(raw.partition("#")[0].strip())
        if match:
            options = re.findall(r"([\w-]+)\+?=(\S+)", match["options"] or "")
            fields = {key: value.replace(",", " ") for key, value in options}
            fields |= {"Types": match["type"], "URIs": match["uri"], "Suites": match["suite"]}
            found.append(Deb822({**fields, "Components": match["components"].strip()}))
    return tuple(found)


def parse_deb822(text: str) -> tuple[Source, ...]:
    """Read the deb822 format; disabled stanzas are passed over."""
    # Lines: what is one string it takes for the name of a file, if there is such a file.
    stanzas = Deb822.iter_paragraphs(text.splitlines(), use_apt_pkg=False)
    return tuple(stanza for stanza in stanzas if stanza.get("Enabled", "").lower() not in _OFF)


def render(sources: Iterable[Source]) -> str:
    """Write sources in the deb822 format."""
    return "\n".join(Deb822(source).dump() for source in sources)


def debian_sources(machine: Iterable[Source]) -> tuple[Source, ...]:
    """Return those of a machine's sources that are Debian's own archive: its part main.

    Other archives use Debian's suite names too: where some source is signed by Debian's
    archive key, or by none of its own, only those count.
    """
    found: list[Source] = []
    for source in machine:
        suites = " ".join(word for word in source.get("Suites", "").split() if _SUITE.match(word))
        uris = " ".join(word for word in source.get("URIs", "").split() if _URI.match(word))
        if suites and uris and "main" in source.get("Components", "").split():
            fields = {"URIs": uris, "Suites": suites, "Components": "main"}
            fields |= {name: source[name] for name in _CARRIED if name in source}
            if fields not in found:  # deb and deb-src of the same
                found.append(fields)
    official = [source for source in found if _signed_by_debian(source)]
    return tuple(official or found)


def _signed_by_debian(source: Source) -> bool:
    signed_by = source.get("Signed-By", "")
    return not signed_by or "debian-archive" in signed_by


def packages_of(
    debian: Iterable[Source], suites: Iterable[str] = (), **fields: str
) -> tuple[Source, ...]:
    """Return sources of binary packages on the mirrors that the machine uses.

    suites: instead of the machine's own. A security suite is taken from where the machine's own
    security suite is, and is left out when it has none; all others are where its main suite is.
    fields: added to each, such as Targets.
    """
    debian = tuple(debian)
    wanted: list[Source] = [] if suites else list(debian)
    for suite in suites:
        security = suite.endswith("-security")
        here = (s for s in debian if ("-security" in f"{s['Suites']} ") == security)
        wanted += [{**source, "Suites": suite} for source in here][:1]
    return tuple({"Types": "deb", **source, **fields} for source in wanted)
