# SPDX-License-Identifier: GPL-2.0-or-later
"""What a boot of a workload is asked for, and what its guest has to say to be believed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsmeter.catalogue.setups import parse_setup, read_setup
from lsmeter.catalogue.workloads import load_workload
from lsmeter.core.model import (
    BenchmarkStatus,
    Cell,
    Conditions,
    Image,
    KernelModule,
    Samples,
    Sampling,
    Task,
)
from lsmeter.core.model.arch import X86_64
from lsmeter.core.model.workload import Client
from lsmeter.guest.boot_image import make_request
from lsmeter.measure.tasks import find_task
from lsmeter.measure.tasks.serve import serving
from lsmeter.measure.tasks.workload import (
    SERVICES,
    judge,
    once_titles,
    policy_of,
    request,
    said_by,
    verify,
)
from tests.unit.model_builders import kernel

OFFER = load_workload("web")
STATIC = OFFER.benchmarks[0].id
UNITS = OFFER.workload.batches[0].units


def cell(setup: str) -> Cell:
    return Cell(
        kernel=kernel("6.1"),
        setup=parse_setup(setup),
        suite="web",
        filesystem="tmpfs",
        user="root",
        instrument="exact",
        conditions=Conditions(),
        sampling=Sampling(samples=2, warmup=1),
        benchmarks=(STATIC,),
        task=Task("workload", workload=OFFER.workload),
    )


def facts(setup: str, **changed: str) -> dict[str, str]:
    """Return what a sound guest says of the workload's services and checks."""
    module, mode = policy_of(parse_setup(setup))
    found = {}
    for service in OFFER.workload.services:
        found[f"service.{service.name}.processes"] = "2"
        context = {
            "selinux": f"system_u:system_r:{service.selinux}:s0",
            "apparmor": f"{service.apparmor} ({'enforce' if mode == 'enforcing' else 'complain'})",
        }.get(module, "")
        found[f"service.{service.name}.contexts"] = context
    found["services.contexts"] = found["services.contexts.after"] = context if module else ""
    for denial in OFFER.workload.denials:
        denied = mode == "enforcing"
        found[f"ask.{denial.name}"] = denial.denied if denied else denial.allowed
    return found | {key.replace("__", "."): value for key, value in changed.items()}


SETUPS = ("capability", "selinux", "selinux-enforcing", "selinux-permissive", "apparmor-enforcing")


@pytest.mark.parametrize("setup", [*SETUPS, "apparmor-complain", "tomoyo"])
def test_a_sound_guest_is_believed(setup: str) -> None:
    assert verify(cell(setup), facts(setup)) == ()


@pytest.mark.parametrize(
    ("setup", "changed"),
    [
        ("capability", {"service__apache__processes": "0"}),
        ("capability", {"ask__static": "404 236 9448f8a1159c9b14"}),
        ("selinux-enforcing", {"service__apache__contexts": "system_u:system_r:initrc_t:s0"}),
        (
            "selinux-enforcing",
            {
                "service__apache__contexts": "system_u:system_r:httpd_t:s0,"
                "system_u:system_r:unconfined_t:s0"
            },
        ),
        ("selinux-enforcing", {"ask__secret": "read: secret"}),
        ("selinux-permissive", {"ask__secret": "denied"}),
        ("apparmor-enforcing", {"service__apache__contexts": "lsmeter-apache (complain)"}),
        ("apparmor-enforcing", {"service__apache__contexts": "unconfined"}),
        ("apparmor-complain", {"service__apache__contexts": "lsmeter-apache (enforce)"}),
        # Whatever a process of the services is called, and as long as any is measured.
        ("selinux-enforcing", {"services__contexts": "system_u:system_r:initrc_t:s0"}),
        (
            "apparmor-enforcing",
            {"services__contexts__after": "lsmeter-apache (enforce),unconfined"},
        ),
    ],
)
def test_another_domain_or_answer_is_no_result(setup: str, changed: dict[str, str]) -> None:
    assert len(verify(cell(setup), facts(setup, **changed))) == 1


@pytest.mark.parametrize(
    ("setup", "policy"),
    [
        ("capability", ("", "")),
        ("selinux", ("", "")),
        ("selinux-permissive", ("selinux", "permissive")),
        ("selinux-enforcing:avc=64,content=unconfined", ("selinux", "enforcing")),
        ("selinux-enforcing:policy=mdp", ("", "")),  # it knows no service
        ("apparmor-complain", ("apparmor", "permissive")),
        ("apparmor-enforcing:profiles=2", ("apparmor", "enforcing")),
        # What is added on top does not hide the policy below it.
        ("selinux-enforcing+audit-rules:session=service", ("selinux", "enforcing")),
        ("apparmor-complain+audit", ("apparmor", "permissive")),
        ("yama+selinux-permissive+ima-measure", ("selinux", "permissive")),
        ("ima-measure", ("", "")),
        ("audit-rules", ("", "")),
        ("tomoyo-enforcing", ("", "")),
    ],
)
def test_the_policy_of_a_setup_is_known_whatever_is_added(
    setup: str, policy: tuple[str, str]
) -> None:
    assert policy_of(parse_setup(setup)) == policy


@pytest.mark.parametrize(
    ("lines", "policy"),
    [
        ("", ("", "")),
        ('image = "policy"', ("selinux", "enforcing")),
        ('image = "policy"\nlayer = "permissive"', ("selinux", "permissive")),
        ('image = "policy"\nlayer = "hooks"', ("", "")),
    ],
)
def test_the_policy_of_a_setup_file(tmp_path: Path, lines: str, policy: tuple[str, str]) -> None:
    file = tmp_path / "own.toml"
    file.write_text(f'name = "own"\ntitle = "own"\nlsms = ["selinux"]\n{lines}\n')
    assert policy_of(read_setup(file)) == policy


def test_data_are_labelled_before_the_services_start() -> None:
    asked = request(cell("selinux-permissive"))["prepare"]
    assert asked[1] == ("/usr/lib/lsmeter/place", "www", "log", "mysql")
    labelled = ("/usr/sbin/restorecon", "-R", "-F", "/data/www", "/data/log", "/data/mysql")
    assert asked[2] == labelled
    assert not any(labelled[0] in words for words in request(cell("apparmor-complain"))["prepare"])


@pytest.mark.parametrize("setup", ["capability", "selinux-enforcing", "apparmor-complain"])
def test_there_is_a_title_for_each_line_that_a_guest_works_off(setup: str) -> None:
    titles = once_titles(OFFER.workload, parse_setup(setup))
    asked = make_request(cell(setup), 1)
    lines = asked.to_bytes().decode().splitlines()
    once = [line for line in lines if line.startswith(("step=", "prepare="))]
    assert len(titles) == len(once) + 1  # and the services
    assert titles[-1] == SERVICES


def test_services_start_where_a_policy_expects_them() -> None:
    plain, confined = (request(cell(name)) for name in ("capability", "selinux-enforcing"))
    assert plain["services"][0][2:4] == ("/usr/bin/nsenter", "--net=/run/netns/server")
    assert confined["services"][0][4:6] == ("/usr/bin/runcon", "system_u:system_r:initrc_t:s0")
    assert ("/usr/lib/lsmeter/policy", "selinux", "enforcing", "web") in confined["prepare"]
    assert not any("policy" in words[0] for words in plain["prepare"])
    assert plain["clients"][0][:3] == (STATIC, str(UNITS), "client")


def served(client: Client, setup: str = "capability") -> Cell:
    before = cell(setup)
    workload = replace(OFFER.workload, client=client)
    return replace(before, task=Task("workload", workload=workload))


def test_a_client_beside_the_server_needs_no_other_end() -> None:
    asked = request(served("loopback"))
    assert asked["prepare"][0] == ("/usr/lib/lsmeter/network", "alone")
    assert asked["clients"][0][3:5] == ("/usr/bin/nsenter", "--net=/run/netns/server")


def test_a_client_in_another_guest_is_asked_from_this_one() -> None:
    asked = request(served("guest", "selinux-enforcing"))
    assert asked["prepare"][0] == ("/usr/lib/lsmeter/network", "server")
    for words in (*asked["ready"], *(ask[1:] for ask in asked["asks"]), asked["clients"][0][3:]):
        assert words[1] == "--net=/run/netns/server"
        assert words[4] == "/usr/lib/lsmeter/remote"
    assert asked["services"] == request(cell("selinux-enforcing"))["services"]


def test_the_other_guest_is_the_same_under_every_setup() -> None:
    other = serving(served("guest", "selinux-enforcing"))
    assert other.hash == serving(served("guest")).hash
    asked = make_request(other, 7)
    assert asked.benchmarks == ("serve",)
    assert asked.clients[0][-1] == "/usr/lib/lsmeter/agent"
    assert not asked.setup.steps
    assert b"client=serve 1 client " in asked.to_bytes()


def test_only_guests_of_workloads_load_what_their_task_names() -> None:
    named = X86_64.modules(find_task("workload").modules)
    offered = ("virtio_mmio", "virtio_blk", "libnvdimm", "nd_btt", *named)
    depends = {"nd_pmem": ("libnvdimm", "nd_btt")}
    modules = tuple(
        KernelModule(name, Path(name), "0" * 64, depends=depends.get(name, ())) for name in offered
    )
    image = Image("servers", Path("image"), "0" * 64)
    loaded = replace(
        cell("capability"), image=image, kernel=replace(kernel("6.1"), modules=modules)
    )
    names = [path.removeprefix("/modules/") for path, _ in make_request(loaded, 1).modules]
    assert names == [f"{name}.ko" for name in offered[2:]]
    bare = replace(loaded, task=Task("readings"))
    assert len(make_request(bare, 1).modules) == 2


@pytest.mark.parametrize(
    ("workload", "loaded"),
    [
        ("web", [("brd", "rd_nr=1 rd_size=327680")]),
        ("fileserver-disk", [("configfs", ""), ("null_blk", "completion_nsec=12000000")]),
    ],
)
def test_a_disk_is_a_ram_disk_or_one_whose_requests_take_time(
    workload: str, loaded: list[tuple[str, str]]
) -> None:
    modules = tuple(
        KernelModule(name, Path(name), "0" * 64, depends=("configfs",) * (name == "null_blk"))
        for name in ("brd", "configfs", "null_blk")
    )
    of = load_workload(workload).workload
    task = Task("workload", workload=of)
    names = tuple(batch.benchmark for batch in of.batches)
    made = replace(
        cell("capability"),
        filesystem="ext4",
        task=task,
        benchmarks=names,
        kernel=replace(kernel("6.1"), modules=modules),
    )
    found = make_request(made, 1).modules
    assert [path for path, _ in found] == [f"/modules/{name}.ko" for name, _ in loaded]
    assert all(wanted in said for (_, said), (_, wanted) in zip(found, loaded, strict=True))
    assert not make_request(replace(made, filesystem="tmpfs"), 1).modules


def samples(*said: str) -> Samples:
    return Samples(STATIC, BenchmarkStatus.OK, values=(1,) * len(said), said=said)


@pytest.mark.parametrize(
    "line",
    [
        f"units={UNITS - 1} failed=1",
        f"units={UNITS} failed=1",
        f"units={UNITS - 1} failed=0",
        f"units={UNITS} failed=0 timeouts=1",
        "failed=0",
        f"units={UNITS}",
        f"units={UNITS} failed=0x0",
        f"units={UNITS}failed=0",
        "",
        "ab: connection refused",
    ],
)
def test_units_that_are_not_all_right_are_no_result(line: str) -> None:
    good = f"units={UNITS} failed=0 timeouts=0 rate_per_s=218.12"
    assert judge(cell("capability"), samples(good, good)) == samples(good, good)
    found = judge(cell("capability"), samples(good, line))
    assert (found.status, found.values) == (BenchmarkStatus.FAILED, ())
    assert f"{UNITS} units were asked for" in found.detail


@given(st.text(max_size=200))
def test_what_a_client_says_never_raises(line: str) -> None:
    assert all(isinstance(value, float) for value in said_by(line).values())


def test_the_workload_is_part_of_what_names_a_cell() -> None:
    before = cell("capability")
    workload = replace(OFFER.workload, settle_ms=OFFER.workload.settle_ms + 1)
    assert replace(before, task=Task("workload", workload=workload)).hash != before.hash


def test_a_monitored_cell_is_another() -> None:
    before = cell("capability")
    every = [replace(before, task=replace(before.task, monitor_ms=ms)) for ms in (0, 50, 100)]
    assert every[0].hash == before.hash
    assert len({item.hash for item in every}) == 3
    assert [request(item)["monitor_ms"] for item in every] == [0, 50, 100]
