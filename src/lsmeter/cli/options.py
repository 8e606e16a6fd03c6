# SPDX-License-Identifier: GPL-2.0-or-later
"""Options that all measuring commands share, and the experiment that they ask for."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Collection
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from lsmeter.cli import names
from lsmeter.core.errors import UsageError
from lsmeter.core.inputs import whole_number
from lsmeter.core.limits import BOOT_S

if TYPE_CHECKING:
    from lsmeter.measure.experiment.asked import Experiment

T = TypeVar("T")

CONDITIONS_HELP = (
    "What changes counts without being the setup: "
    "mitigations=off|auto|immune|retpoline|retpoline+pti|forced, "
    "init_on_alloc=true|false, tick=nohz|periodic, slabs=single|default, memcg=true|false, "
    "lsms=NAME,NAME, icount_shift=N, memory_mib=N, cpu=MODEL."
)

# What an experiment may have of one kind; a plan of more would not end.
_MOST_NAMES = 200


def fraction(text: str) -> float:
    """Read a share: 0.01 or 1%, at most 1."""
    number, percent, rest = text.strip().partition("%")
    try:
        value = float(number) / (100 if percent else 1)
    except ValueError:
        value = math.nan
    if rest or not 0 <= value <= 1:
        raise typer.BadParameter(f"{text[:40]!r} is no share: write 1% or 0.01, at most 100%")
    return value


RunArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="RUN",
        help="Run directory to show again; without one, measure.",
        autocompletion=names.runs,
    ),
]
BootsOption = Annotated[
    int | None, typer.Option(metavar="N", help="Boots of each cell.  [default: 2]")
]
SamplesOption = Annotated[
    int | None, typer.Option(metavar="N", help="Samples of a benchmark in a boot.")
]
WarmupOption = Annotated[int | None, typer.Option(metavar="N", help="Samples discarded before.")]
MarginOption = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        parser=fraction,
        help="Overheads within ± this share are equivalent: 1% or 0.01.  [default: 1%]",
    ),
]
PlotOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the plot, too: .svg or .png.")
]


def option(
    metavar: str | None,
    told: str,
    *names: str,
    default: object = None,
    shown: str = "",
    **more: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Make a field of a dataclass of options; names are given where it is not called like it.

    shown: what help says of the default, where that is not the default itself.
    """
    metadata = {"told": told, "names": names, "shown": shown, "more": {"metavar": metavar, **more}}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Asked:
    """What the options said that all measuring commands take; None: not said."""

    kernel: list[str] | None = option(
        "KERNEL",
        "Kernel: debian:6.1, host, a path. Repeatable.",
        *("--kernel", "-k"),
        autocompletion=names.offer("kernels"),
        shown="debian:6.1",
    )
    setup: list[str] | None = option(
        "SETUP",
        "Setup: selinux, landlock:layers=2, apparmor+bpf. Repeatable.",
        *("--setup", "-s"),
        autocompletion=names.setups,
    )
    suite: list[str] | None = option(
        "SUITE",
        "Suite of benchmarks. Repeatable.",
        autocompletion=names.offer("suites"),
        shown="file",
    )
    benchmark: list[str] | None = option(
        "PATTERN",
        "Only these: an operation or a pattern: 'open*', 'ipc/pipe*'. Repeatable.",
        *("--benchmark", "-b"),
        autocompletion=names.offer("benchmarks"),
        shown="all",
    )
    filesystem: list[str] | None = option(
        "NAME",
        "tmpfs, ext2, ext4, xfs, btrfs or overlay. Repeatable.",
        autocompletion=names.offer("filesystems"),
        shown="tmpfs",
    )
    user: list[str] | None = option(
        "USER",
        "root or user (uid 1000). Repeatable.",
        autocompletion=names.offer("users"),
        shown="root",
    )
    image: str | None = option(
        "IMAGE",
        "Root file system for the setups that need one: yours for theirs.",
        autocompletion=names.offer("images"),
    )
    condition: list[str] | None = option("KEY=VALUE", CONDITIONS_HELP + " Repeatable.")
    seed: int | None = option("N", "Seed of orders and random numbers.")
    jobs: int | None = option(
        "N", "Guests at a time.", *("--jobs", "-j"), min=1, shown="one a core"
    )
    fresh: bool = option(None, "Measure again what is known.", "--fresh", default=False)
    run_dir: Path | None = option(
        "DIR",
        "Directory to keep the run in; --output is for what is shown.",
        shown="runs/TIME-NAME",
    )
    machine: list[str] | None = option(
        "NAME",
        "Where it is measured: emulation, here, kvm, ssh:USER@HOST (repeatable).",
        autocompletion=names.offer("machines"),
        shown="that of the instrument",
    )
    boot_deadline: float = option(
        "SECONDS",
        "What a guest may take that finishes no benchmark. One that goes on finishing them "
        "may take an hour, or 20 times this.",
        default=BOOT_S,
        min=1,
    )

    def words(self, **otherwise: Any) -> dict[str, Any]:  # noqa: ANN401  (of any key)
        """Return the keys of an experiment; otherwise has those of what was not said."""
        lists = ("kernel", "setup", "suite", "benchmark", "filesystem", "user")
        said = {f"{name}s": getattr(self, name) for name in lists}
        for name in lists:
            if len(said[f"{name}s"] or ()) > _MOST_NAMES:
                raise UsageError(f"--{name}: given more than {_MOST_NAMES} times")
        said |= {"image": self.image, "seed": self.seed}
        said["conditions"] = conditions(self.condition) or None
        return {**otherwise, **{key: value for key, value in said.items() if value is not None}}


def measuring(
    command: Callable[..., int], without: Collection[str] = (), **defaults: str
) -> Callable[..., int]:
    """Add the options of Asked to a command, which gets them as `asked`.

    without: those that it does not take. defaults: what its help says of an option's default.
    """
    return added(command, Asked, lambda asked: {"asked": asked}, without, **defaults)


def added(
    command: Callable[..., Any],
    kind: type[T],
    use: Callable[[T], dict[str, T]],
    without: Collection[str] = (),
    **defaults: str,
) -> Callable[..., Any]:
    """Add the options of a dataclass to a command, which gets what `use` makes of them.

    What the command has of its own under the same name stays its own.
    """
    own = inspect.signature(command, eval_str=True).parameters
    types = get_type_hints(kind)
    common = {
        item.name: inspect.Parameter(
            item.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=item.default,
            annotation=Annotated[
                types[item.name], _typed(item, defaults.get(item.name, item.metadata["shown"]))
            ],
        )
        for item in fields(kind)  # type: ignore[arg-type]
        if item.name not in own and item.name not in without
    }

    @functools.wraps(command)
    def call(**words: Any) -> Any:  # noqa: ANN401  (the values of options)
        chosen = kind(**{name: words.pop(name) for name in common})
        return command(**words, **use(chosen))

    mine = [item.replace(kind=inspect.Parameter.KEYWORD_ONLY) for item in own.values()]
    shown = [item for item in (*mine, *common.values()) if item.annotation is not kind]
    call.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    call.__annotations__ = {item.name: item.annotation for item in shown}
    return call


def _typed(item: Field[Any], shown: str) -> Any:  # noqa: ANN401  (typer's own types)
    told = item.metadata["told"] + (f"  [default: {shown}]" if shown else "")
    return typer.Option(*item.metadata["names"], help=told, **item.metadata["more"])


def experiment(words: dict[str, Any], file: Path | None = None) -> Experiment:
    """Lay the words of the command line over those of a file; None means: not said."""
    from lsmeter.measure.experiment.asked import build_experiment, merge, read_experiment

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
        number = whole_number(text)
        found[key] = words.get(text, text) if number is None else number
    return found
