# SPDX-License-Identifier: GPL-2.0-or-later
"""Services and clients that fail: one boot of four, in recordings of a real web server.

What is held against the truth here is which boots count: a fault in a boot costs all of its
numbers, one under load those of its benchmark, and neither costs another boot's.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from lsmeter.core.model.arch import X86_64
from tests.faults.case import Case
from tests.faults.cases_guest import _restate
from tests.faults.field import CAPTURES, REPORT, Ended, Field
from tests.unit.kernels.synthetic import bzimage, elf

_RELEASE = "6.1.0-56-cloud-amd64"
_OPERATIONS = ("missing", "static")
_WEB = (
    *("run", "--suite", "web", "--setup", "selinux-enforcing", "--image", "./image"),
    *(word for name in _OPERATIONS for word in ("--benchmark", f"{name} concurrency=1")),
    *("--machine", "replay", "--run-dir", "run"),
)
_HURT = "selinux-enforcing/workload-0"
_IMAGE_BYTES = 1536 << 20  # of the image that was recorded with, which the kernel was told of
# Of a batch, as the recorded client says: it answered all that it was asked for.
_UNITS = int(re.findall(rb" said 0 units=(\d+)", (CAPTURES / _HURT / "results").read_bytes())[0])
_TOLD = f"{_UNITS} units were asked for, and the client says:"

# Before and after which lines a guest is made to end otherwise.
_MOUNTED = r"(?ms)^fact filesystem .*"
_STARTED = r"(?ms)^fact service\.mariadb\.processes .*"
_LOADED = r"(?ms)^said 0 .*?^end 0 .*?$"
_SAID = r"(?m)^said 0 .*$"

# A fault that costs the boot: what is replaced in the recording, by what, and what is told of it.
_BOOTS = {
    "a server that does not come up": (
        _STARTED,
        "error service not ready: curl: (7) Failed to connect to 10.9.0.1 port 80",
        "service not ready: curl: (7) Failed to connect",
    ),
    "an image without the server": (
        _STARTED,
        (
            "error service apache: /usr/bin/nsenter left with status 127: nsenter: failed to "
            "execute /usr/lib/lsmeter/service/apache: No such file or directory"
        ),
        "failed to execute /usr/lib/lsmeter/service/apache",
    ),
    "an image of another release": (
        r"(?m)^fact ask\.php .*$",
        "fact ask.php 200 7212 0123456789abcdef",
        "enforcement check php",
    ),
    "/data that is full": (
        _STARTED,
        (
            "error prepare 4: /usr/lib/lsmeter/place left with status 1: cp: error writing "
            "'/data/mysql/ibdata1': No space left on device"
        ),
        "No space left on device",
    ),
    "a kernel that makes no veth": (
        _STARTED,
        (
            "error prepare 1: /usr/lib/lsmeter/network left with status 2: RTNETLINK answers: "
            "Operation not supported"
        ),
        "RTNETLINK answers: Operation not supported",
    ),
    "a kernel that has no such file system": (
        _MOUNTED,
        "error mounting the RAM disk: No such device",
        "mounting the RAM disk",
    ),
    "a server in the wrong domain": (
        r"(?m)^fact service\.apache\.contexts .*$",
        "fact service.apache.contexts system_u:system_r:initrc_t:s0",
        "expected its processes in httpd_t",
    ),
    "some of a server in the wrong domain": (
        r"(?m)^fact service\.apache\.contexts .*$",
        (
            "fact service.apache.contexts system_u:system_r:httpd_t:s0,"
            "system_u:system_r:unconfined_t:s0"
        ),
        "expected its processes in httpd_t",
    ),
    "a server of which nothing is there": (
        r"(?m)^fact service\.apache\.processes .*$",
        "fact service.apache.processes 0",
        "no process is called 'apache2'",
    ),
    "a policy that denies nothing": (
        r"(?m)^fact ask\.secret .*$",
        "fact ask.secret read: secret",
        "enforcement check secret",
    ),
    "a check that was not asked": (r"(?m)^fact ask\.static .*\n", "", "the client was told"),
}

# A fault that costs one benchmark of the boot.
_LOADS = {
    "a server that dies": (
        _LOADED,
        (
            "end 0 status=failed n=0 failures=1 errno=0 detail=service apache has no process "
            "left: apr_socket_recv: Connection reset by peer (104)"
        ),
        "service apache has no process left",
    ),
    "a client that hangs": (
        _LOADED,
        "end 0 status=timeout n=0 failures=1 errno=0 detail=",
        "timeout",
    ),
    "a link that drops": (
        _LOADED,
        (
            "end 0 status=failed n=0 failures=1 errno=0 detail=apr_pollset_poll: The timeout "
            "specified has expired (70007)"
        ),
        "The timeout specified has expired",
    ),
    "a client that is not there": (
        _LOADED,
        (
            "end 0 status=failed n=0 failures=1 errno=0 detail=nsenter: failed to execute "
            "/usr/lib/lsmeter/client/http: No such file or directory"
        ),
        "failed to execute",
    ),
    "answers of the wrong status or length": (
        _SAID,
        f"said 0 units=0 failed={_UNITS} rate_per_s=258.22",
        f"{_TOLD} units=0 failed={_UNITS}",
    ),
    "fewer answers": (_SAID, f"said 0 units={_UNITS - 1} failed=0", _TOLD),
    "time-outs": (_SAID, f"said 0 units={_UNITS} failed=0 timeouts=2", "timeouts=2"),
    "a client that turns the terminal": (
        _SAID,
        f"said 0 \x1b[2J\u202eunits={_UNITS}",
        _TOLD,
    ),
}
_SHORT = (
    *("a server that does not come up", "a server in the wrong domain", "a server that dies"),
    *("answers of the wrong status or length", "time-outs"),
)


def _encoded(line: str) -> str:
    """Encode the text at the end of a line as the probe does."""
    heads = {"error": "error ", "fact": r"fact \S+ ", "said": r"said \d+ ", "end": ".* detail="}
    head = re.match(heads[line.partition(" ")[0]], line)[0]  # type: ignore[index]
    text = quote(line.removeprefix(head), safe="_.,:;/=+()-")
    return head + re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), text)


def _measured(field: Field, *kernel: str) -> Ended:
    image = field.home / "image"
    with image.open("wb") as file:
        file.truncate(_IMAGE_BYTES)
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", image], check=True)
    return field(*_WEB, "--kernel", *(kernel or ("./kernel",)))


def _boots(field: Field) -> dict[tuple[str, str], list[dict[str, Any]]]:
    document = json.loads(field(*REPORT).out)
    entries = document["benchmarks"]
    return {(entry["setup"], entry["benchmark"]): entry["boots"] for entry in entries}


@cache
def _sound() -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return what each boot gives without a fault."""
    with tempfile.TemporaryDirectory() as home:
        field = Field(Path(home))
        for name in ("tmp", "user", "cache"):
            (field.home / name).mkdir()
        (field.home / "kernel").write_bytes(bzimage(elf(), release=_RELEASE))
        ended = _measured(field)
        assert ended.code == 0, ended.text
        return _boots(field)


def _lost(pattern: str, new: str, benchmarks: tuple[str, ...], field: Field) -> Ended:
    """Change one boot, and see that these of its benchmarks are lost, and nothing else is."""
    _restate(pattern, _encoded(new) if new else "", field.own_captures() / _HURT)
    ended = _measured(field)
    found = _boots(field)
    for (setup, name), boots in _sound().items():
        hurt = setup == "selinux-enforcing" and name in benchmarks
        left = found[setup, name]
        assert len(boots) - len(left) == hurt, (setup, name, ended.text)
        assert all(boot in boots for boot in left), (setup, name, left)
    return ended


def _without_veth(field: Field) -> Ended:
    """Take a kernel that has been built without a veth: known before anything is booted."""
    boot = field.home / "tree" / "boot"
    boot.mkdir(parents=True)
    kernel = boot / f"vmlinuz-{_RELEASE}"
    kernel.write_bytes(bzimage(elf(), release=_RELEASE))
    having = ("SECURITY", "SECURITY_SELINUX", "NET_NS", *X86_64.disk_in_memory.disk_needs)
    config = "".join(f"CONFIG_{name}=y\n" for name in having) + "# CONFIG_VETH is not set\n"
    (boot / f"config-{_RELEASE}").write_text(config)
    return _measured(field, str(kernel))


def _case(name: str, inject: Callable[[Field], Ended], says: str, code: int = 1) -> Case:
    long = name.partition(": ")[2] not in _SHORT
    # What is counted here is held against the truth by _lost: these are not the main command's.
    more = {"sound": False, "recovers": False, "long": long}
    return Case("workload", name, inject, frozenset({code}), says, **more)


CASES = [
    *(
        _case(f"boot: {name}", partial(_lost, pattern, new, _OPERATIONS), says)
        for name, (pattern, new, says) in _BOOTS.items()
    ),
    *(
        _case(f"under load: {name}", partial(_lost, pattern, new, _OPERATIONS[:1]), says)
        for name, (pattern, new, says) in _LOADS.items()
    ),
    _case("kernel: built without a veth", _without_veth, "without CONFIG_VETH"),
]
