# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of commands that build and measure commits of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from lsmeter.cli.options import Options, SamplesOption, declared

DEFAULT_CONFIG = "lsm-tiny"


@dataclass(frozen=True)
class CommitOptions(Options):
    """The options of commands that build and measure commits."""

    config: Annotated[list[str] | None, declared("commits.config", default=DEFAULT_CONFIG)] = None
    boots: Annotated[int, declared("commits.boots")] = 1
    samples: SamplesOption = None

    @property
    def configs(self) -> tuple[str, ...]:
        """The fragments of a configuration."""
        return tuple(self.config or [DEFAULT_CONFIG])

    def commit_keys(self, *setups: str) -> dict[str, Any]:
        """Return the keys of a commit's experiment: the setups alone, no other as baseline."""
        keys = self.keys(boots=self.boots, setups=list(setups or ("capability",)))
        keys["baseline"] = keys["setups"][0]
        return keys if self.samples is None else {**keys, "sampling": {"samples": self.samples}}
