# SPDX-License-Identifier: GPL-2.0-or-later
"""From exact events to time: weights fitted to what this machine takes, and their error; pure."""
