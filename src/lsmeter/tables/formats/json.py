# SPDX-License-Identifier: GPL-2.0-or-later
"""JSON for programs: the document's data, or its tables with the keys of their columns."""

from __future__ import annotations

import json
from typing import Any

from lsmeter.tables import values
from lsmeter.tables.data import plain
from lsmeter.tables.model import Detail, Document, Raw, Table
from lsmeter.tables.render import Format, Options


def render(document: Document, options: Options) -> str:
    """Return one JSON object; numbers that do not exist are null."""
    head = {"format": document.name, "version": document.version}
    rest = _content(document) if document.data is None else plain(document.data)
    found = {**head, **rest} if isinstance(rest, dict) else {**head, "data": rest}
    return json.dumps(found, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _content(document: Document) -> dict[str, Any]:
    texts = {
        section.key or section.title: [
            text for item in section.items for text in (item.text, *item.commands)
        ]
        for section in document.sections
        if section.items
    }
    tables: dict[str, list[dict[str, Raw]]] = {}
    for table in document.tables:
        again = sum(key.partition(":")[0] == table.key for key in tables)
        tables[f"{table.key}:{again + 1}" if again else table.key] = records(table)
    return {
        "title": document.title,
        **{name.lower().replace(" ", "_"): value for name, value in document.facts},
        "tables": tables,
        **({"items": texts} if texts else {}),
        **({"notes": list(document.notes)} if document.notes else {}),
    }


def records(table: Table) -> list[dict[str, Raw]]:
    """Return a table's rows with the keys of their columns; `group` is the heading above."""
    group: Raw = None
    found: list[dict[str, Raw]] = []
    keys = [column.key for column in table.columns]
    headed = any(len(row) < len(keys) for row in table.rows)
    for row in table.rows:
        if len(row) < len(keys):
            group = values.raw(row[0])
            continue
        record = dict(zip(keys, map(values.raw, row), strict=True))
        found.append({"group": group, **record} if headed else record)
    return found


FORMAT = Format("json", "JSON for programs", ".json", Detail.DATA, render)
