# SPDX-License-Identifier: GPL-2.0-or-later
"""The plugin that counts by account, against a guest whose system calls are known."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.core.limits import Limits
from lsmeter.core.model import Conditions, Kernel
from lsmeter.core.model.arch import ARCHES
from lsmeter.guest.initramfs import base
from lsmeter.machines.description import kernel_cmdline
from lsmeter.machines.emulation import make_plugin
from lsmeter.machines.plugin_sources import compiler_for
from lsmeter.measure.tasks.tally import PLUGIN, Account, Tally, parse_tally
from lsmeter.sources.kernels.resolve import resolve
from tests.guest_programs import compiled, said

pytestmark = pytest.mark.guest

SOURCE = Path(__file__).with_name("accounts.c")
NOTHING, TURN, SERVICE_TURN, SERVICE_STAT, CLIENT_STAT = range(5)
NETWORK, FORKS, LONG, OPENS, MISSING = range(5, 10)
TIMES = 3
MEMORY_MIB = Conditions().memory_mib
TURN_INSNS = 200_000
# The markers and the first reading of the clock are in the region, and not between its readings;
# what follows a page fault in its block is counted twice.
OUTSIDE_INSNS, OUTSIDE_SHARE = 200, 0.002


class Guest:
    """Each region's last time: earlier ones meet what is done once (page faults, caches)."""

    def __init__(self, kernel: Kernel, setup: str, place: Path) -> None:
        arch = ARCHES[kernel.arch]
        compiler = compiler_for(arch)
        (place / "initrd").write_bytes(base(compiled(SOURCE, place, compiler)))
        plugin = asyncio.run(make_plugin(PLUGIN, kernel, Limits(), memory_mib=MEMORY_MIB))
        plugin = replace(plugin, folder=str(place))
        words = kernel_cmdline(parse_setup(setup), Conditions(), arch)
        lines = said(kernel, words, place, plugin=plugin)
        self.clock = [int(insns) for _, _, insns in lines]
        self.all = parse_tally((place / PLUGIN).read_text())
        assert [tally.region for tally in self.all] == [int(region) for region, _, _ in lines]

    def __getitem__(self, region: int) -> Tally:
        return self.all[region * TIMES + TIMES - 1]


@pytest.fixture(scope="module", params=["x86_64", "arm64"])
def kernel(request: pytest.FixtureRequest, debian_kernel: Kernel) -> Kernel:
    return debian_kernel if request.param == "x86_64" else resolve("debian:6.1:arm64")


@pytest.fixture(scope="module")
def capability(kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> Guest:
    return Guest(kernel, "capability", tmp_path_factory.mktemp("capability"))


@pytest.fixture(scope="module")
def selinux(kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> Guest:
    return Guest(kernel, "selinux", tmp_path_factory.mktemp("selinux"))


def kernel_insns(tally: Tally, account: Account) -> int:
    return tally.total("kernel", of=[account])


def test_every_instruction_has_an_account(capability: Guest, selinux: Guest) -> None:
    for guest in (capability, selinux):
        for clock, tally in zip(guest.clock, guest.all, strict=True):
            if tally.region == OPENS:
                continue  # the guest sleeps there, and its clock jumps
            assert all(name != "lost" for _, _, name in tally.counts)
            every = tally.total("insns", of=Account) + tally.total("kernel", of=Account)
            assert clock <= every <= clock * (1 + OUTSIDE_SHARE) + OUTSIDE_INSNS


def test_user_space_has_the_account_of_who_runs(capability: Guest) -> None:
    for region, account in ((TURN, Account.DRIVER), (SERVICE_TURN, Account.SERVICE)):
        user = {of: capability[region].total("insns", of=[of]) for of in Account}
        assert TURN_INSNS <= user[account] < TURN_INSNS + 1000
        assert sum(user.values()) - user[account] < 1000


@pytest.mark.parametrize(
    ("region", "account", "other"),
    [
        (SERVICE_STAT, Account.SERVICE, Account.CLIENT),
        (CLIENT_STAT, Account.CLIENT, Account.SERVICE),
    ],
)
def test_calls_of_hooks_are_counted_by_account(
    capability: Guest, region: int, account: Account, other: Account
) -> None:
    tally = capability[region]
    assert tally.total("calls", "inode_getattr", of=[account]) == 100
    assert tally.total("calls", "inode_permission", of=[account]) == 200
    assert tally.total("calls", of=[other]) == 0
    assert tally.total("events", "syscalls", of=[account]) in {101, 102}


def test_system_calls_are_counted_by_name(capability: Guest) -> None:
    for region in (SERVICE_STAT, NETWORK, FORKS):
        tally = capability[region]
        calls = tally.syscalls()
        # One that began before the region ends in it, and one that begins in it may not end.
        assert abs(sum(calls.values()) - tally.total("events", "syscalls", of=["service"])) <= 1
    assert capability[SERVICE_STAT].syscalls()["newfstatat"] == 100
    assert capability[NETWORK].syscalls()["accept"] == 50
    assert capability[FORKS].syscalls()["clone"] == 20
    assert capability[CLIENT_STAT].syscalls().get("newfstatat", 0) == 0


def test_calls_in_vain_are_counted_by_name(capability: Guest) -> None:
    for region, failed in ((SERVICE_STAT, 0), (MISSING, 100)):
        tally = capability[region]
        assert tally.errors_known
        assert tally.syscalls()["newfstatat"] == 100
        assert tally.by_call("errors").get("newfstatat", 0) == failed


def test_instructions_are_those_of_the_call_that_runs(capability: Guest, selinux: Guest) -> None:
    found = [guest[SERVICE_STAT] for guest in (capability, selinux)]
    plain, more = (tally.by_call("within") for tally in found)
    for tally, within in zip(found, (plain, more), strict=True):
        stat = sum(insns for key, insns in within.items() if key.startswith("newfstatat/"))
        # All others are the two ends of the order, and what the tasks are switched by.
        assert 0.97 * kernel_insns(tally, Account.SERVICE) < stat
        assert sum(within.values()) <= kernel_insns(tally, Account.SERVICE)
    added = selinux[SERVICE_STAT].total("kernel", "selinux", of=[Account.SERVICE])
    assert 0.98 * added < more["newfstatat/selinux"] <= added
    assert "newfstatat/selinux" not in plain


def test_a_service_and_its_client_are_told_apart_on_a_link(selinux: Guest) -> None:
    tally = selinux[NETWORK]
    assert tally.total("calls", "socket_accept", of=[Account.SERVICE]) == 50
    assert tally.total("calls", "socket_connect", of=[Account.CLIENT]) == 50
    assert tally.total("calls", "socket_accept") == 50
    assert tally.total("calls", "socket_connect") == 0
    # Packets are received in softirqs, for either end.
    assert tally.total("calls", "sock_rcv_skb", of=[Account.INTERRUPTS]) >= 200
    assert not any(name == "user" and of == "interrupts" for of, _, name in tally.counts)


def test_new_tasks_have_the_account_of_their_maker(capability: Guest) -> None:
    tally = capability[FORKS]
    assert tally.total("calls", "task_alloc", of=[Account.SERVICE]) == 20
    user = tally.total("insns", of=[Account.SERVICE])
    assert 20 * TURN_INSNS <= user < 20 * (TURN_INSNS + 1000)


def test_what_comes_with_time_is_on_the_clock(capability: Guest) -> None:
    tally = capability[LONG]
    turns = tally.total("insns", of=[Account.SERVICE])
    assert 25 * TURN_INSNS <= turns < 26 * TURN_INSNS
    # A tick comes every 250,000 instructions, and takes a thousand or more.
    assert kernel_insns(tally, Account.CLOCK) > 20_000
    assert kernel_insns(tally, Account.INTERRUPTS) == 0
    brief = kernel_insns(capability[SERVICE_TURN], Account.SERVICE)
    assert kernel_insns(tally, Account.SERVICE) - brief < 1_000, brief


def test_what_a_client_puts_off_is_in_no_server_s_number(capability: Guest) -> None:
    tally = capability[OPENS]
    assert tally.total("calls", "file_free", of=[Account.CLIENT]) >= 100
    assert kernel_insns(tally, Account.CLEANUP) > 100 * 50  # of file_free_rcu() and what it calls
    assert tally.total("kernel") < 4_000, tally.counts


def test_hooks_explain_what_a_module_adds(capability: Guest, selinux: Guest) -> None:
    added = kernel_insns(selinux[SERVICE_STAT], Account.SERVICE) - kernel_insns(
        capability[SERVICE_STAT], Account.SERVICE
    )
    inside = selinux[SERVICE_STAT].total("hook") - capability[SERVICE_STAT].total("hook")
    assert added > 0
    assert 0.97 * added <= inside <= 1.01 * added
    assert selinux[SERVICE_STAT].total("kernel", "selinux") > 0.5 * added
    assert capability[SERVICE_STAT].total("kernel", "selinux") == 0
