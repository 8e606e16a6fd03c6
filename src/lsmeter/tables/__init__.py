# SPDX-License-Identifier: GPL-2.0-or-later
"""The one table model, and the formats that show it."""
