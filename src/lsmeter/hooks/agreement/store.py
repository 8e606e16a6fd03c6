# SPDX-License-Identifier: GPL-2.0-or-later
"""Keeps an agreement with the run that it is about, so that the run's report can show it."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from lsmeter.hooks.agreement.model import Agreement
from lsmeter.results.boots import damaged, read_document
from lsmeter.storage import write_atomic

AGREEMENT_FILE = "agreement.json"
_FORMAT = "lsmeter-run-agreement"
_VERSION = 1
_AGREEMENT = TypeAdapter(Agreement)


def save_agreement(run: Path, found: Agreement) -> Path:
    """Write it into the run's directory, over an earlier one; return the file."""
    document = {
        "format": _FORMAT,
        "version": _VERSION,
        "agreement": _AGREEMENT.dump_python(found, mode="json"),
    }
    write_atomic(run / AGREEMENT_FILE, json.dumps(document).encode())
    return run / AGREEMENT_FILE


def load_agreement(run: Path) -> Agreement | None:
    """Read it back; None when there is none, InfrastructureError when it is damaged."""
    path = run / AGREEMENT_FILE
    if not path.is_file():
        return None
    document = read_document(path, _FORMAT, _VERSION)
    try:
        return _AGREEMENT.validate_json(json.dumps(document.get("agreement")), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise damaged(path, f"{key}: {first['msg']}") from None
