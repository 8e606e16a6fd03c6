# SPDX-License-Identifier: GPL-2.0-or-later
"""CSV for spreadsheets and scripts: one table as it is, several with a column `table`.

Where tables of several setups or places have the same columns, `section` says of which a row is.
"""

from __future__ import annotations

import csv
import io
import re

from lsmeter.tables.formats.json import records
from lsmeter.tables.model import Detail, Document, Raw
from lsmeter.tables.render import Format, Options

# A sign in front of anything but a number begins a formula, as do these.
_FORMULA = re.compile(r"\s*(?:[=@]|[+-](?!\s*[\d.,]+\s*%?\s*$)\s*\S)")


def rows_of(document: Document) -> tuple[tuple[str, ...], list[dict[str, Raw]]]:
    """Return the names of all columns, and each row by them.

    `table` says of which of several a row is, `section` of which of those that have one name.
    """
    keys = [table.key for table in document.tables]
    rows = [
        {
            **({"table": table.key} if len(keys) > 1 else {}),
            **({"section": section.title or table.title} if len({*keys}) < len(keys) else {}),
            **record,
        }
        for section in document.sections
        for table in section.tables
        for record in records(table)
    ]
    columns = [column.key for table in document.tables for column in table.columns]
    return tuple(dict.fromkeys([*(rows[0] if rows else ()), *columns])), rows


def render(document: Document, options: Options) -> str:
    """Return a line of heads, and one for each row; a cell without a value is empty."""
    heads, rows = rows_of(document)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_field, heads))
    writer.writerows([_field(row.get(key)) for key in heads] for row in rows)
    return text.getvalue()


def _field(value: Raw) -> str | int | float:
    """Write whole numbers without a point, and no text that a spreadsheet would calculate."""
    if isinstance(value, str):
        return f"'{value}" if _FORMULA.match(value) else value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return int(value) if value.is_integer() else round(value, 9)
    return value


FORMAT = Format("csv", "CSV for spreadsheets and scripts", ".csv", Detail.DATA, render)
