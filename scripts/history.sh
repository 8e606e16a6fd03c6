#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# usage: history.sh [PATTERN] [DIRECTORY] [WORD...]
# Measures each kernel of the pattern that has no whole run below DIRECTORY/runs, and the web server
# on the newest of each series; then makes DIRECTORY/site. What was stopped is resumed.
# WORD...: of `lsmeter run`, in place of the main experiment with attribution, and of the web server.
set -uo pipefail

pattern=${1:-debian:*}
home=${2:-build/history}
words=("${@:3}")
failed=0

# measure NAME ARGUMENT...: a run that ended whole is not begun again. Exit code 1 says that a
# setup gave no number (5.10 has no Landlock): it is tried again next time, from stored boots.
measure() {
	local run="$home/runs/$1" code=0
	shift
	[ ! -e "$run.whole" ] || return 0
	lsmeter run "$@" --run-dir "$run" --quiet >/dev/null || code=$?
	case $code in
	0) touch "$run.whole" ;;
	1) ;;
	130) exit 130 ;;
	*)
		echo "history: $run: exit code $code" >&2
		failed=1
		;;
	esac
}

names=$(lsmeter kernel find "$pattern") || exit
mkdir -p "$home/runs"
declare -A newest
while read -r name; do
	version=${name#debian:}
	if [ ${#words[@]} -gt 0 ]; then
		measure "$version" "${words[@]}" --kernel "$name" </dev/null
		continue
	fi
	measure "$version" experiments/main.toml --kernel "$name" --attribute </dev/null
	newest[$(grep -oE '^[0-9]+\.[0-9]+' <<<"$version")]=$name
done <<<"$names"
for name in "${newest[@]}"; do
	measure "web-${name#debian:}" experiments/web.toml --kernel "$name" </dev/null
done

runs=()
for manifest in "$home"/runs/*/manifest.json; do
	[ ! -e "$manifest" ] || runs+=("${manifest%/manifest.json}")
done
lsmeter publish "${runs[@]}" --output "$home/site" || exit
exit "$failed"
