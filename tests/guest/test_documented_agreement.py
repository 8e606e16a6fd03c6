# SPDX-License-Identifier: GPL-2.0-or-later
"""A row of docs/concepts/agreement.md, made anew with real guests and the real source."""

from __future__ import annotations

import json

import pytest
from bench import agreement_table

from lsmeter.sources.kernels.build.source import resolve_source
from tests.conftest import Lsmeter

pytestmark = [
    pytest.mark.guest,
    pytest.mark.network,
    pytest.mark.usefixtures("debian_kernel"),
]


def test_the_first_row_is_what_the_code_gives(lsmeter: Lsmeter) -> None:
    tree = resolve_source("debian-source:6.1").path
    words = ("--setup", "capability", "--boots", "1", "--samples", "15")
    ran = lsmeter("run", "--attribute", *words, "--suite", "file", "--run-dir", "seen")
    assert ran.code == 0, ran.err
    counted = lsmeter("hooks", "count", "--run-dir", "counted")
    assert counted.code == 0, counted.err
    source = ("--source", str(tree), "--config", "debian:6.1")
    agreed = lsmeter("hooks", "agree", "seen", "counted", *source, "--format", "json")
    assert agreed.code == 0, agreed.err
    ((place, row),) = agreement_table.rows(json.loads(agreed.out)).items()
    assert place == ("debian:6.1", "capability")
    assert agreement_table.printed(agreement_table.DOCUMENT.read_text())[place] == row
