# SPDX-License-Identifier: GPL-2.0-or-later
"""One file for each way to run a guest; a new file is found by its presence."""
