# SPDX-License-Identifier: GPL-2.0-or-later
"""Two stored runs that show what lsmeter shows, before anything is measured."""
