#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# usage: history.sh [PATTERN] [DIRECTORY] [WORD...]
# Measures each kernel of the pattern that has no whole run below DIRECTORY/runs, the web server on
# the newest of each series, and with attribution the kernels beside each change whose hook is not
# known; then makes DIRECTORY/site. What was stopped is resumed.
# WORD...: of `lsmeter run`, in place of all three.
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
	measure "$version" experiments/main.toml --kernel "$name" </dev/null
	newest[$(grep -oE '^[0-9]+\.[0-9]+' <<<"$version")]=$name
done <<<"$names"
for name in "${newest[@]}"; do
	measure "web-${name#debian:}" experiments/web.toml --kernel "$name" </dev/null
done

# publish SITE
publish() {
	local runs=() manifest
	for manifest in "$home"/runs/*/manifest.json; do
		[ ! -e "$manifest" ] || runs+=("${manifest%/manifest.json}")
	done
	lsmeter publish "${runs[@]}" --output "$1"
}

# print_unexplained SITE: versions of the kernels beside changes of file operations without a hook
print_unexplained() {
	python3 - "$1/site.json" <<-'END'
		import json, sys
		site = json.load(open(sys.argv[1]))
		for change in site["changes"]:
		    named = change["moved"] or change["is_of_baseline"]
		    if not named and site["graphs"][change["graph"]]["suite"] == "file":
		        for side in ("kernel", "since_kernel"):
		            print(site["kernels"][change[side]]["version"])
	END
}

if [ ${#words[@]} -eq 0 ]; then
	draft=$(mktemp -d) || exit
	trap 'rm -rf "$draft"' EXIT
	publish "$draft" >/dev/null || exit
	unexplained=$(print_unexplained "$draft") || exit
	while read -r name; do
		version=${name#debian:}
		grep -qxF "$version" <<<"$unexplained" || continue
		measure "hooks-$version" experiments/main.toml --kernel "$name" --attribute </dev/null
	done <<<"$names"
fi
publish "$home/site" || exit
exit "$failed"
