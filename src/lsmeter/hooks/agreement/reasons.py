# SPDX-License-Identifier: GPL-2.0-or-later
"""The known reasons why views differ: data, each with the numbers that it can explain; pure.

A reason holds only where it predicts the direction and the range of the difference. What none
of them predicts stays open. Adding a reason is adding an entry to REASONS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lsmeter.hooks.agreement.model import Bound, View

CHECKS_NAME = "inode_permission + file_permission"
_SOURCE = (View.ORDINARY, View.MOST)

# How far a slope that is no whole number may lie from the number that others have: two usual
# costs of one operation, mixed otherwise at each delay, shift it by no more.
SLOPE_TOLERANCE = 0.02

# Hooks that free what an earlier operation left; the kernel runs them when it gets to it.
_DEFERRED = frozenset(
    {
        *("security_inode_free", "security_file_free", "security_cred_free"),
        *("security_task_free", "security_sb_free"),
    }
)

# Hooks of open's flags O_CREAT and O_TRUNC, which the benchmarks do not set.
_OPEN_FLAGS = frozenset(
    {
        *("security_inode_create", "security_path_mknod", "security_inode_mknod"),
        *("security_path_truncate", "security_file_truncate", "security_inode_setattr"),
        *("security_inode_init_security", "security_inode_alloc", "security_inode_free"),
        *("security_d_instantiate", "security_inode_need_killpriv", "security_inode_killpriv"),
        *("security_old_inode_init_security", "security_inode_post_create_tmpfile"),
        *("security_inode_post_setattr", "security_inode_setsecurity"),
    }
)


@dataclass(frozen=True)
class Case:
    """A difference to be explained.

    first is the source's view where it takes part, else the view named first in the tables.
    """

    operation: str
    params: tuple[str, ...]  # as in the benchmark's id: ("depth=4",)
    setup: str
    hook: str  # or CHECKS_NAME
    first: View
    first_runs: float
    second: View
    second_runs: float
    bound: Bound | None = None
    steady: bool = True  # what was counted
    whole_slope: bool = True

    @property
    def modules(self) -> frozenset[str]:
        """Name the modules of the setup, without their parameters."""
        return frozenset(part.partition(":")[0] for part in self.setup.split("+"))

    @property
    def of_source(self) -> bool:
        """Whether the source takes part."""
        return self.first in _SOURCE

    @property
    def below_ordinary(self) -> bool:
        """Whether fewer runs were measured than ordinary ways through the source allow."""
        return self.of_source and self.second_runs < self.first_runs

    @property
    def in_retries(self) -> bool:
        """Whether more were measured, within what the source has with retries and links."""
        return (
            self.of_source
            and self.bound is not None
            and self.bound.ordinary < self.second_runs <= self.bound.most
        )


@dataclass(frozen=True)
class Reason:
    """Why two views may differ; holds says whether it explains a case."""

    name: str
    text: str
    holds: Callable[[Case], bool]


def _slow_walk_against_slope(case: Case) -> bool:
    return (
        case.hook == CHECKS_NAME
        and View.SLOPE in (case.first, case.second)
        and "smack" in case.modules
        and case.first_runs > case.second_runs
    )


REASONS: tuple[Reason, ...] = (
    Reason(
        "other flags",
        "only open with O_CREAT or O_TRUNC asks this hook, and the benchmark sets neither; the "
        "source counts the dearest way over all flags",
        lambda case: (
            case.below_ordinary
            and case.second_runs == 0
            and case.operation in ("open", "openat")
            and case.hook in _OPEN_FLAGS
        ),
    ),
    Reason(
        "upper bound",
        "the source gives the most runs over all flags, file types and outcomes of the call; "
        "this benchmark goes a way with fewer",
        lambda case: case.below_ordinary,
    ),
    Reason(
        "slow path walk",
        "Smack does not decide while the path is walked under RCU, and the kernel asks again on "
        "the slow walk",
        lambda case: (
            "smack" in case.modules and case.in_retries and case.hook == "security_inode_permission"
        ),
    ),
    Reason(
        "slow path walk, not in the slope",
        "Smack does not decide while the path is walked under RCU, and the kernel asks again on "
        "the slow walk; the slope was measured with the tunable module, which decides at once",
        _slow_walk_against_slope,
    ),
    Reason(
        "symbolic link",
        "the path goes through a symbolic link, whose own path is walked as well; the source "
        "counts that among its retries",
        lambda case: "link=soft" in case.params and case.in_retries,
    ),
    Reason(
        "failed call",
        "the call fails, and frees what it had made; the source counts that among its retries",
        lambda case: "target=missing" in case.params and case.in_retries,
    ),
    Reason(
        "loop",
        "the source has the hook in a loop and does not tell how often that runs",
        lambda case: (
            case.of_source
            and case.bound is not None
            and case.bound.repeats
            and case.second_runs > case.first_runs
        ),
    ),
    Reason(
        "another process",
        "a process of its own ends in this operation; the counters see only the one that measures",
        lambda case: case.operation == "exit" and View.COUNTING in (case.first, case.second),
    ),
    Reason(
        "freed later",
        "the kernel frees the object later (RCU, deferred work), in whatever runs then",
        lambda case: case.hook in _DEFERRED and not case.below_ordinary,
    ),
    Reason(
        "not steady",
        "the count was not the same in every sample; the most frequent one is shown",
        lambda case: not case.steady and View.COUNTING in (case.first, case.second),
    ),
    Reason(
        "slope of two costs",
        "the operation has two usual costs, so that its slope is no whole number; it lies within "
        f"{SLOPE_TOLERANCE} of what the others count",
        lambda case: (
            View.SLOPE in (case.first, case.second)
            and not case.whole_slope
            and abs(case.first_runs - case.second_runs) <= SLOPE_TOLERANCE
        ),
    ),
)


def reasons_for(case: Case) -> tuple[str, ...]:
    """Return the name of the first reason that explains a case, in a tuple; () when none does.

    REASONS goes from the special to the general, so that one is enough.
    """
    return next(((reason.name,) for reason in REASONS if reason.holds(case)), ())


def text_of(name: str) -> str:
    """Return what a reason says."""
    return next(reason.text for reason in REASONS if reason.name == name)
