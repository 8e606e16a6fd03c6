# SPDX-License-Identifier: GPL-2.0-or-later
"""A row of the table in docs/agreement.md, made anew with real guests and the real source."""

from __future__ import annotations

import json

import pytest
from bench import agreement_table

from lsmeter.kernels.build.source import resolve_source
from lsmeter.progress import SILENT
from tests.conftest import Lsmeter

pytestmark = [
    pytest.mark.guest,
    pytest.mark.network,
    pytest.mark.usefixtures("debian_kernel"),
]


def test_the_first_row_is_what_the_code_gives(lsmeter: Lsmeter) -> None:
    tree = resolve_source("debian-source:6.1", progress=SILENT).path
    words = ("--setup", "capability", "--boots", "1", "--samples", "15")
    ran = lsmeter("run", "--attribute", *words, "--suite", "file", "--out", "seen")
    assert ran.code == 0, ran.err
    counted = lsmeter("hooks", "count", "--format", "json", "-o", "counts.json")
    assert counted.code == 0, counted.err
    views = ("--run", "seen", "--counts", "counts.json", "--source", str(tree))
    agreed = lsmeter("hooks", "agree", *views, "--format", "json")
    assert agreed.code == 0, agreed.err
    ((place, row),) = agreement_table.rows(json.loads(agreed.out)).items()
    assert place == ("debian:6.1", "capability")
    assert agreement_table.printed(agreement_table.DOCUMENT.read_text())[place] == row
