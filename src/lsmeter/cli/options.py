# SPDX-License-Identifier: GPL-2.0-or-later
"""Options that all measuring commands share, and the experiment that they ask for."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lsmeter.base.errors import UsageError
from lsmeter.base.limits import BOOT_S

if TYPE_CHECKING:
    from lsmeter.experiment.asked import Experiment

CONDITIONS_HELP = (
    "What changes counts without being the setup: mitigations=off|auto|forced, "
    "init_on_alloc=true|false, tick=nohz|periodic, slabs=single|default, icount_shift=N, "
    "memory_mib=N, cpu=MODEL."
)

_Words = list[str] | None

RunArgument = Annotated[
    Path | None,
    typer.Argument(metavar="[RUN]", help="Run directory to show again; without one, measure."),
]
KernelOption = Annotated[
    _Words, typer.Option(metavar="KERNEL", help="Kernel: debian:6.1, host, a path. Repeatable.")
]
SetupOption = Annotated[
    _Words,
    typer.Option(
        metavar="SETUP", help="Setup: selinux, landlock:layers=2, apparmor+bpf. Repeatable."
    ),
]
SuiteOption = Annotated[_Words, typer.Option(metavar="SUITE", help="Suite of benchmarks.")]
BenchmarkOption = Annotated[
    _Words,
    typer.Option(metavar="PATTERN", help="Only these: an operation or a pattern: 'open*'."),
]
FilesystemOption = Annotated[_Words, typer.Option(metavar="NAME", help="tmpfs or ext4.")]
UserOption = Annotated[_Words, typer.Option(metavar="USER", help="root or user (uid 1000).")]
ImageOption = Annotated[
    str | None,
    typer.Option(
        metavar="IMAGE", help="Root file system for the setups that need one: yours for theirs."
    ),
]
BootsOption = Annotated[int | None, typer.Option(metavar="N", help="Boots of each cell.")]
SamplesOption = Annotated[
    int | None, typer.Option(metavar="N", help="Samples of a benchmark in a boot.")
]
WarmupOption = Annotated[int | None, typer.Option(metavar="N", help="Samples discarded before.")]
ConditionOption = Annotated[_Words, typer.Option(metavar="KEY=VALUE", help=CONDITIONS_HELP)]
SeedOption = Annotated[
    int | None, typer.Option(metavar="N", help="Seed of orders and random numbers.")
]
JobsOption = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Guests at a time; default: the cores.")
]
FreshOption = Annotated[bool, typer.Option("--fresh", help="Measure again what is known.")]
RunDirOption = Annotated[
    Path | None, typer.Option("--run-dir", "--out", metavar="DIR", help="Run directory to write.")
]
BootDeadlineOption = Annotated[
    float,
    typer.Option(
        metavar="SECONDS",
        min=1,
        help="What a guest may take that finishes no benchmark. One that goes on finishing them "
        "may take an hour, or 20 times this.",
    ),
]
MachineOption = Annotated[
    str | None, typer.Option("--machine", metavar="NAME", help="Where guests boot.")
]
PlotOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the plot, too: .svg or .png.")
]


@dataclass(frozen=True)
class Asked:
    """What the options said that all measuring commands take; None: not said."""

    kernel: KernelOption = None
    setup: SetupOption = None
    suite: SuiteOption = None
    benchmark: BenchmarkOption = None
    filesystem: FilesystemOption = None
    user: UserOption = None
    image: ImageOption = None
    condition: ConditionOption = None
    seed: SeedOption = None
    jobs: JobsOption = None
    fresh: FreshOption = False
    run_dir: RunDirOption = None
    machine: MachineOption = None
    boot_deadline: BootDeadlineOption = BOOT_S

    def words(self, **otherwise: Any) -> dict[str, Any]:  # noqa: ANN401  (of any key)
        """Return the keys of an experiment; otherwise has those of what was not said."""
        said = {
            "kernels": self.kernel,
            "setups": self.setup,
            "suites": self.suite,
            "benchmarks": self.benchmark,
            "filesystems": self.filesystem,
            "users": self.user,
            "image": self.image,
            "seed": self.seed,
            "conditions": conditions(self.condition) or None,
        }
        return {**otherwise, **{key: value for key, value in said.items() if value is not None}}


def measuring(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options of Asked to a command, which gets them as `asked`.

    What the command has of its own under the same name stays its own.
    """
    own = inspect.signature(command, eval_str=True).parameters
    common = {
        name: parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in inspect.signature(Asked, eval_str=True).parameters.items()
        if name not in own
    }
    parameters = [
        *(item.replace(kind=inspect.Parameter.KEYWORD_ONLY) for item in own.values()),
        *common.values(),
    ]

    @functools.wraps(command)
    def call(**words: Any) -> int:  # noqa: ANN401  (the values of options)
        asked = Asked(**{name: words.pop(name) for name in common})
        return command(**words, asked=asked)

    shown = [item for item in parameters if item.name != "asked"]
    call.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    call.__annotations__ = {item.name: item.annotation for item in shown}
    return call


def experiment(words: dict[str, Any], file: Path | None = None) -> Experiment:
    """Lay the words of the command line over those of a file; None means: not said."""
    from lsmeter.experiment.asked import build_experiment, merge, read_experiment

    data = read_experiment(file) if file is not None else {}
    return build_experiment(merge(data, words), where=str(file or "command line"))


def conditions(settings: list[str] | None) -> dict[str, Any]:
    """Read KEY=VALUE words into what TOML would have given."""
    found: dict[str, Any] = {}
    for setting in settings or []:
        key, equals, text = setting.partition("=")
        if not equals:
            raise UsageError(f"--condition: '{setting}' is not KEY=VALUE", hint=CONDITIONS_HELP)
        value: Any = text
        if text in {"true", "false"}:
            value = text == "true"
        elif text.isdigit():
            value = int(text)
        found[key] = value
    return found
