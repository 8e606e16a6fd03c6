# SPDX-License-Identifier: GPL-2.0-or-later
"""`python -m lsmeter` is the same as `lsmeter`."""

from lsmeter.cli.main import main

main()
