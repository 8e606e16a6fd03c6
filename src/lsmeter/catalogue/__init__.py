# SPDX-License-Identifier: GPL-2.0-or-later
"""What can be asked for: setups, workloads and studies, one file each."""
