# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter here`: this machine under setups that need another boot, and putting things back."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

from lsmeter.cli.console import SCREEN
from lsmeter.cli.options import (
    AllOption,
    BootsOption,
    Options,
    SamplesOption,
    TuneOption,
    but,
    declared,
)
from lsmeter.cli.show import show
from lsmeter.core.errors import InfrastructureError, UsageError
from lsmeter.tables.model import Document, Item, Section, Tone

if TYPE_CHECKING:
    from lsmeter.core.model import Kernel, Setup

HELP = """Measure this machine under setups that need another boot.

`lsmeter here plan` says what to boot, `lsmeter here run --label NAME` measures after each boot,
and `lsmeter compare` lines the runs up. What needs no boot is measured in one run:
`lsmeter run --instrument timed --machine here`.
"""


def put_back() -> None:
    """Put back what a lsmeter that was killed has changed on this machine."""
    from lsmeter.machines.journal import is_left, restore

    if not is_left():
        return
    done, failed = restore()
    if done:
        SCREEN.say(f"put back, after a lsmeter that was killed: {', '.join(dict.fromkeys(done))}")
    for text in failed:
        SCREEN.say(f"could not be put back: {text}", style="yellow")


def run(
    options: Annotated[Options, but("kernel", "setup", "condition", "machine", "image")],
    label: Annotated[str, declared("here-run.label")],
    booted: Annotated[str | None, declared("here-run.booted")] = None,
    boots: BootsOption = None,
    samples: SamplesOption = None,
    tune: TuneOption = False,
    everything: AllOption = False,
) -> int:
    """Measure this machine as it is booted now, and call the run so.

    Blocks of one boot say nothing of what differs between boots: boot each setup more than once
    where the difference is small.

        lsmeter here run --label capability --booted capability
        lsmeter here run --label selinux --booted selinux
        lsmeter compare runs/*-here-capability runs/*-here-selinux
    """
    import re

    from lsmeter.cli.measure import measure, showing
    from lsmeter.cli.show import show_run

    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}", label):
        raise UsageError(
            f"--label: {label[:40]!r} is no word", hint="letters, digits, dots, - and _"
        )
    if booted is not None:
        _check_booted(booted)
    found = options.experiment(
        setups=["running"],
        title=f"This machine as booted: {label}",
        instrument="timed",
        machine="here",
        boots=boots,
        sampling={"samples": samples},
    )
    where, code = measure([found], f"here-{label}", options, tune=tune)
    with showing(code):
        show_run(where, everything=everything)
    return int(code)


def plan(
    setup: Annotated[list[str], declared("only_setup", text="Setup to boot for.")],
) -> int:
    """Say how to boot this machine for setups that need it; changes nothing.

    lsmeter here plan -s capability -s selinux
    """
    from lsmeter.catalogue.setups import parse_setup
    from lsmeter.machines.journal import root, value_of
    from lsmeter.sources.kernels.running import running_kernel

    setups = [parse_setup(word) for word in dict.fromkeys(setup)]
    cmdline = value_of(root() / "proc/cmdline")
    show(_plan_document(setups, running_kernel(root()), cmdline))
    return 0


def restore() -> int:
    """Put back all that lsmeter changed on this machine.

    Every command does so for what a killed one left; this one says that nothing is left.
    """
    from lsmeter.machines.journal import is_left
    from lsmeter.machines.journal import restore as put_back_all

    # What was left is put back before any command.
    if failed := put_back_all()[1]:
        raise InfrastructureError(f"could not be put back: {failed[0]}")
    left = is_left()
    SCREEN.say(
        "another lsmeter has changed this machine, and is still running"
        if left
        else "nothing is left changed"
    )
    return 0


def _plan_document(setups: list[Setup], kernel: Kernel, cmdline: str) -> Document:
    from lsmeter.machines.here import boot_parameters, why_no_boot

    items = []
    for setup in setups:
        items.append(Item(f"{setup.name}: {setup.title}", tone=Tone.HEADING))
        if setup.live:
            items.append(Item("no boot is needed: lsmeter run --instrument timed -s " + setup.name))
        elif why := why_no_boot(setup) or _lacking(setup, kernel):
            items.append(Item(f"no boot of this kernel brings it about: {why}"))
        else:
            parameters = " ".join(boot_parameters(setup, cmdline))
            command = f"lsmeter here run --label {_word(setup)} --booted {setup.name}"
            items += [
                Item("boot this kernel once with these parameters:", commands=(parameters,)),
                Item("then measure:", commands=(command,)),
            ]
    sections = (Section("", items=tuple(items), key="boots"),)
    return Document("here-plan", 1, "What to boot", sections=sections)


def _word(setup: Setup) -> str:
    return shlex.quote("".join(c if c.isalnum() or c in "._-" else "-" for c in setup.name))


def _lacking(setup: Setup, kernel: Kernel) -> str:
    from lsmeter.measure.experiment.plan import missing_options

    missing = missing_options(kernel, setup.needs_config)
    return f"the kernel was built without {', '.join(missing)}" if missing else ""


def _check_booted(word: str) -> None:
    """Refuse a machine that was not booted for this setup, as far as its modules show that."""
    from dataclasses import replace

    from lsmeter.catalogue.setups import parse_setup
    from lsmeter.core.model import BootProtocol
    from lsmeter.guest.conclude import verify
    from lsmeter.machines.journal import root, value_of
    from lsmeter.sources.kernels.running import running_kernel

    setup = replace(parse_setup(word, where="--booted"), expect=(), checks=())
    kernel = replace(running_kernel(), boot_protocol=BootProtocol.BZIMAGE)
    active = value_of(root() / "sys/kernel/security/lsm")
    if not active:
        raise UsageError(
            "--booted: the list of security modules cannot be read",
            hint="mount -t securityfs securityfs /sys/kernel/security, or leave --booted out",
        )
    if wrong := verify(setup, kernel, {"lsm": active}):
        raise UsageError(
            f"--booted {setup.name}: {'; '.join(wrong).replace('the guest', 'this machine')}",
            hint=f"lsmeter here plan -s {setup.name} says what to boot",
        )
