# SPDX-License-Identifier: GPL-2.0-or-later
"""The probe runs workloads: what is started in which order, and what is said of it."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from lsmeter.core.model import BenchmarkStatus, Conditions, Kernel, Samples, Setup
from lsmeter.guest.initramfs import archive, base
from lsmeter.guest.probe import find_probe
from lsmeter.guest.protocol import MAX_MOMENTS
from lsmeter.guest.request import Request
from lsmeter.guest.session import Session, parse_session
from lsmeter.machines.description import Plugin, counted_guest, kernel_cmdline, qemu_command
from lsmeter.machines.plugin_sources import plugin_interface, source_dir
from lsmeter.questions.monitor.figures import batches_of, process_uses, series_of
from tests.conftest import DEADLINE_S
from tests.guest_programs import compiled
from tests.plugin.bare_guest import qemu_version

pytestmark = pytest.mark.guest

SOURCE = Path(__file__).with_name("workload_programs.c")
SETUP = Setup(name="none", title="none", lsms=("capability",))
NAME = "a (served) name"
Words = tuple[str, ...]
P = "/bin/p"


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return compiled(SOURCE, tmp_path_factory.mktemp("workload"))


@pytest.fixture
def session(debian_kernel: Kernel, program: bytes, tmp_path: Path) -> Any:
    def boot(
        clients: dict[str, Words],
        plugin: Plugin | None = None,
        account: str = "client",
        **more: Any,
    ) -> Session:
        asked = Request(
            **{
                "suite": "served",
                "benchmarks": tuple(clients),
                "samples": 2,
                "warmup": 1,
                "icount_shift": 4,
                "vary": 7,
                "benchmark_deadline_ms": 3000,
                "services": (("it", NAME, P, "serve"),),
                "ready": ((P, "ready"),),
                "clients": tuple((name, "30", account, *words) for name, words in clients.items()),
                **more,
            }
        )
        files = {"request": asked.to_bytes(), "bin/p": program}
        (tmp_path / "initrd").write_bytes(base(find_probe().path.read_bytes()) + archive(files))
        guest = replace(
            counted_guest(debian_kernel, SETUP, Conditions(), seed=1),
            cmdline=kernel_cmdline(SETUP, Conditions()),
            console=str(tmp_path / "console"),
            results=str(tmp_path / "results"),
            initrd=str(tmp_path / "initrd"),
            plugin=plugin,
        )
        subprocess.run(qemu_command(guest), check=True, timeout=DEADLINE_S)
        found = parse_session((tmp_path / "results").read_bytes(), asked)
        assert (found.garbage, found.contradiction, found.greeted) == ((), "", True)
        return found

    return boot


def ended(found: Session) -> dict[str, tuple[BenchmarkStatus, str]]:
    return {item.benchmark: (item.status, item.detail) for item in found.samples}


def test_a_workload(session: Any) -> None:
    found = session(
        {"batch size=1": (P, "client", "30"), "text": (P, "bytes")},
        prepare=((P, "note", "first"), (P, "note", "second")),
        asks=(
            ("log", P, "log"),
            ("left", P, "fail", "3"),
            ("killed", P, "die"),
            ("absent", "/bin/none"),
        ),
        settle_ms=500,
    )
    assert found.complete
    assert found.errors == ()
    facts = dict(found.facts)
    assert {key: facts[key] for key in facts if key.startswith(("service", "ask"))} == {
        "service.it.processes": "1",
        "service.it.contexts": "",
        "service.it.after": "1",
        "services.contexts": "",
        "services.contexts.after": "",
        "ask.log": "first.second.service.",
        "ask.left": "failed 3: it is fail",
        "ask.killed": "failed: /bin/p was killed by signal 9: it is die",
        "ask.absent": "failed 127: No such file or directory",
    }
    batch, text = found.samples
    # One more `client.` in each batch, of which the first is warm-up.
    at = len("first.second.service.client.")
    said = tuple(f"units=30 failed=0 log={at + n * len('client.')}" for n in (1, 2))
    assert batch.said == said
    settled = 500 * 1_000_000 // 16
    assert all(settled < value < 1.2 * settled for value in text.values)
    # A thousand bytes, of which one is shown as four characters.
    assert text.said == ("a?b\\xff" + "0" * 993,) * 2
    assert all(item.status is BenchmarkStatus.OK for item in found.samples)


def test_a_batch_is_timed_without_what_comes_after_it(session: Any) -> None:
    found = session(
        {"batch size=1": (P, "client", "30")}, timed=True, icount_shift=0, settle_ms=500
    )
    facts = dict(found.facts)
    (batch,) = found.samples
    assert (found.errors, batch.status) == ((), BenchmarkStatus.OK)
    assert facts["timing.operations.batch size=1"] == "30"
    seconds = [value / int(facts["timing.hz"]) for value in batch.values]
    assert all(0 < taken < 0.5 for taken in seconds)
    assert int(facts["boot.ns"]) > 10**8


@pytest.fixture(scope="session")
def marker_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("plugin") / "marker_log.so"
    interface = plugin_interface(qemu_version("qemu-system-x86_64"))
    words = ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden"]
    words += [f"-DLSMETER_PLUGIN_API={interface}", f"-I{source_dir()}", "-o", str(target)]
    sources = [str(SOURCE.with_name("marker_log.c")), str(source_dir() / "qemu_api.c")]
    subprocess.run([*words, *sources], check=True)
    return target


@pytest.mark.parametrize("account", ["service", "client"])
def test_programs_say_whose_work_they_do(
    session: Any, marker_log: Path, tmp_path: Path, account: str
) -> None:
    log = Plugin(str(marker_log), outputs=(("markers", "out"),), folder=str(tmp_path))
    found = session(
        {"one": (P, "note", "a"), "two": (P, "fail", "1")},
        plugin=log,
        account=account,
        vary=0,
        prepare=((P, "note", "b"),),
        asks=(("log", P, "log"),),
        warmup=0,
    )
    assert [item.status.value for item in found.samples] == ["ok", "failed"]
    executed = [int(line, 16) for line in (tmp_path / "markers").read_text().splitlines()]
    nibble, begin, end, service, client, driver = (
        *(0x4C530000, 0x4C510000, 0x4C520000),
        *(0x4C540001, 0x4C540002, 0x4C540003),
    )
    mine = client if account == "client" else service
    first = [nibble] * 4 + [begin, mine, end]
    failed = [nibble] * 3 + [nibble + 1, begin, mine, end]
    # What is done once has the numbers after those of the two benchmarks.
    prepared = [*[nibble] * 3, nibble + 2, begin, end]
    served = [*[nibble] * 3, nibble + 3, begin, service, end]
    # Neither `prepare` nor `ready` says anything: the driver, whose children they are, has.
    assert executed == [driver, *prepared, *served, client, *first, *first, *failed]


def test_each_benchmark_fails_by_itself(session: Any) -> None:
    found = session(
        {
            "fails": (P, "fail", "3"),
            "dies": (P, "die"),
            "absent": ("/bin/none",),
            "hangs": (P, "hang"),
            "floods": (P, "flood"),
            "works": (P, "client", "30"),
            "stops the service": (P, "stop-service"),
            "finds none": (P, "client", "30"),
        },
    )
    assert found.complete
    status = BenchmarkStatus
    ends = ended(found)
    # Its line may be cut off where it was killed.
    assert "again".startswith(ends["floods"][1])
    assert ends | {"floods": (ends["floods"][0], "it was cut off")} == {
        "fails": (status.FAILED, "it is fail"),
        "dies": (status.FAILED, "it is die"),
        "absent": (status.FAILED, "No such file or directory"),
        "hangs": (status.TIMEOUT, "it is hang"),
        "floods": (status.TIMEOUT, "it was cut off"),
        "works": (status.OK, ""),
        "stops the service": (
            status.FAILED,
            "service it has no process left: connect: Connection refused",
        ),
        "finds none": (
            status.FAILED,
            "service it has no process left: connect: Connection refused",
        ),
    }
    failed = [item for item in found.samples if item.benchmark != "works"]
    assert all((item.values, item.said) == ((), ()) for item in failed)
    assert dict(found.facts)["service.it.after"] == "0"


def test_a_service_that_dies_when_all_is_done_costs_the_number(session: Any) -> None:
    found = session({"last": (P, "stop-service")}, samples=1, warmup=0)
    assert found.samples == (
        Samples("last", BenchmarkStatus.FAILED, (), 1, "service it has no process left"),
    )


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"ready": ((P, "fail", "1"),)}, "service not ready: it is fail"),
        ({"ready": ((P, "hang"),)}, "service not ready: it is hang"),
        (
            {"prepare": ((P, "note", "a"), (P, "fail", "2"))},
            "prepare 2: /bin/p left with status 2: it is fail",
        ),
        (
            {"services": (("it", "p", P, "die"),)},
            "service it: /bin/p was killed by signal 9: it is die",
        ),
    ],
)
def test_what_cannot_start_is_told(session: Any, more: dict[str, Any], error: str) -> None:
    found = session({"never": (P, "client", "30")}, **more)
    assert not found.complete
    assert found.errors == (error,)
    assert [item.status for item in found.samples] == [BenchmarkStatus.CRASHED]


def test_two_boots_of_one_seed_are_one(session: Any) -> None:
    one, other = (session({"batch": (P, "client", "30")}) for _ in range(2))
    assert one == other


def test_a_monitored_workload_says_what_the_guest_does(session: Any) -> None:
    found = session({"text": (P, "bytes")}, settle_ms=500, monitor_ms=50)
    assert [item.status for item in found.samples] == [BenchmarkStatus.OK]
    assert dict.fromkeys(moment.batch for moment in found.moments) == {0: None, 1: None, 2: None}
    batches = batches_of(found.moments, 1)
    assert [(batch.number, batch.warmup) for batch in batches] == [
        (0, True),
        (1, False),
        (2, False),
    ]
    for number in range(3):
        mine = [moment for moment in found.moments if moment.batch == number]
        assert 10 <= len(mine) <= 14
        spans = [later.time_ns - sooner.time_ns for sooner, later in pairwise(mine[1:-1])]
        assert all(span == pytest.approx(50_000_000, rel=0.1) for span in spans)
    series = {item.name: item for item in series_of(found.moments)}
    # All that happens is the client, the moments, and the rest of the time nothing.
    assert fmean(series["cpu_idle_percent"].known) > 70
    assert 100 < fmean(series["memory_total_mib"].known) < 256
    assert fmean(series["context_switches_per_s"].known) > 10
    assert "a_(served)_name" in {process.name for process in process_uses(found.moments)}


def test_there_is_an_end_to_moments(session: Any) -> None:
    found = session(
        {"text": (P, "bytes")},
        settle_ms=5000,
        monitor_ms=1,
        samples=1,
        warmup=0,
        benchmark_deadline_ms=10_000,
    )
    assert [item.status for item in found.samples] == [BenchmarkStatus.OK]
    assert len(found.moments) == MAX_MOMENTS
    assert (found.moments[-1].when, found.moments[-1].lost > 0) == ("end", True)
