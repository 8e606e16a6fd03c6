# SPDX-License-Identifier: GPL-2.0-or-later
"""Which hooks the benchmarks call."""
