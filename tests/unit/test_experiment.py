# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

from pathlib import Path

import pytest

from lsmeter.base.errors import UsageError
from lsmeter.experiment.asked import build_experiment, merge, read_experiment

ROOT = Path(__file__).parents[2]


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
        ({"conditions": {"tick": "sometimes"}}, "conditions.tick: expected 'nohz' or 'periodic'"),
    ],
)
def test_a_wrong_key_or_value_is_named(data: dict[str, object], part: str) -> None:
    with pytest.raises(UsageError) as caught:
        build_experiment(data, where="my.toml")
    assert caught.value.title.startswith("my.toml: ")
    assert part in caught.value.title


def test_words_lie_over_the_file_and_unsaid_words_do_not() -> None:
    file = {"boots": 5, "sampling": {"samples": 7, "cold": True}}
    words = {"boots": None, "seed": 3, "sampling": {"samples": 9, "cold": None}}
    merged = merge(file, words)
    assert merged == {"boots": 5, "seed": 3, "sampling": {"samples": 9, "cold": True}}


def test_the_baseline_is_dac_then_capability_then_the_first() -> None:
    assert build_experiment({"setups": ["bpf", "dac"]}, where="x").baseline_setup == "dac"
    assert build_experiment({"setups": ["bpf", "capability"]}, where="x").baseline_setup == (
        "capability"
    )
    assert build_experiment({"setups": ["bpf", "yama"]}, where="x").baseline_setup == "bpf"
    assert build_experiment({"baseline": "yama"}, where="x").baseline_setup == "yama"


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
