# SPDX-License-Identifier: GPL-2.0-or-later
"""The `lsmeter` command, which can be interrupted from its first instruction on."""

import signal


def main() -> None:
    """Load the command line and run it; a Ctrl-C while it loads ends the process at once."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # a shell's background jobs ignore it
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from lsmeter.cli.main import main as run  # noqa: PLC0415  (this is what takes its time)

    signal.signal(signal.SIGINT, before)
    run()


if __name__ == "__main__":
    main()
