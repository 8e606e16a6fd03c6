# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU as lsmeter uses it: its command line, its version, and running it under limits."""
