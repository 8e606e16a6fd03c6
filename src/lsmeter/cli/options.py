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
import tomllib
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
OUTPUT = "Output"
RARE = "Rarely needed"
GROUPS = (
    *("What to measure", "The command", "How to measure", "Where the cost comes from"),
    *("Rules", "Workloads", "Times", OUTPUT, RARE),
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


def argument(metavar: str, text: str, offer: Callable[[str], list[str]] | None = None) -> Any:
    """Declare an argument."""
    return typer.Argument(metavar=metavar, help=text, autocompletion=offer)


_List = list[str] | None
_TEXTS = tomllib.loads(Path(__file__).with_name("options.toml").read_text("utf-8"))


def declared(name: str, **more: Any) -> Any:
    """Declare an option as options.toml has it: `seed`, or `run.quick` of one command.

    more: what is otherwise here, and what only typer knows (callback).
    """
    command, _, own = name.rpartition(".")
    said = {**(_TEXTS[command] if command else _TEXTS)[own], **more}
    default, offer = said.pop("default", None), said.pop("offer", None)
    return typer.Option(
        *said.pop("flags", ()),
        metavar=said.pop("metavar", None),
        help=said.pop("text"),
        rich_help_panel=said.pop("group", None),
        show_default=True if default is None else default or False,
        autocompletion=names.offer(offer) if offer else None,
        **said,
    )


RunArgument = Annotated[
    Path | None, argument("RUN", "Run to show again; without one, measure.", names.runs)
]
LatestRunArgument = Annotated[
    Path | None,
    argument("RUN", "Run directory, or packed run. [default: the latest in runs/]", names.runs),
]
BootsOption = Annotated[int | None, declared("boots")]
SamplesOption = Annotated[int | None, declared("samples")]
MarginOption = Annotated[float | None, declared("margin", parser=fraction)]
TuneOption = Annotated[bool, declared("tune")]
PlotOption = Annotated[Path | None, declared("plot")]
AllOption = Annotated[bool, declared("everything")]
SetupOption = Annotated[_List, declared("only_setup")]
BenchmarkOption = Annotated[_List, declared("only_benchmark")]
CalibrationOption = Annotated[str | None, declared("calibration")]
BesideOption = Annotated[_List, declared("beside")]


@dataclass(frozen=True)
class Options:
    """The options of all commands that measure; None where one is not given."""

    kernel: Annotated[_List, declared("kernel")] = None
    arch: Annotated[_List, declared("arch")] = None
    setup: Annotated[_List, declared("setup")] = None
    suite: Annotated[_List, declared("suite")] = None
    benchmark: Annotated[_List, declared("benchmark")] = None
    filesystem: Annotated[_List, declared("filesystem")] = None
    user: Annotated[_List, declared("user")] = None
    image: Annotated[str | None, declared("image")] = None
    condition: Annotated[_List, declared("condition")] = None
    machine: Annotated[_List, declared("machine")] = None
    insecure: Annotated[bool, declared("insecure")] = False
    jobs: Annotated[int | None, declared("jobs")] = None
    fresh: Annotated[bool, declared("fresh")] = False
    seed: Annotated[int | None, declared("seed")] = None
    boot_deadline: Annotated[float, declared("boot_deadline")] = BOOT_S
    run_dir: Annotated[Path | None, declared("run_dir")] = None

    def keys(self, **defaults: Any) -> dict[str, Any]:
        """Return the keys of an experiment: those of the options over defaults."""
        lists = ("kernel", "setup", "suite", "benchmark", "filesystem", "user")
        found = {f"{name}s": getattr(self, name) for name in lists}
        for name in lists:
            if len(found[f"{name}s"] or ()) > _MOST_NAMES:
                raise UsageError(f"--{name}: given more than {_MOST_NAMES} times")
        found |= {"arches": self.arch, "image": self.image, "seed": self.seed}
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

    form: Annotated[str, declared("form", callback=_known_format)] = "table"
    output: Annotated[Path | None, declared("output")] = None
    colour: Annotated[Colour | None, declared("colour")] = None
    quiet: Annotated[bool, declared("quiet")] = False
    verbose: Annotated[bool, declared("verbose")] = False


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
            known = _TEXTS["condition"]["text"].removeprefix("Set ").removesuffix(".")
            raise UsageError(f"--condition: '{setting}' is not KEY=VALUE", hint=f"KEY: {known}")
        number = whole_number(text)
        found[key] = words.get(text, text) if number is None else number
    return found
