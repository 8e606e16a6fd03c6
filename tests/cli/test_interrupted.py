# SPDX-License-Identifier: GPL-2.0-or-later
"""What is interrupted exits with 130 and shows what it has, be it nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lsmeter import app as main
from lsmeter.cli import measure
from lsmeter.core.errors import ExitCode
from lsmeter.questions.selftest import scenarios
from tests.unit.model_builders import benchmark, kernel
from tests.unit.run_builders import begun, plan_of

COMMANDS = (
    "run",
    "slopes",
    "history",
    "hooks count",
    "hooks cost",
    "hooks agree",
    "selftest exact",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_an_interrupted_command_shows_what_it_has(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    task = {"hooks count": "count", "hooks cost": "attribute", "hooks agree": "attribute"}
    words = [{"setups": ["capability", "selinux"], "task": task.get(command, "readings")}]
    if command == "hooks agree":
        words.append({"setups": ["capability"], "task": "count"})
    plan = plan_of([kernel()], [benchmark("open")], *words)
    begun(plan, tmp_path, "emulation")
    stopped = (tmp_path, ExitCode.INTERRUPTED)
    monkeypatch.setattr(measure, "measure", lambda *_, **__: stopped)
    monkeypatch.setattr(scenarios, "selftest_kernel", lambda *_: kernel())
    monkeypatch.setattr(sys, "argv", ["lsmeter", *command.split()])
    with pytest.raises(SystemExit) as left:
        main.main()
    assert left.value.code == ExitCode.INTERRUPTED
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    assert said.out or "nothing to show yet" in said.err
