# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests of the emulator on the workers of a Dask scheduler, with files sent by digest."""
