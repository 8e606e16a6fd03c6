# SPDX-License-Identifier: GPL-2.0-or-later
"""What can be named: the lists of `lsmeter list`, and what the shell offers of them."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from itertools import chain
from pathlib import Path

from lsmeter.core.errors import LsmeterError
from lsmeter.core.groups import grouped

Row = tuple[str, str]


def _setups() -> Iterable[Row]:
    from lsmeter.catalogue.setups import definitions

    for definition in definitions().values():
        yield definition.setup.name, definition.setup.title
        for item in definition.parameters:
            told = f"{item.title}, {item.accepts}, default {item.default}"
            yield f"  :{item.name}={item.kind}", told
    yield "a+b+c", "a stack of modules, in this order"


def _benchmarks() -> Iterable[Row]:
    from lsmeter.catalogue.workloads import load_workload, workload_names
    from lsmeter.guest.probe import catalogue, find_probe

    loaded = (load_workload(name).benchmarks for name in workload_names())
    for item in chain(catalogue(find_probe()), *loaded):
        yield item.id, f"{item.title} [{item.suite}, {item.origin}]"


def _suites() -> Iterable[Row]:
    from lsmeter.catalogue.workloads import load_workload, workload_names
    from lsmeter.guest.probe import catalogue, find_probe

    suites = grouped((item.suite, item.operation) for item in catalogue(find_probe()))
    for suite, operations in suites.items():
        names = ", ".join(dict.fromkeys(operations))
        yield suite, f"{len(operations)} benchmarks: {names}"
    for name in workload_names():
        offer = load_workload(name)
        yield name, f"{len(offer.benchmarks)} benchmarks: {offer.title}"


def _kernels() -> Iterable[Row]:
    from lsmeter.sources.kernels.resolve import listings

    for listing in listings():
        state = f" (cached: {listing.version})" if listing.cached else ""
        yield listing.name, listing.title + state


def _machines() -> Iterable[Row]:
    from lsmeter.machines import machines

    return ((item.name, item.title) for item in machines().values() if not item.internal)


def _images() -> Iterable[Row]:
    from lsmeter.sources.images.build import IMAGES
    from lsmeter.sources.images.definition import definition_names, load_definition

    for name in definition_names():
        yield name, load_definition(name).title
    yield from ((image.name, image.title) for image in IMAGES.all())


def _studies() -> Iterable[Row]:
    from lsmeter.catalogue.studies import find_published, published_names

    return [(name, find_published(name).title) for name in published_names()]


def _titled(module: str, name: str) -> Callable[[], Iterable[Row]]:
    """Return the list of what a module has or gives by that name, which is loaded only for it."""

    def rows() -> Iterable[Row]:
        found = getattr(import_module(f"lsmeter.{module}"), name)
        found = found() if callable(found) else found
        each = found.values() if isinstance(found, Mapping) else found
        return [(item.name, item.title) for item in each]

    return rows


KINDS: dict[str, Callable[[], Iterable[Row]]] = {
    "setups": _setups,
    "suites": _suites,
    "benchmarks": _benchmarks,
    "kernels": _kernels,
    "instruments": _titled("measure.instruments", "instruments"),
    "filesystems": _titled("core.model.filesystems", "FILESYSTEMS"),
    "users": lambda: (("root", "uid 0"), ("user", "uid 1000, no capabilities")),
    "images": _images,
    "machines": _machines,
    "formats": _titled("tables.render", "formats"),
    "imports": _titled("questions.importing", "formats"),
    "studies": _studies,
}


def offer(kind: str) -> Callable[[str], list[str]]:
    """Return the function that offers the names of one of the lists of `lsmeter list`."""
    if kind == "setups":
        return setups
    return lambda incomplete: [name for name in _listed(kind) if name.startswith(incomplete)]


def _listed(kind: str) -> Iterator[str]:
    with suppress(LsmeterError):
        yield from (name for name, _ in KINDS[kind]())


def kinds(incomplete: str) -> list[str]:
    """Offer the kinds of names that `lsmeter list` knows."""
    return [kind for kind in KINDS if kind.startswith(incomplete)]


def setups(incomplete: str) -> list[str]:
    """Offer setups; after a plus what a stack goes on with, after a colon the parameters."""
    done, plus, last = incomplete.rpartition("+")
    found, setup = [], ""
    for name in _listed("setups"):
        # A setup's parameters come after it, each as "  :name=VALUE".
        parameter = name.startswith(" ")
        setup = setup if parameter else name
        if parameter == (":" in last) and name != "a+b+c":
            found.append(f"{setup}{name.strip().partition('=')[0]}=" if parameter else name)
    return [f"{done}{plus}{name}" for name in found if name.startswith(last)]


def runs(incomplete: str) -> list[str]:
    """Offer run directories: those in ./runs, the newest first, else those at the path typed."""
    here = sorted(Path("runs").glob("*/manifest.json"), reverse=True)
    found = [str(path.parent) for path in here if str(path.parent).startswith(incomplete)]
    folder, _, start = incomplete.rpartition("/")
    home = Path(f"{folder}/" if "/" in incomplete else ".")
    there = sorted(home.glob(f"{glob.escape(start)}*/"))
    return found or [str(p) + "/" * (not (p / "manifest.json").is_file()) for p in there]
