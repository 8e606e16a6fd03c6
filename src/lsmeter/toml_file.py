# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a TOML file that a person wrote; what is wrong with it is said in one line."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from lsmeter.errors import UsageError

MAX_FILE_BYTES = 1 << 20


def read_toml(
    path: Path, kind: str, *, hint: str, where: str = "", missing: str = ""
) -> dict[str, Any]:
    """Return the tables of a TOML file.

    kind: what the file should be, such as "an experiment file". hint: what to do when it is none.
    where: which word named it, such as "--setup". missing: what is said of a file that is not
    there, instead of "cannot read it". Raises UsageError that names the file and the place.
    """
    named = f"{where}: {path}" if where else f"{path}"
    try:
        size = path.stat().st_size
        if size <= MAX_FILE_BYTES:
            return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not valid TOML: {error}", hint=hint) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{named}: cannot read it: it is not UTF-8 text", hint=hint) from error
    except OSError as error:
        said = f"cannot read it: {error.strerror}"
        if missing and isinstance(error, FileNotFoundError):
            said = missing
        raise UsageError(f"{named}: {said}", hint=hint) from error
    raise UsageError(f"{path}: larger than {MAX_FILE_BYTES} bytes: not {kind}", hint=hint)
