# SPDX-License-Identifier: GPL-2.0-or-later
"""What a further component of a path, layer or rule costs."""
