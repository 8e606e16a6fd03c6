# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tables of slopes say, as text in rows; how they look is up to the formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lsmeter.report import numbers
from lsmeter.slopes.model import DepthFit, Slope, SlopesReport
from lsmeter.statistics.regression import Whole

SLOPE_UNIT = "nanoseconds of the operation per nanosecond of policy latency, exact instrument"

_LEGEND = (
    "calls: of hooks that consult the policy (inode_permission, file_permission) in one "
    f"operation; ?: no whole number. study: the slope on Linux 5.3 that the ASIA CCS'21 study "
    f"has; {numbers.MISSING}: none. "
    f"slope: {SLOPE_UNIT}; error: its standard error; 95 %: half its confidence interval. "
    "residual: the largest, ns. intercept: ns of the operation, if calls waited for nothing."
)


@dataclass(frozen=True)
class Column:
    """A column of a table: its head, and whether it holds numbers."""

    head: str
    number: bool = True


@dataclass(frozen=True)
class Block:
    """A table with a title and what a reader must know of its columns."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    legend: str = ""


def blocks(report: SlopesReport) -> tuple[Block, ...]:
    """Return the tables of a report: for each kernel and setup its slopes, then its depths."""
    found = []
    for kernel, setup in _pairs(report.slopes):
        slopes = [item for item in report.slopes if (item.kernel, item.setup) == (kernel, setup)]
        depths = [item for item in report.depths if (item.kernel, item.setup) == (kernel, setup)]
        found.append(_slopes_block(report, f"{setup} on {kernel}", slopes))
        if depths:
            found.append(_depths_block(f"{setup} on {kernel}: cost of a path", depths))
    return tuple(found)


def doubts(report: SlopesReport) -> tuple[str, ...]:
    """Say of each slope that is no whole number why it is not taken for one."""
    return tuple(
        f"{slope.benchmark.id} ({slope.setup} on {slope.kernel}): {slope.hook_calls.reason}"
        for slope in report.slopes
        if slope.hook_calls.value is None
    )


def _pairs(slopes: Iterable[Slope]) -> tuple[tuple[str, str], ...]:
    return tuple(dict.fromkeys((slope.kernel, slope.setup) for slope in slopes))


def _slopes_block(report: SlopesReport, title: str, slopes: list[Slope]) -> Block:
    columns: list[tuple[Column, Callable[[Slope], str]]] = [
        (Column("operation", number=False), lambda s: s.benchmark.operation),
        (Column("variant", number=False), lambda s: numbers.variant(s.benchmark)),
        (Column("calls"), lambda s: _whole(s.hook_calls)),
        *_lookup_columns(report, slopes),
        (Column("study"), lambda s: _published(report, s)),
        (Column("slope"), lambda s: f"{s.regression.slope.value:.4f}"),
        (Column("error"), lambda s: _small(s.regression.slope.stderr)),
        (Column("95 %"), _half_interval),
        (Column("r²"), lambda s: _r2(s.regression.r2)),
        (Column("residual"), lambda s: f"{s.regression.max_residual:,.1f}"),
        (Column("intercept"), lambda s: f"{s.regression.intercept.value:,.0f}"),
    ]
    return Block(
        title=title,
        columns=tuple(column for column, _ in columns),
        rows=tuple(tuple(write(slope) for _, write in columns) for slope in slopes),
        legend=_LEGEND + _lookup_legend(report, slopes),
    )


def _lookup_columns(
    report: SlopesReport, slopes: list[Slope]
) -> list[tuple[Column, Callable[[Slope], str]]]:
    """Return a column for each file of counters that was read: its first number."""
    found = {(item.setup, item.counter, item.benchmark.id): item for item in report.lookups}

    def column(setup: str, counter: str) -> tuple[Column, Callable[[Slope], str]]:
        def write(slope: Slope) -> str:
            item = found.get((setup, counter, slope.benchmark.id))
            return numbers.MISSING if item is None else f"{item.value}{'' if item.steady else '~'}"

        return Column(_file(counter)), write

    return [column(*key) for key in _shown_counters(report, slopes)]


def _lookup_legend(report: SlopesReport, slopes: list[Slope]) -> str:
    return "".join(
        f" {_file(counter)}: {counter} of {setup} in one operation, by its own count; "
        f"{numbers.MISSING}: not read."
        for setup, counter in _shown_counters(report, slopes)
    )


def _shown_counters(report: SlopesReport, slopes: list[Slope]) -> list[tuple[str, str]]:
    """Return setup and name of the first counter of each file that was read on these kernels."""
    kernels = {slope.kernel for slope in slopes}
    first: dict[tuple[str, str], str] = {}
    for item in report.lookups:
        if item.kernel in kernels:
            first.setdefault((item.setup, _file(item.counter)), item.counter)
    return [(setup, counter) for (setup, _), counter in first.items()]


def _file(counter: str) -> str:
    return counter.partition(".")[0]


def _depths_block(title: str, depths: list[DepthFit]) -> Block:
    columns: list[tuple[Column, Callable[[DepthFit], str]]] = [
        (Column("operation", number=False), lambda d: d.operation),
        (Column("depths", number=False), lambda d: _depths(d.depths)),
        (Column("calls/part"), lambda d: _share(d.per_component, d, slope=True)),
        (Column("calls fixed"), lambda d: _share(d.fixed, d, slope=False)),
        (Column("ns/part"), lambda d: f"{d.latency.slope.value:,.0f}"),
        (Column("ns fixed"), lambda d: f"{d.latency.intercept.value:,.0f}"),
        (Column("r² of ns"), lambda d: _r2(d.latency.r2)),
    ]
    return Block(
        title=title,
        columns=tuple(column for column, _ in columns),
        rows=tuple(tuple(write(fit) for _, write in columns) for fit in depths),
        legend="part: one more component of the path. ns: if calls waited for nothing.",
    )


def _depths(depths: tuple[int, ...]) -> str:
    if len(depths) > 2 and depths == tuple(range(depths[0], depths[-1] + 1)):
        return f"{depths[0]} to {depths[-1]}"
    return ", ".join(map(str, depths))


def _half_interval(slope: Slope) -> str:
    term = slope.regression.slope
    if term.ci_low is None or term.ci_high is None:
        return numbers.MISSING
    return "±" + _small((term.ci_high - term.ci_low) / 2)


def _small(value: float | None) -> str:
    if value is None:
        return numbers.MISSING
    return "0" if value == 0 else f"{value:.1e}"


def _r2(value: float | None) -> str:
    # Rounded down: 0.999999 must not be shown as a perfect fit.
    return numbers.MISSING if value is None else f"{int(value * 1e7) / 1e7:.7f}"


def _whole(whole: Whole) -> str:
    return "?" if whole.value is None else str(whole.value)


def _share(whole: Whole, fit: DepthFit, *, slope: bool) -> str:
    if whole.value is not None:
        return str(whole.value)
    term = fit.hook_calls.slope if slope else fit.hook_calls.intercept
    return f"{term.value:.2f}"


def _published(report: SlopesReport, slope: Slope) -> str:
    row = report.published_for(slope)
    return numbers.MISSING if row is None else f"{row.slope:g}"
