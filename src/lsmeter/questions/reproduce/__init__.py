# SPDX-License-Identifier: GPL-2.0-or-later
"""What studies printed beside what is measured today, and each of their claims judged."""
