# SPDX-License-Identifier: GPL-2.0-or-later
"""One package a question: what a run is asked after it was measured."""
