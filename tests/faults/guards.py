# SPDX-License-Identifier: GPL-2.0-or-later
"""The guards that `mutate` takes away: where each is, and which cases are to see that."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Guard:
    """A guard in `file`: `new` in the place of `old` takes it away; cases is a pattern of ids."""

    name: str
    file: str
    old: str
    new: str
    cases: str


def _off(name: str, file: str, condition: str, cases: str, never: str = "False") -> Guard:
    """Take away what stands behind `if`."""
    return Guard(name, file, f"if {condition}:", f"if {never}:", cases)


_SESSION, _WINDOWS, _CONCLUDE = "guest/session.py", "guest/windows.py", "guest/conclude.py"
_PROTOCOL, _DOCUMENTS = "guest/protocol.py", "measure/results/documents.py"
_TOML, _INPUTS, _LOAD = "core/toml_file.py", "core/inputs.py", "measure/tasks/workload.py"
_SAYS = "guest: contradicts: "

GUARDS = (
    _off(
        "digest of a document",
        _DOCUMENTS,
        "found.hexdigest().encode() != seal[3]",
        r"stored: manifest.json: bit [0-2]",
    ),
    _off(
        "digest of a file",
        _DOCUMENTS,
        "digest and digest_of(data) != digest",
        r"stored: (samples.parquet|results.zst|console.log) of run: bit [01]",
    ),
    _off(
        "a document's format",
        _DOCUMENTS,
        'not isinstance(document, dict) or document.get("format") != name',
        r"directory: report with a manifest (of another program|that is a list)",
    ),
    _off("a fact twice", _SESSION, "key in self._facts", _SAYS + "a second list of modules"),
    _off("number of facts", _SESSION, "len(self._facts) == MAX_FACTS", _SAYS + "a thousand facts"),
    _off(
        "benchmarks at the end",
        _SESSION,
        "self._running or benchmarks != self._begun",
        _SAYS + "more at the end",
    ),
    _off(
        "benchmarks that are missing",
        _SESSION,
        "self._begun < asked and not self._errors",
        _SAYS + "an end after one benchmark",
    ),
    _off(
        "order of benchmarks",
        _SESSION,
        "index != self._begun or said != asked",
        _SAYS + "(another benchmark|an index left out|a sweep)",
    ),
    _off(
        "number of readings",
        _SESSION,
        "len(running.values) + len(values) > self._asked.samples",
        _SAYS + "a million readings",
    ),
    _off("failures of what is ok", _SESSION, "failures or number", _SAYS + "ok with .*"),
    _off(
        "readings of what is ok",
        _SESSION,
        "count != self._asked.samples",
        _SAYS + "(one|no) reading",
    ),
    Guard(
        "counts that nobody asked for",
        _SESSION,
        "if not self._asked.count or (",
        "if False and (",
        _SAYS + "counts",
    ),
    _off(
        "states that nobody asked for",
        _SESSION,
        "name not in asked or (name, moment) in running.states",
        _SAYS + "a state",
    ),
    Guard(
        "windows that cannot come",
        _WINDOWS,
        'if not self._asked or self.whole:\n            raise self._unasked("a window',
        'if False:\n            raise self._unasked("a window',
        _SAYS + "a window after the whole cost",
    ),
    _off(
        "ticks of windows",
        _WINDOWS,
        "found.taken and seen and len(found.taken) != len(seen[-1].taken)",
        _SAYS + "a window with other ticks",
    ),
    Guard(
        "cycles of windows",
        _WINDOWS,
        'return "" if right else',
        'return "" if True else',
        _SAYS + "(a window of other cycles|windows in another order)",
    ),
    _off(
        "how a whole cost ends",
        _WINDOWS,
        "status is BenchmarkStatus.OK and (wrong := detail if number else alone)",
        _SAYS + "(a whole cost that failed and is ok|no windows|a window left out)",
    ),
    Guard(
        "a second whole cost",
        _WINDOWS,
        'if not self._asked or self.whole:\n            raise self._unasked("a whole',
        'if False:\n            raise self._unasked("a whole',
        _SAYS + "a second whole cost",
    ),
    Guard(
        "a whole cost that is missing",
        _WINDOWS,
        "if self._asked and lacking else",
        "if False else",
        _SAYS + "no whole cost",
    ),
    Guard(
        "facts of what was booted",
        _CONCLUDE,
        'if value and facts.get(fact, "")[:_FACT_CHARS] != value[:_FACT_CHARS]',
        "if False",
        _SAYS + "(another (release|file system|user|command line)|no release)",
    ),
    _off(
        "a flood of output", _CONCLUDE, "capture.ending is Ending.FLOODED", "guest: ends: a flood"
    ),
    _off("garbage", _CONCLUDE, "session.garbage", "guest: garbage: (a line|NUL)"),
    Guard(
        "damage to the kernel",
        _CONCLUDE,
        "kernel_damage(lines) or _outside(",
        "_outside(",
        "guest: console: .*",
    ),
    _off("status of QEMU", _CONCLUDE, "capture.exit_code", "guest: ends: (killed by .*|QEMU.*)"),
    _off(
        "a guest that was stopped",
        _CONCLUDE,
        "capture.ending is Ending.EXITED",
        "guest: ends: (over its deadline|silent)",
        "True",
    ),
    _off(
        "amount of garbage",
        _PROTOCOL,
        "len(self.garbage) >= MAX_GARBAGE",
        "guest: garbage: a flood of lines",
    ),
    _off("the last line", _PROTOCOL, "self._length", "guest: garbage: NUL"),
    _off(
        "units of a client",
        _LOAD,
        'sound and said.get("units") == units[samples.benchmark]',
        "workload: under load: fewer answers",
        "sound",
    ),
    Guard(
        "time-outs of a client",
        _LOAD,
        'said.get("failed") == said.get("timeouts", 0) == 0',
        'said.get("failed") == 0',
        "workload: under load: time-outs",
    ),
    _off(
        "domains of services",
        _LOAD,
        "wanted and found != {wanted}",
        "workload: boot: (some of )?a server in the wrong domain",
    ),
    _off(
        "processes of services",
        _LOAD,
        'facts.get(f"service.{service.name}.processes", "0") == "0"',
        "workload: boot: a server of which nothing is there",
    ),
    _off(
        "what clients are refused",
        _LOAD,
        "said != asked",
        "workload: boot: (a policy that denies nothing|a check that was not asked)",
    ),
    Guard(
        "text that is not UTF-8",
        _TOML,
        "except UnicodeDecodeError",
        "except ZeroDivisionError",
        "(setup|experiment) file: (UTF-16|Latin-1)",
    ),
    Guard(
        "what is no TOML",
        _TOML,
        "except tomllib.TOMLDecodeError",
        "except ZeroDivisionError",
        "(setup|experiment) file: NUL bytes",
    ),
    Guard(
        "depth of TOML",
        _TOML,
        "except (ValueError, RecursionError)",
        "except ValueError",
        "(setup|experiment) file: lists 50,000 deep",
    ),
    _off(
        "kind of an input",
        _INPUTS,
        "kind == stat.S_IFREG",
        "(setup|experiment) file: FIFO|profile: FIFO|study: FIFO|stored: manifest.json: a FIFO",
        "True",
    ),
    _off(
        "size of an input",
        _INPUTS,
        "len(data) > most_bytes",
        "(setup|experiment) file: 1 MiB and a byte",
    ),
    _off(
        "files beside a file",
        _INPUTS,
        'inside and ".." not in Path(name).parts',
        "setup file: a file whose path has a NUL",
        "True",
    ),
    _off(
        "a kernel that was changed",
        "core/storage.py",
        "known_sha256(path) != sha256 and sha256_of(path) != sha256",
        "cache: vmlinux (first |last |a )bit flipped",
    ),
    _off(
        "a directory of somebody",
        "measure/results/directory.py",
        "others",
        "directory: somebody's .*",
    ),
    _off(
        "a directory without a manifest",
        "measure/results/directory.py",
        "not (path / MANIFEST_FILE).exists()",
        "directory: report with no(thing at all| manifest)",
    ),
    _off("names of hosts", "machines/remote.py", "found is None", "hosts: named .*"),
    _off(
        "a host's login shell",
        "machines/remote.py",
        "status != _LOST and not lines",
        "hosts: a shell that may not be used",
    ),
    _off(
        "a host that does not answer",
        "machines/remote.py",
        "marks.status is None",
        "hosts: (nobody answers|no key|a stranger)",
    ),
    Guard(
        "a document type",
        "questions/importing/programs/phoronix.py",
        'raise ForeignError(f"it declares',
        'ForeignError(f"it declares',
        "import: .*document type.*",
    ),
    _off(
        "a FIFO that nobody reads",
        "core/storage.py",
        "error.errno == errno.ENXIO",
        "output: a FIFO that nobody reads as json",
    ),
    _off(
        "the total of a profile",
        "questions/estimate/profiles/strace.py",
        'total["syscall"] != _TOTAL or total.get("calls") != str(calls)',
        "profile: strace edited",
    ),
    _off(
        "calls of a profile",
        "questions/estimate/profiles/strace.py",
        '"calls" not in columns',
        "profile: strace without calls",
    ),
    _off(
        "the end of a profile",
        "questions/estimate/profiles/perf.py",
        "not tables or (shares and covered < _LEAST_SHARE)",
        "profile: perf cut off between tables",
    ),
    Guard(
        "standard output that is full",
        "cli/console.py",
        "except OSError as error:",
        "except ZeroDivisionError as error:",
        "output: a report as json is full",
    ),
    _off(
        "the store of boots",
        "measure/run/execute.py",
        "stored",
        "killed: (SIGTERM|SIGKILL) after (one boot|two boots)",
    ),
)
