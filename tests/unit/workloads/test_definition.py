# SPDX-License-Identifier: GPL-2.0-or-later
"""Workload files: what they say, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from lsmeter.catalogue.workloads import is_workload, load_workload
from lsmeter.core.errors import UsageError
from lsmeter.core.model.workload import Client
from lsmeter.measure.experiment.options import Experiment
from lsmeter.measure.experiment.select import split_workloads
from lsmeter.sources.images.definition import load_definition

EXAMPLE = Path(__file__).parents[3] / "examples/redis.toml"
WHOLE = """
title = "A cache"
unit = "request"
place = ["data"]
[[services]]
name = "redis"
process = "redis-server"
start = ["/usr/bin/redis-server", "--daemonize", "yes"]
ready = ["/usr/bin/redis-cli", "-h", "10.9.0.1", "ping"]
selinux = "redis_t"
[[checks]]
name = "secret"
ask = ["/usr/lib/lsmeter/ask/text", "x"]
allowed = "yes"
denied = "no"
[[benchmarks]]
operation = "get"
title = "get a key"
units = 100
params = { clients = [1, 8], kind = "small" }
client = ["/bin/client", "-n", "{units}", "-c", "{clients}", "{kind}"]
"""


def written(folder: Path, text: str, name: str = "cache.toml") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def test_a_file_gives_a_benchmark_for_each_combination(tmp_path: Path) -> None:
    offer = load_workload(written(tmp_path, WHOLE))
    names = [item.id for item in offer.benchmarks]
    assert names == ["get clients=1 kind=small", "get clients=8 kind=small"]
    assert {item.suite for item in offer.benchmarks} == {"cache"}
    first, second = offer.workload.batches
    assert first.client == ("/bin/client", "-n", "100", "-c", "1", "small")
    assert (second.benchmark, second.units, second.account) == (names[1], 100, "client")
    assert offer.workload.services[0].selinux == "redis_t"
    assert offer.sampling.samples >= 2


def test_a_batch_has_as_many_units_as_are_asked_for_at_once(tmp_path: Path) -> None:
    text = WHOLE.replace("clients", "concurrency").replace("[1, 8]", "[1, 100, 128]")
    batches = load_workload(written(tmp_path, text)).workload.batches
    assert [item.units for item in batches] == [100, 100, 128]
    assert batches[2].client == ("/bin/client", "-n", "128", "-c", "128", "small")


def test_any_name_that_a_parameter_may_have_is_filled_in(tmp_path: Path) -> None:
    text = WHOLE.replace("clients", "clients-2-x")
    first = load_workload(written(tmp_path, text)).workload.batches[0]
    assert first.client == ("/bin/client", "-n", "100", "-c", "1", "small")


def test_the_path_of_an_image_is_seen_from_the_file(tmp_path: Path) -> None:
    text = WHOLE.replace("unit =", 'image = "./own.toml"\nunit =', 1)
    assert load_workload(written(tmp_path, text)).workload.image == str(tmp_path / "own.toml")
    text = text.replace("./own.toml", "servers")
    assert load_workload(written(tmp_path, text)).workload.image == "servers"


def test_the_worked_example_is_a_workload() -> None:
    offer = load_workload(str(EXAMPLE))
    assert {item.operation for item in offer.benchmarks} == {"get", "set"}
    image = Path(offer.workload.image)
    assert image.parent == EXAMPLE.parent
    assert {"redis-server", "apache2"} <= set(load_definition(str(image)).packages)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("place =", "plcae ="), "plcae"),
        (('operation = "get"', 'operation = "Get it"'), "benchmarks.0.operation"),
        (("{clients}", "{client}"), "client"),
        (("units = 100", "units = 0"), "units"),
        (("clients = [1, 8]", "concurrency = 1000001, clients = 1"), "concurrency"),
        (("place =", "memory_mib = 2048\nplace ="), "memory_mib"),
        (("units = 100", 'units = "100"'), "units"),
        (("selinux =", "smack ="), "smack"),
        (('title = "get a key"', 'title = ""'), "title"),
        (("[1, 8]", "[1, 1]"), "two benchmarks"),
        (("[1, 8]", str(list(range(50)))), "at most 50|Input should|at most"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    assert change[0] in WHOLE
    text = WHOLE.replace(*change)
    if said.startswith("at most"):
        text = text.replace('kind = "small"', 'kind = ["a", "b", "c"]')
    with pytest.raises(UsageError, match=said) as caught:
        load_workload(written(tmp_path, text))
    assert "cache.toml" in caught.value.title


def test_names_are_those_of_files(tmp_path: Path) -> None:
    assert is_workload("web")
    assert is_workload("./cache.toml")
    assert not is_workload("file")
    with pytest.raises(UsageError, match="cannot name a workload"):
        load_workload(written(tmp_path, WHOLE, "My cache.toml"))
    with pytest.raises(UsageError, match=r"no such|cannot read"):
        load_workload(str(tmp_path / "none.toml"))


@pytest.mark.parametrize("client", ["guest", "loopback"])
def test_only_what_has_a_server_has_its_client_elsewhere(client: Client) -> None:
    found = [
        offer for _, offer in split_workloads(Experiment(suites=["postgresql"], client=client), ())
    ]
    assert [offer.workload.name for offer in found if offer] == ["postgresql"]
    with pytest.raises(UsageError, match="the suite workstation has no server"):
        list(split_workloads(Experiment(suites=["workstation"], client=client), ()))
