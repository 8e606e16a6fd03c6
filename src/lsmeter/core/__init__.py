# SPDX-License-Identifier: GPL-2.0-or-later
"""What every part stands on: errors, limits, storage, registry; it imports no other part."""
