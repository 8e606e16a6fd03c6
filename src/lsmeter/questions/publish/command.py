# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter publish`: a static site from runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from lsmeter.cli.console import SCREEN
from lsmeter.cli.names import runs as known_runs
from lsmeter.cli.options import argument, declared
from lsmeter.core.errors import ExitCode, UsageError
from lsmeter.core.progress import Progress, shown

if TYPE_CHECKING:
    from lsmeter.core.model import Problem
    from lsmeter.questions.publish.figures import Point

_MOST_BYTES = 256 << 20  # of an earlier site's JSON


def publish(
    runs: Annotated[
        list[Path], argument("RUN", "Runs, each on any number of kernels.", known_runs)
    ],
    site: Annotated[Path, declared("publish.site")] = Path("site"),
) -> int:
    """Make a static site of what setups cost over kernel releases.

    A page for each series, setup, operation and kernel; the changes with the hooks that they are
    in, also as news.txt (what the site had not before: for mail), changes.txt, changes.atom; all of
    it as site.json. The site needs no script and loads nothing from elsewhere. Files of an earlier
    site are replaced.

        lsmeter publish runs/* -o site
        lsmeter run -k 'debian:6.12.*' -s selinux --attribute --run-dir r
    """
    from lsmeter.cli.live import LiveTasks
    from lsmeter.core.storage import check_output_dir, make_dir, output_dir, write_atomic
    from lsmeter.questions.publish import document
    from lsmeter.questions.publish.figures import make_site
    from lsmeter.questions.publish.hooks import name_hooks

    check_output_dir(site, "--output")
    with LiveTasks(SCREEN.err) as progress:
        made = name_hooks(make_site(*_read(runs, progress)), progress)
    if not made.points:
        raise UsageError(
            f"{runs[0]}: nothing to publish: no setup is compared with a baseline",
            hint="make a run: lsmeter run -k debian:6.1 -k debian:6.12 -s selinux",
        )
    home = output_dir(site, "--output")
    known = _known_steps(home / "site.json")
    news = [step for step in made.steps if document.step_id(step) not in known]
    files = document.files(made, news)
    # The JSON comes last: a site that was cut off is news again.
    for name in sorted(files, key=lambda name: name == "site.json"):
        make_dir((home / name).parent)
        write_atomic(home / name, files[name].encode())
    size = sum(len(text.encode()) for text in files.values())
    SCREEN.tell(
        f"{made.points:,} points on {len(made.releases)} kernels, {len(made.steps):,} changes "
        f"({len(news):,} new): {len(files)} files, {size / 1000:,.0f} kB"
    )
    SCREEN.tell(f"page    {home / 'index.html'}")
    return int(ExitCode.OK)


def _read(runs: Sequence[Path], progress: Progress) -> tuple[list[Point], list[Problem]]:
    """Return the points of runs, and what was not measured."""
    from lsmeter.measure.results.directory import read_run
    from lsmeter.questions.cells.cells import cell_results
    from lsmeter.questions.publish.figures import find_points, name_releases
    from lsmeter.questions.workload.figures import find_workloads

    points: list[Point] = []
    problems: list[Problem] = []
    with shown(progress, "read runs", len(runs)) as show:
        for done, path in enumerate(runs, 1):
            run = read_run(path)
            results, loads = cell_results(run), find_workloads(run)
            services = [item.comparison for item in loads.compared]
            points += find_points(run, services)
            said = [*run.manifest.problems, *loads.problems]
            said += [problem for item in results for problem in item.problems]
            problems.extend(name_releases(run.manifest, said))
            show(done)
    return points, problems


def _known_steps(path: Path) -> set[str]:
    """Return the changes that an earlier site has; none where there is no such site."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            return set()
        said = json.loads(path.read_bytes())
        return {str(item["id"]) for item in said["changes"]}
    except FileNotFoundError:
        return set()
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UsageError(
            f"{path}: not the JSON of a site ({type(error).__name__})",
            hint="name another directory, or remove it: all changes are news then",
        ) from error
