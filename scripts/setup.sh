#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs what lsmeter needs on Debian or Ubuntu: missing system packages (through sudo when not
# root), a virtual environment with the pinned packages, and lsmeter itself. Safe to repeat.
# Usage: scripts/setup.sh run|test
set -euo pipefail
cd "$(dirname "$0")/.."

purpose=${1:?usage: scripts/setup.sh run|test}
python=${PYTHON:-python3}

run_packages=(gcc libc6-dev make python3-venv qemu-system-x86 e2fsprogs
	# guest images: mmdebstrap, without root where uidmap is
	mmdebstrap uidmap debian-archive-keyring
	# policies that are BPF programs
	clang libbpf-dev libelf-dev zlib1g-dev pkg-config)
test_packages=(
	"${run_packages[@]}" git chromium cpio
	# kernels from source
	flex bison libelf-dev libssl-dev bc dwarves ccache xz-utils checkpolicy
)

fail() {
	printf 'setup: %s\n' "$*" >&2
	exit 7
}

missing_packages() {
	local package
	for package in "$@"; do
		dpkg-query -W -f='${Status}\n' "$package" 2>/dev/null | grep -q 'ok installed' ||
			printf '%s\n' "$package"
	done
}

install_packages() {
	local missing as_root=()
	mapfile -t missing < <(missing_packages "$@")
	if ((${#missing[@]} == 0)); then
		return
	fi
	command -v apt-get >/dev/null || fail "needs Debian or Ubuntu; install by hand: ${missing[*]}"
	if ((EUID != 0)); then
		command -v sudo >/dev/null || fail "run as root: apt-get install ${missing[*]}"
		as_root=(sudo)
	fi
	echo "setup: installing ${missing[*]}"
	"${as_root[@]}" apt-get update -q
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get install -q -y --no-install-recommends "${missing[@]}"
}

make_environment() {
	local lock=$1
	"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
		fail "needs Python 3.11 or later; $("$python" --version) is too old (set PYTHON=)"
	if ! .venv/bin/python -c '' 2>/dev/null; then
		rm -rf .venv
		"$python" -m venv .venv
	fi
	# The lock has a digest for every file, so what is installed is what was tested.
	if ! cmp -s "$lock" ".venv/.installed-$lock"; then
		.venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r "$lock"
		cp "$lock" ".venv/.installed-$lock"
	fi
}

install_lsmeter() {
	.venv/bin/python -m pip install -q --disable-pip-version-check --no-deps \
		--no-build-isolation -e .
}

case $purpose in
run)
	install_packages "${run_packages[@]}"
	make_environment requirements.lock
	install_lsmeter
	touch .venv/.run-ready
	;;
test)
	install_packages "${test_packages[@]}"
	make_environment requirements-dev.lock
	install_lsmeter
	touch .venv/.test-ready .venv/.run-ready
	;;
*)
	fail "unknown purpose '$purpose'; use run or test"
	;;
esac
