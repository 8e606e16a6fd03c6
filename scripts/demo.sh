#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Measures the two runs that `lsmeter demo` shows, and packs them into the package: a minute.
# Where pages have changed, the last line alone makes that of the demo anew.
set -eu
home=${1:-src/lsmeter/questions/demo}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
measure() {
	lsmeter run --kernel "$2" --setup selinux --setup apparmor --setup landlock \
		--benchmark 'open depth=[14]' --benchmark 'stat depth=[14]' --benchmark 'read size=1' \
		--benchmark 'write size=1' --benchmark 'mkdir depth=1' --benchmark 'rename depth=1' \
		--samples 20 --seed 1 --fresh --run-dir "$work/$1" --quiet >"$work/$1.txt"
	lsmeter pack "$work/$1" -o "$home/$1.lsmeter"
}
measure before debian:6.1
measure after debian:6.12
lsmeter report "$home/after.lsmeter" --format html -o "$home/report.html"
