# SPDX-License-Identifier: GPL-2.0-or-later
"""How often each operation calls each hook."""
