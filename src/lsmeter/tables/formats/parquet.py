# SPDX-License-Identifier: GPL-2.0-or-later
"""Parquet for data frames: the rows and columns of CSV with their types."""

from __future__ import annotations

import io
from collections.abc import Sequence

from lsmeter.tables.formats.csv import rows_of
from lsmeter.tables.model import Detail, Document, Raw
from lsmeter.tables.render import Format, Options


def render(document: Document, options: Options) -> bytes:
    """Return one file; its metadata have the document's name, version, title and facts."""
    import polars as pl

    columns, rows = rows_of(document)
    series = [pl.Series(key, _values([row.get(key) for row in rows])) for key in columns]
    frame = pl.DataFrame(
        [item.cast(pl.String) if item.dtype == pl.Null else item for item in series]
    )
    head = {"format": document.name, "version": str(document.version), "title": document.title}
    file = io.BytesIO()
    frame.write_parquet(file, metadata={**head, **dict(document.facts)})
    return file.getvalue()


def _values(values: Sequence[Raw]) -> list[Raw]:
    """Return the values of a column with one type: a whole number becomes any, all become text."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) < 2 and not any(isinstance(v, int) and abs(v) >= 1 << 63 for v in values):
        return list(values)
    kind = float if kinds <= {int, float} else str
    return [value if value is None else kind(value) for value in values]


FORMAT = Format("parquet", "Parquet for data frames", ".parquet", Detail.DATA, render, binary=True)
