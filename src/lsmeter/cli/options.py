# SPDX-License-Identifier: GPL-2.0-or-later
"""Options: each is declared once, with its group in the help; and the experiment they make.

Commands take options one by one, or a dataclass of them, whose fields are declared like a
command's own parameters.
"""

from __future__ import annotations

import copy
import functools
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer

from lsmeter.cli import names
from lsmeter.cli.console import Colour
from lsmeter.core.errors import UsageError
from lsmeter.core.inputs import whole_number
from lsmeter.core.limits import BOOT_S

if TYPE_CHECKING:
    from lsmeter.measure.experiment.options import Experiment

# The groups of options, as help shows them after a command's own; the last only `lsmeter help`.
MEASURED = "What to measure"
READING = "How to measure"
ORIGIN = "Where the cost comes from"
RULES = "Rules"
WORKLOADS = "Workloads"
TIMES = "Times"
OUTPUT = "Output"
RARE = "Rarely needed"
GROUPS = (MEASURED, READING, ORIGIN, RULES, WORKLOADS, TIMES, OUTPUT, RARE)

CONDITIONS = (
    "mitigations, init_on_alloc, tick, slabs, memcg, lsms, icount_shift, memory_mib or cpu: "
    "lsmeter help experiments"
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


def option(
    metavar: str | None,
    text: str,
    *flags: str,
    group: str | None = None,
    default: str | None = None,
    offer: str | Callable[[str], list[str]] | None = None,
    **more: Any,
) -> Any:
    """Declare an option; flags are given where it is not called like its parameter.

    default: what help says of it, where that is not the default itself; "" for nothing. offer: the
    names that the shell completes, or which of `lsmeter list`.
    """
    return typer.Option(
        *flags,
        metavar=metavar,
        help=text,
        rich_help_panel=group,
        show_default=True if default is None else default or False,
        autocompletion=names.offer(offer) if isinstance(offer, str) else offer,
        **more,
    )


def argument(metavar: str, text: str, offer: Callable[[str], list[str]] | None = None) -> Any:
    """Declare an argument."""
    return typer.Argument(metavar=metavar, help=text, autocompletion=offer)


def flag(text: str, name: str, group: str | None = None) -> Any:
    """Declare an option without a value."""
    return option(None, text, name, group=group)


_List = list[str] | None
RunArgument = Annotated[
    Path | None, argument("RUN", "Run to show again; without one, measure.", names.runs)
]
LatestRunArgument = Annotated[
    Path | None,
    argument("RUN", "Run directory, or packed run. [default: the latest in runs/]", names.runs),
]
BootsOption = Annotated[int | None, option("N", "Boots of each cell.", group=READING, default="2")]
SamplesOption = Annotated[int | None, option("N", "Samples of a benchmark in a boot.", group=RARE)]
MarginOption = Annotated[
    float | None,
    option(
        "SHARE",
        "±SHARE counts as equivalent.",
        group=READING,
        default="1%",
        parser=fraction,
    ),
]
TuneOption = Annotated[
    bool, flag("Fix governor, turbo, ASLR, CPU; restored after.", "--tune", TIMES)
]
PlotOption = Annotated[
    Path | None, option("FILE", "Write the plot, too: .svg or .png.", group=OUTPUT)
]
AllOption = Annotated[bool, flag("Every benchmark, whole cost, check and layer.", "--all", OUTPUT)]
SetupOption = Annotated[
    _List,
    option("SETUP", "Only these setups, and the baseline.", "--setup", "-s", offer=names.setups),
]
BenchmarkOption = Annotated[
    _List,
    option("PATTERN", "Only these operations: 'open*'.", "--benchmark", "-b", offer="benchmarks"),
]
CalibrationOption = Annotated[
    str | None,
    option(
        "NAME|FILE",
        "Predict times by it, or none.",
        group=ORIGIN,
        default="newest",
    ),
]
BesideOption = Annotated[
    _List,
    option(
        "STUDY", "Printed values: lomac2001, or a file of yours.", group=OUTPUT, offer="studies"
    ),
]


@dataclass(frozen=True)
class Options:
    """The options of all commands that measure; None where one is not given."""

    kernel: Annotated[
        _List,
        option(
            "KERNEL",
            "debian:6.1, host or a path",
            *("--kernel", "-k"),
            group=MEASURED,
            default="debian:6.1",
            offer="kernels",
        ),
    ] = None
    setup: Annotated[
        _List,
        option(
            "SETUP",
            "selinux, landlock:layers=2, apparmor+bpf",
            *("--setup", "-s"),
            group=MEASURED,
            offer=names.setups,
        ),
    ] = None
    suite: Annotated[
        _List,
        option("SUITE", "Suite of benchmarks.", group=MEASURED, default="file", offer="suites"),
    ] = None
    benchmark: Annotated[
        _List,
        option(
            "PATTERN",
            "Only these operations: 'open*', 'ipc/pipe*'.",
            *("--benchmark", "-b"),
            group=MEASURED,
            offer="benchmarks",
        ),
    ] = None
    filesystem: Annotated[
        _List,
        option(
            "NAME",
            "tmpfs (default), ext2, ext4, xfs, btrfs, overlay",
            group=MEASURED,
            offer="filesystems",
        ),
    ] = None
    user: Annotated[
        _List,
        option("USER", "root or user (uid 1000)", group=MEASURED, default="root", offer="users"),
    ] = None
    image: Annotated[
        str | None,
        option("IMAGE", "Root file system of setups that need one.", group=RARE, offer="images"),
    ] = None
    condition: Annotated[_List, option("KEY=VALUE", f"Set {CONDITIONS}.", group=RARE)] = None
    machine: Annotated[
        _List,
        option(
            "NAME",
            "emulation (exact), here (timed), kvm, ssh:HOST",
            group=READING,
            offer="machines",
        ),
    ] = None
    jobs: Annotated[
        int | None,
        option(
            "N", "Guests at a time.", "--jobs", "-j", group=READING, default="one a core", min=1
        ),
    ] = None
    fresh: Annotated[bool, flag("Measure again what is known.", "--fresh", READING)] = False
    seed: Annotated[int | None, option("N", "Seed of orders and random numbers.", group=RARE)] = (
        None
    )
    boot_deadline: Annotated[
        float,
        option(
            "SECONDS",
            "What a guest may take that finishes no benchmark. One that goes on finishing them "
            "may take an hour, or 20 times this.",
            group=RARE,
            min=1,
        ),
    ] = BOOT_S
    run_dir: Annotated[
        Path | None,
        option("DIR", "Keep the run here.", group=OUTPUT, default="runs/TIME-NAME"),
    ] = None

    def keys(self, **defaults: Any) -> dict[str, Any]:
        """Return the keys of an experiment: those of the options over defaults."""
        lists = ("kernel", "setup", "suite", "benchmark", "filesystem", "user")
        found = {f"{name}s": getattr(self, name) for name in lists}
        for name in lists:
            if len(found[f"{name}s"] or ()) > _MOST_NAMES:
                raise UsageError(f"--{name}: given more than {_MOST_NAMES} times")
        found |= {"image": self.image, "seed": self.seed}
        found["conditions"] = conditions(self.condition) or None
        return {**defaults, **{key: value for key, value in found.items() if value is not None}}

    def experiment(self, **defaults: Any) -> Experiment:
        """Return the experiment of the options, over defaults."""
        return make_experiment(self.keys(**defaults))


def _known_format(name: str) -> str:
    from lsmeter.tables.render import find_format

    return find_format(name).name


@dataclass(frozen=True)
class Display:
    """How a command shows what it has."""

    form: Annotated[
        str,
        option(
            "FORMAT",
            "table, text, html, json...: lsmeter list formats",
            *("--format", "-f"),
            default="",
            group=OUTPUT,
            callback=_known_format,
            offer="formats",
        ),
    ] = "table"
    output: Annotated[
        Path | None,
        option("FILE", "Write what is shown to a file.", "--output", "-o", group=OUTPUT),
    ] = None
    colour: Annotated[
        Colour | None,
        option("WHEN", "auto (default), always or never", group=OUTPUT),
    ] = None
    quiet: Annotated[
        bool, option(None, "Show results and errors only.", "--quiet", "-q", group=OUTPUT)
    ] = False
    verbose: Annotated[
        bool,
        option(None, "Say more: each boot, QEMU's arguments.", "--verbose", "-v", group=OUTPUT),
    ] = False


@dataclass(frozen=True)
class Change:
    """What a command changes of a dataclass of options, as an annotation beside it."""

    without: tuple[str, ...]
    defaults: dict[str, str]


def but(*without: str, **defaults: str) -> Change:
    """Leave options out, and say other defaults of them in help."""
    return Change(without, defaults)


def expand(
    command: Callable[..., Any], display: object, use: Callable[[Any], None]
) -> Callable[..., Any]:
    """Replace a command's dataclasses of options by their fields, and add those of `display`.

    What the command has of its own under the same name stays its own.
    """
    own = inspect.signature(command, eval_str=True).parameters
    plain, groups = dict[str, inspect.Parameter](), dict[str, tuple[type, set[str]]]()
    for name, annotation in {**{n: p.annotation for n, p in own.items()}, "": display}.items():
        kind, change = (
            (*get_args(annotation), None)[:2] if get_args(annotation) else (annotation, None)
        )
        if not (isinstance(kind, type) and is_dataclass(kind)):
            plain[name] = own[name].replace(kind=inspect.Parameter.KEYWORD_ONLY)
            continue
        change = change if isinstance(change, Change) else but()
        fields = {n: p for n, p in _parameters(kind).items() if n not in {*own, *change.without}}
        plain |= {n: _said(p, change.defaults.get(n)) for n, p in fields.items()}
        groups[name] = kind, set(fields)

    @functools.wraps(command)
    def call(**values: Any) -> Any:
        made = {
            name: kind(**{field: values.pop(field) for field in fields})
            for name, (kind, fields) in groups.items()
        }
        use(made.pop(""))
        return command(**values, **made)

    call.__signature__ = inspect.Signature([*plain.values()])  # type: ignore[attr-defined]
    call.__annotations__ = {name: item.annotation for name, item in plain.items()}
    return call


@functools.cache
def _parameters(kind: type) -> dict[str, inspect.Parameter]:
    """Return the fields of a dataclass of options as a command's parameters."""
    return {
        name: inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=getattr(kind, name),
            annotation=annotation,
        )
        for name, annotation in get_type_hints(kind, include_extras=True).items()
    }


def _said(item: inspect.Parameter, default: str | None) -> inspect.Parameter:
    """Return an option with another default in its help."""
    if default is None:
        return item
    kind, declared = get_args(item.annotation)
    declared = copy.copy(declared)
    declared.show_default = default
    return item.replace(annotation=Annotated[kind, declared])


def make_experiment(keys: dict[str, Any], file: Path | None = None) -> Experiment:
    """Lay keys over those of a file; None means: not given."""
    from lsmeter.measure.experiment.options import build_experiment, merge, read_experiment

    data = read_experiment(file) if file is not None else {}
    return build_experiment(merge(data, keys), where=str(file or "command line"))


def conditions(settings: list[str] | None) -> dict[str, Any]:
    """Read KEY=VALUE settings into what TOML would have given."""
    found: dict[str, Any] = {}
    words = {"true": True, "false": False}
    for setting in settings or []:
        key, equals, text = setting.partition("=")
        if not equals:
            raise UsageError(
                f"--condition: '{setting}' is not KEY=VALUE", hint=f"KEY: {CONDITIONS}"
            )
        number = whole_number(text)
        found[key] = words.get(text, text) if number is None else number
    return found
