# SPDX-License-Identifier: GPL-2.0-or-later
"""How the latency of one policy decision reaches that of an operation, and how many there are."""
