# SPDX-License-Identifier: GPL-2.0-or-later
"""Options that all measuring commands share, and the experiment that they ask for."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

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

RunArgument = Annotated[
    Path | None,
    typer.Argument(metavar="[RUN]", help="Run directory to show again; without one, measure."),
]
BootsOption = Annotated[int | None, typer.Option(metavar="N", help="Boots of each cell.")]
SamplesOption = Annotated[
    int | None, typer.Option(metavar="N", help="Samples of a benchmark in a boot.")
]
WarmupOption = Annotated[int | None, typer.Option(metavar="N", help="Samples discarded before.")]
PlotOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the plot, too: .svg or .png.")
]


def _option(
    metavar: str, told: str, *names: str, default: object = None, least: int | None = None
) -> Any:  # noqa: ANN401
    shown = typer.Option(*names, metavar=metavar or None, help=told, min=least)
    return field(default=default, metadata={"option": shown})


@dataclass(frozen=True)
class Asked:
    """What the options said that all measuring commands take; None: not said."""

    kernel: list[str] | None = _option("KERNEL", "Kernel: debian:6.1, host, a path. Repeatable.")
    setup: list[str] | None = _option(
        "SETUP", "Setup: selinux, landlock:layers=2, apparmor+bpf. Repeatable."
    )
    suite: list[str] | None = _option("SUITE", "Suite of benchmarks.")
    benchmark: list[str] | None = _option(
        "PATTERN", "Only these: an operation or a pattern: 'open*'."
    )
    filesystem: list[str] | None = _option("NAME", "tmpfs or ext4.")
    user: list[str] | None = _option("USER", "root or user (uid 1000).")
    image: str | None = _option(
        "IMAGE", "Root file system for the setups that need one: yours for theirs."
    )
    condition: list[str] | None = _option("KEY=VALUE", CONDITIONS_HELP)
    seed: int | None = _option("N", "Seed of orders and random numbers.")
    jobs: int | None = _option("N", "Guests at a time; default: the cores.", least=1)
    fresh: bool = _option("", "Measure again what is known.", "--fresh", default=False)
    run_dir: Path | None = _option("DIR", "Run directory to write.", "--run-dir", "--out")
    machine: str | None = _option("NAME", "Where guests boot.")
    boot_deadline: float = _option(
        "SECONDS",
        "What a guest may take that finishes no benchmark. One that goes on finishing them "
        "may take an hour, or 20 times this.",
        default=BOOT_S,
        least=1,
    )

    def words(self, **otherwise: Any) -> dict[str, Any]:  # noqa: ANN401  (of any key)
        """Return the keys of an experiment; otherwise has those of what was not said."""
        lists = ("kernel", "setup", "suite", "benchmark", "filesystem", "user")
        said = {f"{name}s": getattr(self, name) for name in lists}
        said |= {"image": self.image, "seed": self.seed}
        said["conditions"] = conditions(self.condition) or None
        return {**otherwise, **{key: value for key, value in said.items() if value is not None}}


def measuring(command: Callable[..., int], only: Collection[str] = ()) -> Callable[..., int]:
    """Add the options of Asked, or only some, to a command, which gets them as `asked`.

    What the command has of its own under the same name stays its own.
    """
    own = inspect.signature(command, eval_str=True).parameters
    types = get_type_hints(Asked)
    common = {
        item.name: inspect.Parameter(
            item.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=item.default,
            annotation=Annotated[types[item.name], item.metadata["option"]],
        )
        for item in fields(Asked)
        if item.name not in own and item.name in (only or types)
    }

    @functools.wraps(command)
    def call(**words: Any) -> int:  # noqa: ANN401  (the values of options)
        asked = Asked(**{name: words.pop(name) for name in common})
        return command(**words, asked=asked)

    mine = [item.replace(kind=inspect.Parameter.KEYWORD_ONLY) for item in own.values()]
    shown = [item for item in (*mine, *common.values()) if item.name != "asked"]
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
    words = {"true": True, "false": False}
    for setting in settings or []:
        key, equals, text = setting.partition("=")
        if not equals:
            raise UsageError(f"--condition: '{setting}' is not KEY=VALUE", hint=CONDITIONS_HELP)
        found[key] = words[text] if text in words else int(text) if text.isdigit() else text
    return found
