# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes to workers and comes back: no path, checked digests, nothing taken on trust."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import random
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter import __version__
from lsmeter.catalogue.setups import parse_setup
from lsmeter.cli.doctor import State, worker_findings
from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.core.limits import Limits
from lsmeter.core.model import Kernel, KernelModule
from lsmeter.core.model.arch import ARM64, X86_64, BootProtocol
from lsmeter.guest.capture import Capture, Ending
from lsmeter.machines import find_machine
from lsmeter.machines.dask import Dask, messages
from lsmeter.machines.dask.messages import Facts, GarbledError, Order, Reply
from lsmeter.machines.dask.pool import LostError, Member, Pool, why_unfit
from lsmeter.machines.dask.scheduler import check_address
from lsmeter.machines.dask.store import LacksError, Store
from lsmeter.machines.emulation import Emulation
from lsmeter.measure.experiment.plan import PlannedBoot
from tests.unit.model_builders import cell

CAPTURE = Capture(b"results\n", b"console\n", Ending.EXITED, 0, 1.5, "said", {"attribution": b"a"})


def planned() -> PlannedBoot:
    home = Path("/srv/somebody/secret")
    module = KernelModule("xfs", home / "xfs.ko", "b" * 64)
    kernel = Kernel(
        f"{home}/vmlinux", "6.1.0", "", f"file {home}", home / "vmlinux", "a" * 64,
        BootProtocol.PVH, modules=(module,), system_map=home / "System.map",
    )  # fmt: skip
    return PlannedBoot(cell(parse_setup("landlock"), of=kernel), 0, 7)


def order(run: str = "r", boot: PlannedBoot | None = None) -> Order:
    given = {"lsmeter-probe": "c" * 64}
    boot = boot or planned()
    bare = replace(boot, cell=messages.bare_cell(boot.cell, lambda _: "d" * 64))
    return messages.make_order(run, bare, boot.cell.hash, Limits(), given)


def test_an_order_has_no_path_and_every_digest() -> None:
    text = messages.write_text(order())
    assert "somebody" not in text and "secret" not in text
    assert set(messages.digests_of(messages.read_order(text))) == {c * 64 for c in "abcd"}


def test_an_order_is_the_same_whoever_gives_it() -> None:
    assert order("one").key == order("two").key
    assert order(boot=replace(planned(), seed=8)).key != order().key


def test_an_order_of_another_cell_is_refused() -> None:
    wrong = replace(order(), hash="0" * 16)
    with pytest.raises(GarbledError, match="another cell"):
        messages.read_order(messages.write_text(wrong))


def test_what_came_out_of_a_guest_comes_back_as_it_was() -> None:
    asked = order()
    assert messages.read_reply(messages.write_capture(asked.key, CAPTURE), asked) == CAPTURE


def test_a_reply_may_say_what_is_lacking_but_nothing_that_was_not_asked_for() -> None:
    asked = order()
    data = messages.write_reply(Reply(asked.key, lacks=("a" * 64, "/etc/shadow")))
    found = messages.read_reply(data, asked)
    assert isinstance(found, Reply) and found.lacks == ("a" * 64,)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:-1],
        lambda data: data[:40],
        lambda data: b"\xff" * len(data),
        lambda data: data[:0],
        lambda data: data.decode("latin-1"),
        lambda data: data.replace(b'"wall_s":1.5', b'"wall_s":-15'),
        lambda data: data.replace(b'["results",8]', b'["results",9]'),
        lambda data: data.replace(b"out.attribution", b"out.a/t.ibution"),
        lambda data: data.replace(b'"exited"', b'"exitee"'),
    ],
)
def test_garbage_is_no_reply(change: object) -> None:
    asked = order()
    assert callable(change)
    with pytest.raises(GarbledError):
        messages.read_reply(change(messages.write_capture(asked.key, CAPTURE)), asked)


def test_no_noise_is_taken_for_a_boot() -> None:
    asked, draw = order(), random.Random(1)
    whole = messages.write_capture(asked.key, CAPTURE)
    for _ in range(500):
        data = bytearray(whole)
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        try:
            found = messages.read_reply(bytes(data), asked)
        except GarbledError:
            continue
        assert isinstance(found, Capture | Reply)


def test_a_reply_to_another_order_is_refused() -> None:
    other = order(boot=replace(planned(), seed=8))
    with pytest.raises(GarbledError, match="another boot"):
        messages.read_reply(messages.write_capture(other.key, CAPTURE), order())


def test_more_than_a_guest_may_say_is_refused() -> None:
    asked = replace(order(), limits=Limits(results_bytes=4))
    with pytest.raises(GarbledError, match="too large"):
        messages.read_reply(messages.write_capture(asked.key, CAPTURE), asked)


def test_a_worker_of_other_versions_is_refused_by_what_differs() -> None:
    facts = Facts("w", 2, (("qemu", "9.2"), ("lsmeter", "0.1.0")))
    assert why_unfit(facts, {"qemu": "9.2", "lsmeter": "0.1.0"}) == ""
    assert "qemu 9.2, not 7.2" in why_unfit(facts, {"qemu": "7.2", "lsmeter": "0.1.0"})
    assert "tally none, not abc" in why_unfit(facts, {"qemu": "9.2", "tally": "abc"})
    assert why_unfit(replace(facts, why="it has no QEMU"), {}) == "it has no QEMU"


RUN = "0" * 16


def put(store: Store, data: bytes, piece: int = 3) -> str:
    sha256 = hashlib.sha256(data).hexdigest()
    for offset in range(0, len(data), piece):
        store.put(RUN, sha256, offset, len(data), data[offset : offset + piece])
    return sha256


def test_a_file_arrives_in_pieces_and_is_checked_before_each_use(tmp_path: Path) -> None:
    store = Store(tmp_path / "sent", 100)
    sha256 = put(store, b"a kernel")
    with store.held([sha256]) as files:
        assert files[sha256].read_bytes() == b"a kernel"
    files[sha256].write_bytes(b"a kernal")
    with pytest.raises(LacksError) as lacks, store.held([sha256]):
        pass
    assert lacks.value.digests == (sha256,) and not files[sha256].exists()


@pytest.mark.parametrize(
    ("sha256", "offset", "total", "said"),
    [
        ("0" * 64, 0, 3, "damaged"),
        ("0" * 64, 3, 6, "out of order"),
        ("0" * 64, 0, 2, "no file"),
        ("../../etc/passwd", 0, 3, "no file"),
        ("0" * 64, 0, 1000, "larger than the store"),
    ],
)
def test_what_is_no_piece_is_refused(
    tmp_path: Path, sha256: str, offset: int, total: int, said: str
) -> None:
    with pytest.raises(InfrastructureError, match=said):
        Store(tmp_path / "sent", 100).put(RUN, sha256, offset, total, b"abc")


def test_two_runs_send_the_same_file_at_the_same_time(tmp_path: Path) -> None:
    store, data = Store(tmp_path / "sent", 100), b"a kernel"
    sha256 = hashlib.sha256(data).hexdigest()
    for offset in (0, 4):
        for run in ("a" * 16, "b" * 16):
            store.put(run, sha256, offset, len(data), data[offset : offset + 4])
    with store.held([sha256]) as files:
        assert files[sha256].read_bytes() == data
    with pytest.raises(InfrastructureError, match="no file"):
        store.put("../x", sha256, 0, len(data), data)


def test_what_was_used_least_recently_makes_room_but_never_what_is_held(tmp_path: Path) -> None:
    store = Store(tmp_path / "sent", 20)
    first, second = put(store, b"0123456789"), put(store, b"abcdefghij")
    for name, used_s in ((first, 1000), (second, 2000)):
        path = store.home / f"{name}.used"
        path.touch()
        os.utime(path, (used_s, used_s))
    with store.held([second]):
        third = put(store, b"ABCDEFGHIJ")
        assert sorted(p.name for p in store.home.iterdir() if len(p.name) == 64) == sorted(
            [second, third]
        )
        with store.held([third]), pytest.raises(InfrastructureError, match="in use"):
            put(store, b"x" * 15)


def test_a_file_that_another_process_removes_is_lacking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "sent", 20)
    sha256 = put(store, b"a kernel")
    (tmp_path / "sent" / ("0" * 64)).symlink_to(
        "nowhere"
    )  # as one that is gone when it is looked at
    other = put(store, b"another")
    monkeypatch.setattr(fcntl, "flock", lambda *_: (store.home / sha256).unlink(missing_ok=True))
    with pytest.raises(LacksError) as lacks, store.held([sha256, other]):
        pass
    assert lacks.value.digests == (sha256,)


def test_addresses_need_tls_but_on_this_machine() -> None:
    for place in ("tls://far:8786", "tcp://127.0.0.1:8786", "tcp://[::1]:1", "local", "local:4"):
        assert check_address(place, insecure=False) == place
    with pytest.raises(UsageError, match="without TLS") as wrong:
        check_address("tcp://far:8786", insecure=False)
    assert "--insecure" in wrong.value.hint
    assert check_address("tcp://far:8786", insecure=True)
    for place in ("far", "http://far:1", "tcp://far", "local:0", "tcp://a b:1", "tls://-x:1", ""):
        with pytest.raises(UsageError, match="no address"):
            check_address(place, insecure=True)


def test_insecure_is_for_schedulers_only() -> None:
    with pytest.raises(UsageError, match="--insecure"):
        find_machine("emulation", insecure=True)


def test_without_dask_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(UsageError, match="Dask is not installed") as wrong:
        check_address("local", insecure=False)
    assert "lsmeter[dask]" in wrong.value.hint


def without_qemu(*_: object, **_plugins: object) -> dict[str, str]:
    raise InfrastructureError("no QEMU")


def test_doctor_says_of_each_worker_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    own = (("lsmeter", __version__), ("qemu", "9.2"), ("start", "s"))
    other = (("lsmeter", __version__), ("qemu", "7.2"), ("start", "s"))
    found = {
        "tcp://127.0.0.1:1": Facts("one", 2, own),
        "tcp://127.0.0.1:2": Facts("two", 2, own),
        "tcp://127.0.0.1:3": Facts("three", 2, other),
        "tcp://127.0.0.1:4": Facts("tcp://127.0.0.1:4", 0, (), "lsmeter does not run there"),
    }
    monkeypatch.setattr(Dask, "workers", lambda *_: found)
    # This machine has no QEMU of its own.
    monkeypatch.setattr(Emulation, "identity_of", without_qemu)
    said = [*worker_findings("dask:local", insecure=False)]
    assert [item.state for item in said] == [State.OK, State.OK, State.MISSING, State.MISSING]
    assert said[0].name == "one (127.0.0.1:1)"
    assert "qemu 7.2, not 9.2" in said[2].text
    assert "lsmeter does not run there" in said[3].text


def test_versions_of_another_architecture_have_its_name() -> None:
    said = {"qemu": "9.2", "probe": "p", "start": "s"}
    assert messages.name_versions([X86_64, ARM64], lambda _: said) == {
        "lsmeter": __version__,
        "qemu": "9.2",
        "start": "s",
        "arm64 qemu": "9.2",
        "arm64 start": "s",
    }


def test_doctor_asks_workers_only_where_there_are_some() -> None:
    with pytest.raises(UsageError, match="asks the workers"):
        next(worker_findings("kvm", insecure=False))


def pool_of(*guests: int) -> Pool:
    """Return a pool of workers with so many places, which has no way to them."""
    pool = Pool("local", {}, ((), ()), {}, lambda _: None)
    for number, places in enumerate(guests):
        gone: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        member = Member(Facts(f"w{number}", places, ()), f"tcp://127.0.0.1:{number}", gone)
        pool.members[member.address] = member
    return pool


def test_each_place_is_given_once_and_the_least_busy_worker_is_first() -> None:
    async def run() -> None:
        pool = pool_of(1, 3)
        taken = [asyncio.create_task(pool.take()) for _ in range(6)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        given = [task.result() for task in taken if task.done()]
        assert [member.facts.name for member in given] == ["w0", "w1", "w1", "w1"]
        taken[4].cancel()
        pool.give_back(given[0])
        assert (await taken[5]).facts.name == "w0"
        assert [item.taken for item in pool.members.values()] == [1, 3]

    asyncio.run(run())


def test_who_is_cancelled_with_a_place_in_hand_gives_it_back() -> None:
    async def run() -> None:
        pool = pool_of(1)
        first = await pool.take()
        waiting = asyncio.create_task(pool.take())
        await asyncio.sleep(0)
        pool.give_back(first)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert waiting.cancelled() and first.taken == 0

    asyncio.run(run())


def test_a_boot_that_a_worker_failed_waits_for_another() -> None:
    async def run() -> None:
        pool = pool_of(1, 1)
        first, second = pool.members
        await pool.take({first})
        later = asyncio.create_task(pool.take({first}))
        assert (await pool.take()).address == first
        pool.give_back(pool.members[first])
        await asyncio.sleep(0)
        assert not later.done()
        pool.give_back(pool.members[second])
        assert (await later).address == second
        with pytest.raises(LostError, match="no other worker"):
            await pool.take({first, second})

    asyncio.run(run())


def test_leaving_a_pool_ends_what_forgets_that_it_was_cancelled() -> None:
    async def forgetful() -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)
        await asyncio.sleep(3600)

    async def run() -> None:
        pool = pool_of(1)
        pool._looking = task = asyncio.create_task(forgetful())
        await asyncio.sleep(0)
        leaving = asyncio.create_task(pool.__aexit__())
        done, _ = await asyncio.wait([leaving], timeout=60)
        assert done and task.cancelled()

    asyncio.run(run())
