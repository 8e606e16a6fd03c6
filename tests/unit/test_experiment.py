# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from lsmeter.core.errors import UsageError
from lsmeter.measure.experiment.options import (
    MAIN,
    ConditionsTable,
    Experiment,
    SamplingTable,
    build_experiment,
    is_main,
    merge,
    read_experiment,
    with_copies,
)

ROOT = Path(__file__).parents[2]
MAIN_FILE = ROOT / "experiments" / "main.toml"


@pytest.mark.parametrize("path", sorted(ROOT.glob("experiments/*.toml")), ids=lambda p: p.name)
def test_every_experiment_of_the_repository_is_valid(path: Path) -> None:
    experiment = build_experiment(read_experiment(path), where=str(path))
    assert experiment.title
    assert experiment.question


@pytest.mark.parametrize(
    ("data", "part"),
    [
        ({"setup": ["selinux"]}, "unknown key 'setup'; did you mean setups?"),
        ({"sampling": {"sample": 3}}, "unknown key 'sampling.sample'; did you mean samples?"),
        ({"boots": "two"}, "boots: expected a valid integer, not 'two'"),
        ({"boots": 0}, "boots: expected greater than or equal to 1"),
        ({"setups": []}, "setups: "),
        ({"setups": "selinux"}, "setups: expected a valid list"),
        ({"users": ["bob"]}, "users.0: expected 'root' or 'user', not 'bob'"),
        ({"instrument": "guess"}, "instrument: unknown instrument 'guess'"),
        ({"task": "sweeep"}, "task: unknown task 'sweeep'; did you mean sweep?"),
        ({"conditions": {"cpu": "max;reboot"}}, "conditions.cpu: "),
        ({"copies": [0]}, "copies.0: expected greater"),
        ({"copies": ["many"]}, "copies.0"),
        ({"copies": [2]}, "copies: instructions are counted on one processor"),
        (
            {"copies": [2], "instrument": "timed", "sampling": {"cold": True}},
            "copies: cold readings",
        ),
        ({"conditions": {"tick": "sometimes"}}, "conditions.tick: expected 'nohz' or 'periodic'"),
    ],
)
def test_a_wrong_key_or_value_is_named(data: dict[str, object], part: str) -> None:
    with pytest.raises(UsageError) as caught:
        build_experiment(data, where="my.toml")
    assert caught.value.title.startswith("my.toml: ")
    assert part in caught.value.title


def test_copies_are_counted_by_the_processors_of_the_machine() -> None:
    asked = build_experiment({"copies": [1, "cpus", 4], "instrument": "timed"}, where="my.toml")
    assert with_copies(asked, 4).copies == [1, 4]
    assert with_copies(asked, 8).copies == [1, 8, 4]
    with pytest.raises(UsageError, match="--copies 4: there are 2 CPUs"):
        with_copies(asked, 2)


_TABLES: dict[tuple[str, ...], type[BaseModel]] = {
    (): Experiment,
    ("sampling",): SamplingTable,
    ("conditions",): ConditionsTable,
}


@pytest.mark.parametrize(
    ("place", "key"),
    [(place, key) for place, table in _TABLES.items() for key in table.model_fields],
)
def test_a_mistyped_key_is_named_with_the_nearest_one(place: tuple[str, ...], key: str) -> None:
    data: dict[str, Any] = {f"{key}x": 1}
    with pytest.raises(UsageError) as caught:
        build_experiment({place[0]: data} if place else data, where="my.toml")
    said = f"my.toml: unknown key '{'.'.join((*place, f'{key}x'))}'; did you mean {key}?"
    assert caught.value.title == said


def test_words_lie_over_the_file_and_unsaid_words_do_not() -> None:
    file = {"boots": 5, "sampling": {"samples": 7, "cold": True}}
    words = {"boots": None, "seed": 3, "sampling": {"samples": 9, "cold": None}}
    merged = merge(file, words)
    assert merged == {"boots": 5, "seed": 3, "sampling": {"samples": 9, "cold": True}}


@pytest.mark.parametrize(
    ("asked", "baseline"),
    [
        ({"setups": ["bpf", "dac"]}, "dac"),
        ({"setups": ["bpf", "capability"]}, "capability"),
        ({"setups": ["bpf", "yama"]}, "capability"),
        ({"setups": ["bpf"], "task": "attribute"}, "capability"),
        ({"setups": ["bpf", "dac"], "baseline": "yama"}, "yama"),
        ({"setups": ["selinux"], "task": "count"}, "selinux"),
    ],
)
def test_the_baseline_is_capability_unless_another_is_asked_for(
    asked: dict[str, Any], baseline: str
) -> None:
    assert build_experiment(asked, where="x").baseline_setup == baseline


def test_the_main_experiment_is_what_is_run_without_words() -> None:
    written = read_experiment(MAIN_FILE)
    main = build_experiment(MAIN, where="x")
    asked = build_experiment(written, where="x")
    words = {"title", "question", "baseline"}
    assert main.model_dump(exclude=words) == asked.model_dump(exclude=words)
    assert main.baseline_setup == asked.baseline_setup
    assert main.title == asked.title
    assert main.question == " ".join(asked.question.split())


def test_words_that_change_no_factor_leave_the_main_experiment() -> None:
    assert is_main({"boots": 3, "sampling": {"samples": 7}, "kernels": None})
    for word in ("kernels", "setups", "benchmarks", "image"):
        assert not is_main({word: ["x"]})


@pytest.mark.parametrize("table", ["sampling", "conditions"])
@pytest.mark.parametrize("content", ["x", 3, ["x"], None, True])
def test_what_should_be_a_table_and_is_none_is_refused(table: str, content: object) -> None:
    words = {"sampling": {"samples": None, "cold": True}, "conditions": {"tick": "nohz"}}
    with pytest.raises(UsageError, match=table):
        build_experiment(merge({table: content}, words), where="file")


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"boots = ", "not valid TOML"),
        (b"a = 1\n" * 200_000, "not an experiment file"),
    ],
)
def test_a_file_that_is_no_toml_is_named(tmp_path: Path, content: bytes, part: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read_experiment(path)
    assert str(path) in caught.value.title
    assert part in caught.value.title


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such experiment file"):
        read_experiment(tmp_path / "none.toml")
