# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lsmeter.catalogue.setups import parse_setup
from lsmeter.catalogue.workloads import load_workload, workload_names
from lsmeter.core.errors import UsageError
from lsmeter.core.model import Conditions, Image, Sampling
from lsmeter.core.model.arch import X86_64
from lsmeter.guest.filesystem import size_mib
from lsmeter.guest.probe import catalogue, find_probe
from lsmeter.measure.experiment.options import build_experiment
from lsmeter.measure.experiment.plan import Plan, make_plan, modules_for, setups_of
from lsmeter.measure.experiment.select import split_workloads
from lsmeter.measure.tasks import find_task
from tests.unit.model_builders import benchmark, cell, kernel

WORKLOAD_NEEDS = (*find_task("workload").needs, *X86_64.disk_in_memory.disk_needs)
CATALOGUE = (
    benchmark("open", depth=1),
    benchmark("open", depth=2),
    benchmark("openat"),
    replace(benchmark("empty"), control=True),
)


def plan(data: dict[str, Any], **options: str) -> Plan:
    experiment = build_experiment(data, where="test")
    return make_plan(experiment, [kernel(**options)], CATALOGUE, {"qemu": "7.2"}, ["tmpfs"])


def test_every_cell_is_booted_in_each_block_with_a_seed_of_its_own() -> None:
    made = plan({"setups": ["capability", "selinux"], "boots": 3, "seed": 7})
    assert len(made.cells) == 2
    blocks = [made.boots[i : i + 2] for i in range(0, 6, 2)]
    for index, block in enumerate(blocks):
        assert {boot.cell.setup.name for boot in block} == {"capability", "selinux"}
        assert {boot.seed for boot in block} == {7 + index}


def test_the_order_is_drawn_from_the_seed() -> None:
    setups = ["capability", "selinux", "distribution"]
    orders = {
        tuple(boot.cell.setup.name for boot in plan({"setups": setups, "seed": seed}).boots)
        for seed in range(12)
    }
    assert len(orders) > 1
    assert plan({"setups": setups}).boots == plan({"setups": setups}).boots


def test_what_the_kernel_lacks_is_a_problem_and_not_a_cell() -> None:
    made = plan({"setups": ["capability", "smack"]}, SECURITY_SMACK="n")
    assert [item.setup.name for item in made.cells] == ["capability"]
    assert "CONFIG_SECURITY_SMACK" in made.problems[0].title


def test_batches_are_as_the_workload_says_or_as_was_asked() -> None:
    image = Image("servers", Path("image"), "0" * 64)

    def sampling(**words: int) -> Sampling:
        whole = build_experiment({"suites": ["web"], "sampling": words}, where="test")
        ((experiment, offer),) = split_workloads(whole, ())
        assert offer is not None
        needed = dict.fromkeys(WORKLOAD_NEEDS, "y")
        made = make_plan(experiment, [kernel(**needed)], offer, {}, ["tmpfs"], {"servers": image})
        return made.cells[0].sampling

    assert sampling() == load_workload("web").sampling
    assert sampling(samples=2) == replace(load_workload("web").sampling, samples=2)
    assert sampling(warmup=7).warmup == 7


def test_a_benchmark_named_with_its_suite_goes_to_it_alone() -> None:
    names = ["web/static concurrency=1", "workstation/compile"]
    suites = ["file", "web", "workstation"]
    whole = build_experiment({"suites": suites, "benchmarks": names}, where="test")
    found = [(item.suites, item.benchmarks) for item, _ in split_workloads(whole, ())]
    assert found == [(["web"], names[:1]), (["workstation"], names[1:])]


def test_a_benchmark_named_without_its_suite_goes_to_each_that_has_it() -> None:
    def split(*names: str) -> list[tuple[list[str], list[str]]]:
        words = {"suites": ["file", "web", "workstation"], "benchmarks": [*names]}
        parts = split_workloads(build_experiment(words, where="test"), catalogue(find_probe()))
        return [(item.suites, item.benchmarks) for item, _ in parts]

    assert split("compile", "stat") == [(["file"], ["stat"]), (["workstation"], ["compile"])]
    assert [names for _, names in split("*")] == [["*"]] * 3
    # What none has is named by the first part, as what is not known.
    assert [names for _, names in split("stat", "stta")] == [["stat", "stta"], ["stta"], ["stta"]]


def test_copies_are_a_factor_with_places_of_their_own() -> None:
    timed = {"setups": ["capability"], "instrument": "timed", "boots": 1}
    one = {item.hash for item in plan(timed).cells}
    made = plan({**timed, "copies": [1, 2]})
    assert [(item.copies, item.place.copies) for item in made.cells] == [(1, 1), (2, 2)] * 2
    assert one < {item.hash for item in made.cells}
    assert made.cells[1].place.label.endswith("root, 2 copies")
    assert made.cells[0].place.beside != made.cells[1].place.beside


def test_what_is_done_before_each_reading_is_done_to_one_copy() -> None:
    setup = parse_setup("selinux-enforcing:cold=on").name
    assert parse_setup(setup).before
    made = plan({"setups": [setup], "instrument": "timed", "copies": [2]})
    assert "cannot be measured in several copies" in made.problems[0].title
    assert setup not in {item.setup.name for item in made.cells}


def loaded(setup: str, workload: str, **conditions: int) -> Plan:
    """Return the plan of one setup, and its baseline, with a workload."""
    filesystem = "ext4" if load_workload(workload).workload.disk_us else "tmpfs"
    named = {"suites": [workload], "setups": [setup], "filesystems": [filesystem]}
    data = {**named, "conditions": conditions}
    whole = build_experiment({**data, "baseline": "capability"}, where="test")
    ((experiment, offer),) = split_workloads(whole, ())
    assert offer is not None
    disk = ("EXT4_FS", "BLK_DEV_NULL_BLK")
    needs = (*WORKLOAD_NEEDS, *disk, *parse_setup(setup).needs_config)
    image = Image("servers", Path("image"), "0" * 64)
    images = {offer.workload.image: image, "policy": image}
    options, programs = dict.fromkeys(needs, "y"), dict.fromkeys(["lsmeter-bpf"], "0" * 64)
    known = ["tmpfs", "ext4"]
    return make_plan(experiment, [kernel(**options)], offer, {}, known, images, programs)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"filesystems": ["tmpfs"]}, "--filesystem tmpfs: the workload fileserver-disk needs one"),
        ({"filesystems": ["ext4"], "client": "guest"}, "look at its disk"),
    ],
)
def test_a_workload_with_a_disk_is_run_where_it_is(words: dict[str, Any], said: str) -> None:
    asked = build_experiment({"suites": ["fileserver-disk"], **words}, where="test")
    with pytest.raises(UsageError, match=said):
        list(split_workloads(asked, ()))


def test_a_kernel_without_the_disk_of_a_workload_is_told() -> None:
    asked = {"suites": ["fileserver-disk"], "filesystems": ["ext4"], "setups": ["capability"]}
    ((experiment, offer),) = split_workloads(build_experiment(asked, where="test"), ())
    assert offer is not None
    assert "null_blk" in modules_for([experiment])
    image = {"servers": Image("servers", Path("image"), "0" * 64)}
    options = dict.fromkeys((*WORKLOAD_NEEDS, "EXT4_FS", "BLK_DEV_RAM"), "y")

    def planned(**more: str) -> Plan:
        of = [kernel(**options, **more)]
        return make_plan(experiment, of, offer, {}, ["ext4"], image)

    assert planned(BLK_DEV_NULL_BLK="m").cells
    lacking = planned()
    assert not lacking.cells
    assert "ext4 cannot be measured" in lacking.problems[0].title
    assert lacking.problems[0].title.endswith("built without CONFIG_BLK_DEV_NULL_BLK")


@pytest.mark.parametrize(
    ("setup", "workload", "why"),
    [
        ("tomoyo-enforcing", "web-worker", "it has no domain for services"),
        ("tomoyo-learning", "web-worker", "it has no domain for services"),
        ("selinux-enforcing+tomoyo-enforcing", "web", "it has no domain for services"),
        ("smack-enforcing", "mail", "it has no domain for services"),
        ("lomac:level=low", "mail", "it has no domain for services"),
        ("audit-rules", "mail", "it has no domain for services"),
        ("ipsec", "mail", "it has no domain for services"),
        ("selinux-enforcing+apparmor-enforcing", "web", "not under those of selinux and apparmor"),
        (
            "apparmor-enforcing",
            "examples/redis.toml",
            "the workload names no domain of apparmor for the service redis",
        ),
    ],
)
def test_a_policy_that_confines_no_service_gives_no_number(
    setup: str, workload: str, why: str
) -> None:
    made = loaded(setup, workload)
    assert [item.setup.name for item in made.cells] == ["capability"]
    (problem,) = made.problems
    assert why in problem.title
    assert problem.title.startswith(f"{setup} cannot be measured with the workload")


@pytest.mark.parametrize("workload", workload_names())
@pytest.mark.parametrize(
    "setup",
    [
        *(
            "selinux-enforcing",
            "selinux-permissive+yama",
            "apparmor-enforcing",
            "apparmor-complain",
        ),
        *("tomoyo", "audit-rules:session=service", "ima-measure", "lomac"),
    ],
)
def test_a_policy_with_domains_for_all_services_is_measured(setup: str, workload: str) -> None:
    assert loaded(setup, workload).problems == ()


def test_services_have_a_slower_clock_unless_one_is_asked_for() -> None:
    usual, asked = loaded("selinux", "web"), loaded("selinux", "web", icount_shift=4)
    assert {cell.conditions.icount_shift for cell in usual.cells} == {2}
    assert {cell.conditions.icount_shift for cell in asked.cells} == {4}
    assert not {cell.hash for cell in usual.cells} & {cell.hash for cell in asked.cells}
    assert plan({"setups": ["selinux"]}).cells[0].conditions.icount_shift == 3


def test_a_workload_has_clients_and_no_copies() -> None:
    whole = build_experiment({"suites": ["web"], "instrument": "timed", "copies": [2]}, where="t")
    with pytest.raises(UsageError, match="--copies: the workload web has clients of its own"):
        list(split_workloads(whole, ()))


def test_the_baseline_is_measured_even_if_only_others_are_named() -> None:
    made = plan({"setups": ["selinux"], "baseline": "capability"})
    assert [item.setup.name for item in made.cells] == ["capability", "selinux"]


def test_a_name_stands_for_one_setup_in_a_plan(tmp_path: Path) -> None:
    text = 'name = "mine"\ntitle = "a module"\nlsms = ["mine"]\n'
    files = [tmp_path / name for name in ("a.toml", "b.toml", "c.toml")]
    for path, more in zip(files, ("", "", 'cmdline = ["quiet"]\n'), strict=True):
        path.write_text(text + more)
    first, same, other = map(str, files)
    made = plan({"setups": [first, same], "baseline": "capability"})
    assert [item.setup.name for item in made.cells] == ["capability", "mine"]
    for words in (
        {"setups": [first, other]},
        {"setups": [first], "baseline": other},
        {"setups": [f"{first}+yama", f"{other}+yama"]},
    ):
        with pytest.raises(UsageError, match="different setups of one name, 'mine"):
            plan(words)


def test_the_baseline_may_be_the_name_of_a_setup_that_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text('name = "mine"\ntitle = "a module"\nlsms = ["mine"]\n')
    words: dict[str, Any] = {"setups": ["selinux", str(path), f"{path}+selinux"]}
    for baseline in ("mine", "mine+selinux", str(path)):
        named = {**words, "baseline": baseline}
        made = plan(named)
        first = setups_of(made.experiment)[0].name
        assert first == made.cells[0].setup.name == baseline.replace(str(path), "mine")
        assert {cell.setup.name for cell in made.cells} == {"selinux", "mine", "mine+selinux"}
    with pytest.raises(UsageError, match="--baseline: unknown setup 'other'"):
        plan({**words, "baseline": "other"})


def test_two_names_of_one_configuration_are_booted_once() -> None:
    one = cell(parse_setup("selinux"))
    other = cell(replace(parse_setup("selinux"), name="another-name"))
    assert one.hash == other.hash


@pytest.mark.parametrize(
    ("patterns", "count"), [(["*"], 3), (["open"], 2), (["open*"], 3), (["empty", "openat"], 1)]
)
def test_benchmarks_are_chosen_by_operation_or_pattern(patterns: list[str], count: int) -> None:
    chosen = plan({"benchmarks": patterns}).benchmarks
    assert len([item for item in chosen if not item.control]) == count


def test_a_large_tree_on_a_disk_is_measured_if_it_is_named() -> None:
    large = replace(benchmark("mkdir", dirs=9437), populous=True)
    offered = [benchmark("mkdir", depth=1), large]
    disk = kernel(EXT4_FS="y", BLK_DEV_RAM="y")

    def planned(*patterns: str) -> tuple[dict[str, tuple[str, ...]], list[str]]:
        data = {"kernels": ["a"], "setups": ["capability"], "filesystems": ["tmpfs", "ext4"]}
        found = build_experiment(data | {"benchmarks": [*patterns]}, where="test")
        made = make_plan(found, [disk], offered, {}, ["tmpfs", "ext4"])
        cells = {cell.filesystem: cell.benchmarks for cell in made.cells}
        disks = {size_mib(cell) for cell in made.cells if cell.filesystem == "ext4"}
        assert disks == {320 if large.id in cells["ext4"] else 64}
        return cells, [problem.title for problem in made.skipped]

    both = ("mkdir depth=1", "mkdir dirs=9437")
    cells, (said,) = planned("*")
    assert cells == {"tmpfs": both, "ext4": both[:1]}
    assert said.startswith("left out on ext4: mkdir dirs=9437: ")
    for named in ("mkdir", "file/mkdir", "mkdir d*"):
        assert planned(named, "*") == ({"tmpfs": both, "ext4": both}, [])


def test_controls_are_measured_whatever_is_asked_where_costs_are_compared() -> None:
    controls = [item.id for item in plan({}).benchmarks if item.control]
    assert controls
    assert {item.id for item in plan({"benchmarks": ["openat"]}).benchmarks} > {*controls}
    counted = plan({"benchmarks": ["openat"], "task": "count"}).benchmarks
    assert not any(item.control for item in counted)


@pytest.mark.parametrize(
    ("data", "part"),
    [
        ({"suites": ["fiel"]}, "unknown suite 'fiel'; did you mean file?"),
        ({"benchmarks": ["opne"]}, "unknown benchmark 'opne'; did you mean open?"),
        ({"filesystems": ["tmpsf"]}, "unknown file system 'tmpsf'; did you mean tmpfs?"),
        ({"setups": ["slinux"]}, "unknown setup 'slinux'; did you mean selinux?"),
        ({"baseline": "slinux"}, "--baseline: unknown setup"),
    ],
)
def test_unknown_names_are_usage_errors(data: dict[str, Any], part: str) -> None:
    with pytest.raises(UsageError) as caught:
        plan(data)
    assert part in caught.value.title


def test_all_that_changes_a_result_changes_the_hash() -> None:
    base = cell(parse_setup("selinux"))
    others = [
        replace(base, kernel=replace(base.kernel, image_sha256="cd" * 32)),
        replace(base, setup=parse_setup("apparmor")),
        replace(base, suite="net"),
        replace(base, filesystem="ext4"),
        replace(base, user="user"),
        replace(base, conditions=Conditions(mitigations="auto")),
        replace(base, conditions=Conditions(init_on_alloc=True)),
        replace(base, conditions=Conditions(icount_shift=5)),
        replace(base, conditions=Conditions(memcg=True)),
        replace(base, sampling=Sampling(samples=11)),
        replace(base, benchmarks=("open depth=1",)),
        replace(base, identity=(("probe", "01"), ("qemu", "7.2"))),
        replace(base, kernel=replace(base.kernel, config={"DAMON_STAT_ENABLED_DEFAULT": "y"})),
    ]
    assert len({item.hash for item in (base, *others)}) == len(others) + 1
    assert replace(base, kernel=replace(base.kernel, name="same-image")).hash == base.hash


def test_modules_beside_those_of_a_setup_are_active_in_every_cell() -> None:
    asked = {"setups": ["capability", "landlock"], "conditions": {"lsms": "landlock,bpf"}}
    options = {"SECURITY_LANDLOCK": "y", "BPF_LSM": "y"}
    found = {item.setup.name: item for item in plan(asked, **options).cells}
    assert found["capability"].setup.lsms == ("capability", "landlock", "bpf")
    assert found["landlock"].setup.lsms == ("landlock", "bpf")
    without = {item.setup.name: item for item in plan({**asked, "conditions": {}}, **options).cells}
    assert all(found[name].hash != without[name].hash for name in found)


def test_what_makes_a_file_system_is_of_its_cells_alone() -> None:
    names = ["tmpfs", "ext4", "xfs"]
    asked = build_experiment({"filesystems": names, "setups": ["capability"]}, where="test")
    of = kernel("6.1", EXT4_FS="y", XFS_FS="y", BLK_DEV_RAM="m")

    def hashes(xfs: str) -> list[str]:
        identity = {"qemu": "7.2", "made by ext4": "one", "made by xfs": xfs}
        return [cell.hash for cell in make_plan(asked, [of], CATALOGUE, identity, names).cells]

    before, after = hashes("6.1.0"), hashes("6.6.0")
    assert before[:2] == after[:2]
    assert before[2] != after[2]


@pytest.mark.parametrize(
    ("options", "lacking"),
    [
        ({}, {"ext2", "ext4", "btrfs"}),
        ({"EXT2_FS": "m", "BTRFS_FS": "y"}, {"ext2", "ext4", "btrfs"}),  # and no RAM disk
        ({"EXT4_FS": "y", "BLK_DEV_RAM": "y"}, {"ext2", "btrfs"}),
        ({"EXT4_FS": "y", "EXT4_USE_FOR_EXT2": "y", "BLK_DEV_RAM": "m"}, {"btrfs"}),
        ({"EXT2_FS": "y", "EXT4_FS": "y", "BTRFS_FS": "m", "BLK_DEV_RAM": "m"}, set()),
    ],
)
def test_a_kernel_without_a_file_system_loses_its_cells_only(
    options: dict[str, str], lacking: set[str]
) -> None:
    names = ["tmpfs", "ext2", "ext4", "btrfs"]
    asked = {"filesystems": names, "setups": ["capability", "selinux"]}
    found = make_plan(
        build_experiment(asked, where="test"), [kernel("6.1", **options)], CATALOGUE, {}, names
    )
    assert {item.title.split()[0] for item in found.problems} == lacking
    assert {cell.filesystem for cell in found.cells} == {*names} - lacking
    assert len(found.cells) == 2 * len({*names} - lacking)
    assert all("cannot be measured on 6.1: the kernel was built" in p.title for p in found.problems)


def test_dac_takes_the_kernel_without_modules_and_the_others_do_not() -> None:
    experiment = build_experiment({"setups": ["dac", "capability"]}, where="test")
    kernels = [kernel("built:6.1-dac", SECURITY="n"), kernel("built:6.1-lsm-all")]
    made = make_plan(experiment, kernels, CATALOGUE, {}, ["tmpfs"])
    assert [(item.kernel.name, item.setup.name) for item in made.cells] == [
        ("built:6.1-dac", "dac"),
        ("built:6.1-lsm-all", "capability"),
    ]
    assert made.problems == ()


def test_dac_without_its_kernel_is_a_problem() -> None:
    made = plan({"setups": ["dac", "capability"]})
    assert "no kernel without CONFIG_SECURITY was named" in made.problems[0].title


def test_a_suite_whose_image_cannot_be_built_is_skipped_with_the_reason() -> None:
    asked = build_experiment({"suites": ["web-nginx"], "setups": ["selinux"]}, where="test")
    ((item, offer),) = split_workloads(asked, ())
    assert offer is not None
    images = {"servers": "mmdebstrap is not installed"}
    of = kernel(**dict.fromkeys(WORKLOAD_NEEDS, "y"))
    found = make_plan(item, [of], offer, {}, ("tmpfs",), images)
    assert found.boots == ()
    assert found.problems == found.skipped
    assert {(item.setup, item.detail) for item in found.skipped} == {
        ("capability", "mmdebstrap is not installed"),
        ("selinux", "mmdebstrap is not installed"),
    }
    assert "skipped on debian:6.1: its image servers is not built" in found.problems[0].title


def test_a_setup_that_was_named_and_whose_image_cannot_be_built_is_a_problem() -> None:
    asked = build_experiment({"setups": ["selinux-enforcing"]}, where="test")
    found = make_plan(
        asked, [kernel()], [benchmark("open")], {}, ("tmpfs",), {"policy": "no network"}
    )
    assert [item.setup for item in found.problems] == ["selinux-enforcing"]
    assert (found.skipped, {boot.cell.setup.name for boot in found.boots}) == ((), {"capability"})
