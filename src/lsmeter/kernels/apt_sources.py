# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads this machine's apt sources and writes those of a private apt state; pure text.

Both formats of sources.list(5) are read, deb822 and one line per source. What decides whether
an archive is trusted (Signed-By and its like) is carried over, the rest is set anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

# The names of suites that Debian's archive has: stable names, and code names since Debian 12.
_ALIASES = ("oldstable", "stable", "testing", "unstable")
_CODENAMES = ("bookworm", "trixie", "forky", "duke", "sid")
_SUITE = re.compile(
    rf"^(?P<base>{'|'.join((*_ALIASES, *_CODENAMES))})"
    r"(?P<part>-security|-updates|-backports|-proposed-updates)?$"
)
_URI = re.compile(r"^(https?|file|copy|ftp|tor\+https?|mirror(\+\w+)?|\w+\+https?):", re.IGNORECASE)
# Options that decide about trust and freshness, under their deb822 names, in lower case.
_CARRIED = frozenset(
    {
        *("signed-by", "trusted", "check-valid-until", "valid-until-min", "valid-until-max"),
        *("check-date", "date-max-future", "by-hash", "allow-insecure", "allow-weak"),
        "allow-downgrade-to-insecure",
    }
)
_ONE_LINE = re.compile(
    r"^(?P<type>deb|deb-src)\s+(?:\[(?P<options>[^\]]*)\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)"
    r"(?P<components>(?:\s+\S+)*)$"
)


@dataclass(frozen=True)
class AptSource:
    """Archives that apt reads: every URI with every suite and every component."""

    types: tuple[str, ...]  # deb, deb-src
    uris: tuple[str, ...]
    suites: tuple[str, ...]
    components: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()  # lower-case name, value; lines kept as they are


def parse_one_line(text: str) -> tuple[AptSource, ...]:
    """Read the one-line format; comments and lines that are no source are passed over."""
    found = []
    for raw in text.splitlines():
        match = _ONE_LINE.match(raw.partition("#")[0].strip())
        if match:
            words = re.findall(r"([\w-]+)\+?=(\S+)", match["options"] or "")
            found.append(
                AptSource(
                    types=(match["type"],),
                    uris=(match["uri"],),
                    suites=(match["suite"],),
                    components=tuple(match["components"].split()),
                    options=_carried((key, value.replace(",", " ")) for key, value in words),
                )
            )
    return tuple(found)


def parse_deb822(text: str) -> tuple[AptSource, ...]:
    """Read the deb822 format; disabled stanzas and those without an archive are passed over."""
    found = []
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for stanza in re.split(r"\n\s*\n", "\n".join(lines)):
        fields = _fields(stanza)
        enabled = fields.get("enabled", "yes").strip().lower()
        words = {key: tuple(fields.get(key, "").split()) for key in ("types", "uris", "suites")}
        if enabled not in ("no", "false", "0", "off", "without", "disable") and all(words.values()):
            found.append(
                AptSource(
                    **words,
                    components=tuple(fields.get("components", "").split()),
                    options=_carried(fields.items()),
                )
            )
    return tuple(found)


def _fields(stanza: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    key = ""
    for line in stanza.splitlines():
        if line[:1] in (" ", "\t"):
            if key:
                fields[key] += "\n" + line
        elif ":" in line:
            key, _, value = line.partition(":")
            key = key.strip().lower()
            fields[key] = value.strip()
    return fields


def _carried(options: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((key.lower(), value) for key, value in options if key.lower() in _CARRIED)


def render(sources: Iterable[AptSource]) -> str:
    """Write sources in the deb822 format."""
    stanzas = []
    for source in sources:
        lines = [
            f"Types: {' '.join(source.types)}",
            f"URIs: {' '.join(source.uris)}",
            f"Suites: {' '.join(source.suites)}",
        ]
        if source.components:
            lines.append(f"Components: {' '.join(source.components)}")
        lines += [f"{key.title()}: {value}" for key, value in source.options]
        stanzas.append("\n".join(lines) + "\n")
    return "\n".join(stanzas)


def debian_sources(machine: Iterable[AptSource]) -> tuple[AptSource, ...]:
    """Return those of a machine's sources that are Debian's own archive.

    Other archives use Debian's suite names too: where some source is signed by Debian's
    archive key, or by none of its own, only those count.
    """
    candidates = []
    for source in machine:
        suites = tuple(suite for suite in source.suites if _SUITE.match(suite))
        uris = tuple(uri for uri in source.uris if _URI.match(uri))
        if suites and uris and "main" in source.components:
            candidates.append(replace(source, suites=suites, uris=uris, components=("main",)))
    official = [source for source in candidates if _signed_by_debian(source)]
    return tuple(dict.fromkeys(official or candidates))


def _signed_by_debian(source: AptSource) -> bool:
    signed_by = dict(source.options).get("signed-by", "")
    return not signed_by or "debian-archive" in signed_by


def own_suites(debian: Iterable[AptSource], kind: str) -> tuple[AptSource, ...]:
    """Return the machine's own suites as sources of `kind` (deb, deb-src), each once."""
    return tuple(dict.fromkeys(replace(source, types=(kind,)) for source in debian))


def only(target: str, sources: Iterable[AptSource]) -> tuple[AptSource, ...]:
    """Limit sources to one kind of index (Packages, Sources), whatever else apt would fetch."""
    return tuple(
        replace(source, options=(*source.options, ("targets", target))) for source in sources
    )


def suite_on_mirror(
    debian: Iterable[AptSource], suites: Iterable[str], kind: str
) -> tuple[AptSource, ...]:
    """Return sources for other `suites`, on the mirrors that the machine uses.

    A security suite is taken from where the machine's own security suite is, and is left out
    when it has none; all others are where its main suite is.
    """
    found = []
    for suite in suites:
        security = suite.endswith("-security")
        for source in debian:
            if any(item.endswith("-security") for item in source.suites) == security:
                found.append(replace(source, types=(kind,), suites=(suite,)))
                break
    return tuple(found)
