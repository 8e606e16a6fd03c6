# SPDX-License-Identifier: GPL-2.0-or-later
"""One option says on every command that boots guests what a guest may take."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import FunctionType, ModuleType

import pytest

import lsmeter.cli
from lsmeter.limits import BOOT_S, Limits
from tests.conftest import Lsmeter

COMMANDS = (("run",), ("slopes",), ("history",), ("hooks", "count"), ("selftest", "exact"))


def modules() -> Iterator[ModuleType]:
    for info in pkgutil.iter_modules(lsmeter.cli.__path__):
        yield importlib.import_module(f"lsmeter.cli.{info.name}")


def with_deadline(module: ModuleType) -> list[FunctionType]:
    """Return the commands of a module that take the option."""
    return [
        function
        for _, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__
        and "boot_deadline" in inspect.signature(function).parameters
    ]


def test_whoever_runs_guests_takes_the_option() -> None:
    """A backend is what runs guests: a command that finds one boots them."""
    booting = [module for module in modules() if "find_backend(" in inspect.getsource(module)]
    assert len(booting) == len(COMMANDS)
    for module in booting:
        (command,) = with_deadline(module)
        assert inspect.signature(command).parameters["boot_deadline"].default == BOOT_S
        # One definition, so one name, one help text, one check of the number.
        assert command.__annotations__["boot_deadline"] == "BootDeadlineOption"


def test_the_default_is_that_of_the_limits() -> None:
    assert Limits().boot_s == BOOT_S


@pytest.mark.parametrize("command", COMMANDS)
def test_it_is_explained_and_checked(lsmeter: Lsmeter, command: tuple[str, ...]) -> None:
    shown = lsmeter(*command, "--help").out.replace("│", " ")
    assert "--boot-deadline" in shown
    assert "What a guest may take that finishes no benchmark" in " ".join(shown.split())
    refused = lsmeter(*command, "--boot-deadline", "0")
    assert refused.code == 2
    assert "--boot-deadline" in refused.err
