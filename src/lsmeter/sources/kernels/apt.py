# SPDX-License-Identifier: GPL-2.0-or-later
"""Private states of apt: an archive is asked without root, and nothing is installed.

apt itself downloads, verifies signatures and hashes, and knows this machine's proxies and keys;
only its directories and sources are replaced, with ones in the cache. Both formats of
sources.list(5) become stanzas of deb822. What decides whether an archive is trusted (Signed-By and
its like) is carried over, the rest is set anew. `apt-get indextargets` cannot stand in for it: it
does not tell Signed-By.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from debian.deb822 import Deb822

from lsmeter.core import process
from lsmeter.core.errors import InfrastructureError
from lsmeter.core.host import text_of
from lsmeter.core.model.arch import X86_64, Arch
from lsmeter.core.progress import Progress, shown
from lsmeter.core.storage import cache_dir, locked, make_dir, write_atomic, writing

# The names of suites that Debian's archive has: stable names, and code names since Debian 12.
_SUITE = re.compile(
    r"^(oldoldstable|oldstable|stable|testing|unstable|experimental"
    r"|bullseye|bookworm|trixie|forky|duke|sid)"
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
DAY_S = 86400.0
_SILENCE_S = 300.0  # apt gives up on a silent server after 30 s; this is for apt itself
OWN = "own"
# Looked through in this order: what the machine runs comes first, then what is most settled.
GROUPS: dict[str, tuple[str, ...]] = {
    OWN: (),
    "stable": ("stable", "stable-updates", "stable-security"),
    "testing": ("testing",),
    "unstable": ("unstable",),
    "stable-backports": ("stable-backports",),
    "oldstable": ("oldstable", "oldstable-updates", "oldstable-security"),
    "oldstable-backports": ("oldstable-backports",),
    # Long-term support has its security suite under the code name alone.
    "oldoldstable": ("oldoldstable", "oldoldstable-updates", "bullseye-security"),
    "experimental": ("experimental",),
}
_ENVIRONMENT = {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
# dlstatus:item:percent:text
_DOWNLOADED = re.compile(rb"dlstatus:\d+:(\d+\.?\d*):")
_NO_NETWORK = re.compile(
    r"(Temporary failure resolving|Could not resolve|Unable to connect to|Could not connect to"
    r"|Cannot initiate the connection to)[^\n]*"
)
# Of http and of file. A suite without support moves away, and mirrors keep its lists.
_GONE = re.compile(r"\b404\b|File not found|No such file")
_NETWORK_HINT = "check the network and the proxy, or name a kernel by its path"
_NO_DEBIAN_HINT = "use --kernel host, or the path of a kernel image or .deb"


Source = Mapping[str, str]  # the fields of a stanza; Deb822 ignores the case of their names


class NoNetworkError(InfrastructureError):
    """No server was reached; the title says all there is to say."""


@dataclass(frozen=True)
class AptState:
    """One private state: the sources of one group of suites."""

    root: Path
    group: str

    @property
    def has_lists(self) -> bool:
        """Say whether any list was fetched, however old."""
        return any(self.root.glob("lists/*_Packages*"))

    @property
    def age_s(self) -> float:
        """Return the seconds since the lists were last fetched, infinite for never."""
        try:
            return max(0.0, time.time() - (self.root / "updated").stat().st_mtime)
        except OSError:
            return float("inf")

    def ask(self, *words: str) -> str:
        """Return what apt-cache prints, "" when it finds no package."""
        command = ["apt-cache", "-c", str(self.root / "apt.conf"), *words]
        done = _run(command)
        if done.returncode and "No packages found" not in done.stderr:
            raise _apt_failed(command, done.stderr)
        return "" if done.returncode else done.stdout

    def update(self, progress: Progress, *, older_than_s: float = DAY_S) -> bool:
        """Fetch lists older than `older_than_s`; say whether they are fresh now."""
        with locked(f"apt-{self.root.name}"):
            if self.age_s <= older_than_s and self.has_lists:
                return True
            try:
                with shown(progress, f"package lists ({self.group})", 100, "%") as show:
                    log = self.download(["update"], self.root, show)
            except InfrastructureError as error:
                # A suite that the mirror does not have is no reason to do without the others.
                log = error.log_tail
                if not self.has_lists:
                    raise
                if isinstance(error, NoNetworkError):
                    return False
            if reached := not any(_unreached(line) for line in log):
                (self.root / "updated").touch()
            return reached

    def download(
        self, arguments: list[str], into: Path, show: Callable[[float], None]
    ) -> tuple[str, ...]:
        """Run apt-get on the network in `into`; return its messages. show is told per cent."""
        read, write = os.pipe()
        words = ["apt-get", "-q", "-c", str(self.root / "apt.conf"), *arguments]
        words += ["-o", f"APT::Status-Fd={write}"]
        env = process.environment(_ENVIRONMENT)
        with (
            os.fdopen(read, "rb", buffering=0),
            os.fdopen(write, "wb") as childs_end,
            tempfile.TemporaryFile("w+", errors="replace") as log,
        ):
            with process.started(words, cwd=into, env=env, to=log, pass_fds=[write]) as child:
                childs_end.close()
                for line in process.output_of(child, _SILENCE_S, read):
                    if found := _DOWNLOADED.match(line):
                        show(min(float(found[1]), 100.0))
            log.seek(0)
            text = log.read()
        if child.returncode:
            raise _apt_failed(words, text)
        return _messages(text)


def open_state(group: str, arch: Arch = X86_64) -> AptState | None:
    """Make the private state for a group of suites; None when the mirrors do not have it."""
    debian = debian_sources(machine_sources())
    if not debian:
        raise InfrastructureError(
            "no Debian archive is in this machine's apt sources, so debian: kernels cannot be "
            "fetched",
            hint=_NO_DEBIAN_HINT,
        )
    chosen = packages_of(debian, GROUPS[group], Targets="Packages")
    if not chosen:
        return None
    # The name is as it was when there was one architecture: what was fetched stays.
    root = make_dir(cache_dir() / "apt" / f"{group}-deb{arch.suffix}")
    state, sources = AptState(root, group), root / "debian.sources"
    with locked(f"apt-{root.name}"):
        for name in ("lists", "archives"):
            make_dir(root / name / "partial")
        text = render(chosen)
        if not sources.is_file() or sources.read_text() != text:
            write_atomic(sources, text.encode())
            (root / "updated").unlink(missing_ok=True)
        write_atomic(root / "apt.conf", _configuration(root.absolute(), arch).encode())
        if group == OWN and not state.has_lists:
            _seed(root / "lists", arch)
    return state


def _seed(into: Path, arch: Arch) -> None:
    """Start from the machine's own lists, so that an update fetches only what has changed."""
    lists = _apt_directories()["lists"]
    for path in (*lists.glob("*InRelease"), *lists.glob(f"*_binary-{arch.debian}_Packages*")):
        if path.is_file() and os.access(path, os.R_OK):
            copy = into / "partial" / path.name
            with writing(into):
                shutil.copy2(path, copy)
                copy.replace(into / path.name)


def _configuration(root: Path, arch: Arch) -> str:
    return f"""\
Dir::State "{root}";
Dir::State::lists "{root}/lists";
Dir::State::status "/dev/null";  // nothing is installed here
Dir::Cache "{root}";
Dir::Cache::archives "{root}/archives";
Dir::Cache::pkgcache "pkgcache.bin";
Dir::Cache::srcpkgcache "";  // 40 MB that save nothing here
Dir::Etc::sourcelist "{root}/debian.sources";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";  // a machine's pins must not hide a kernel
Dir::Etc::preferencesparts "/dev/null";
APT::Architecture "{arch.debian}";  // of the guest, whatever the host is
#clear APT::Architectures;
APT::Architectures {{ "{arch.debian}"; }};
APT::Sandbox::User "root";  // the cache is the user's; _apt could not write to it
APT::Update::Error-Mode "any";
// What the machine hooks into its own updates is not for this one.
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Acquire::Languages "none";
Acquire::PDiffs "false";
Acquire::Retries "2";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
"""


def machine_sources() -> tuple[Source, ...]:
    """Return the sources that this machine's own apt uses; those it cannot read are left out."""
    places = _apt_directories()
    found: list[Source] = []
    parse = {".list": parse_one_line, ".sources": parse_deb822}
    for path in (places["sourcelist"], *sorted(places["sourceparts"].glob("*"))):
        if path.suffix in parse:
            found += parse[path.suffix](text_of(path))
    return tuple(found)


def _apt_directories() -> dict[str, Path]:
    etc, nowhere = "Dir::Etc::source", Path("/nonexistent")
    command = ["apt-config", "shell", "sourcelist", f"{etc}list/f", "sourceparts", f"{etc}parts/d"]
    command += ["lists", "Dir::State::lists/d"]
    done = _run(command)
    if done.returncode:
        raise _apt_failed(command, done.stderr)
    pairs = (word.partition("=") for word in shlex.split(done.stdout))
    return dict.fromkeys(command[2::2], nowhere) | {name: Path(path) for name, _, path in pairs}


def states(
    progress: Progress, older_than_s: float = DAY_S, arch: Arch = X86_64, *, offline: bool = False
) -> Iterator[tuple[AptState, bool]]:
    """Give each group's state that the mirrors have, and whether its lists are fresh.

    offline: those whose lists are here already, however old.
    """
    for group in GROUPS:
        state = open_state(group, arch)
        if state is None:
            continue
        if offline:
            if state.has_lists:
                yield state, state.age_s <= older_than_s
            continue
        try:
            fresh = state.update(progress, older_than_s=older_than_s)
        except InfrastructureError as error:
            # A mirror need not have every suite; no network, which has no log, is another matter.
            if not error.log_tail or any(_unreached(line) for line in error.log_tail):
                raise
        else:
            yield state, fresh


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    if process.find(command[0]) is None:
        raise InfrastructureError(
            "apt is not installed, so debian: kernels cannot be fetched", hint=_NO_DEBIAN_HINT
        )
    return process.run(command, env=process.environment(_ENVIRONMENT), deadline_s=_SILENCE_S)


def _unreached(message: str) -> bool:
    """Say whether apt reached no server; what a mirror does not have is 404, or File not found."""
    absent = re.search(r"\b404\b|File not found", message)
    return message.startswith("Err:") and not absent


def _messages(text: str) -> tuple[str, ...]:
    """Take errors and warnings out of apt's output; "Err:" has its reason on the next line."""
    joined = re.sub(r"^(Err:\S+ .*)\n +", r"\1: ", text, flags=re.MULTILINE)
    lines = (line.strip() for line in joined.splitlines())
    return tuple(line for line in lines if line.startswith(("E:", "W:", "Err:")))


def no_network(log: str) -> str:
    """Return why apt reached no server, by what it printed; "" when that is not what failed."""
    found = _NO_NETWORK.search(log)
    return f"no network ({found[0].strip()[:100]})" if found else ""


def _apt_failed(command: list[str], log: str) -> InfrastructureError:
    if reason := no_network(log):
        return NoNetworkError(reason, hint=_NETWORK_HINT)
    messages = _messages(log) or tuple(log.strip().splitlines()[-10:])
    # An Err line has the reason; what apt concludes from it can mislead ("no Release file").
    reasons = [line for kind in ("Err:", "E:") for line in messages if line.startswith(kind)]
    reason = re.sub(r"^(Err:\S+|E:) +", "", reasons[0]) if reasons else "it gave no reason"
    verb = next((word for word in ("update", "download") if word in command), "")
    hint = _NETWORK_HINT
    if "No space left" in log:
        hint = "free some space, or move the cache with LSMETER_CACHE"
    elif "NO_PUBKEY" in log or "not signed" in log:
        hint = "install a newer debian-archive-keyring, or name a kernel by its path"
    elif verb == "download" and _GONE.search(reason):
        hint = "the archive lists it and has no such file: lsmeter kernel find names others"
    what = f"{command[0]} {verb}".strip()
    return InfrastructureError(f"{what} failed: {reason}", hint=hint, log_tail=messages)


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
    official = [s for s in found if not (key := s.get("Signed-By")) or "debian-archive" in key]
    return tuple(official or found)


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
