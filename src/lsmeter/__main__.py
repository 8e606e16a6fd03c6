# SPDX-License-Identifier: GPL-2.0-or-later
"""The `lsmeter` command from its first moment; `python -m lsmeter` is the same.

Signals and closed streams are met before anything else is loaded, which takes a while.
"""

from __future__ import annotations

import io
import os
import sys

from lsmeter.core.signals import heed_signals, leave


class _StandardError(io.FileIO):
    """Standard error that may be full or closed: what cannot be said there stops no command."""

    def write(self, data: bytes) -> int:  # type: ignore[override]
        try:
            return super().write(data)
        except OSError:
            return len(data)


def main() -> None:
    """Run the command line and exit with a documented code (`lsmeter help exit-codes`)."""
    heed_signals(leave)
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        continue  # a closed stream: no other file may take its number
    os.close(number)
    encoding = sys.stderr.encoding if sys.stderr else "utf-8"
    error = _StandardError(2, "w", closefd=False)
    sys.stderr = io.TextIOWrapper(error, encoding, "backslashreplace", write_through=True)
    from lsmeter.app import main as run

    heed_signals()
    run()


if __name__ == "__main__":
    main()
