#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs what lsmeter needs on Debian or Ubuntu: missing system packages (through sudo when not
# root), a virtual environment with the pinned packages, and lsmeter itself. Safe to repeat.
set -Eeuo pipefail
cd "$(dirname "$0")/.."

usage='usage: scripts/setup.sh [run|test]

Installs what lsmeter needs on Debian or Ubuntu, below this directory as far as possible:
  1. system packages that are missing (apt-get, through sudo when not root)
  2. Python packages, pinned, into .venv
  3. lsmeter itself into .venv, with its probe compiled
run (the default) is enough to measure; test adds what the checks and tests need.
PYTHON=... names another Python, 3.11 or later.'

purpose=${1:-run}
python=${PYTHON:-python3}

run_packages=(gcc libc6-dev make python3-venv qemu-system-x86 e2fsprogs xfsprogs btrfs-progs
	# guest images: mmdebstrap, without root where uidmap is
	mmdebstrap uidmap debian-archive-keyring
	# policies that are BPF programs
	clang libbpf-dev libelf-dev zlib1g-dev pkg-config)
test_packages=(
	"${run_packages[@]}" git chromium cpio libarchive-tools rpm createrepo-c
	# hosts behind ssh
	openssh-client openssh-server iproute2
	# guests of arm64
	qemu-system-arm gcc-aarch64-linux-gnu libc6-dev-arm64-cross
	# kernels from source
	flex bison libelf-dev libssl-dev bc dwarves ccache xz-utils checkpolicy
)

say() {
	printf 'setup: %s\n' "$*"
}

fail() {
	printf 'setup: %s\n' "$*" >&2
	exit 7
}

trap 'fail "the step above failed; what is done is kept, and the same command goes on from there"' ERR

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
		say "1/3 system packages: all $# are there"
		return
	fi
	say "1/3 system packages: ${#missing[@]} of $# are missing: ${missing[*]}"
	command -v apt-get >/dev/null || fail "needs Debian or Ubuntu; install by hand: ${missing[*]}"
	if ((EUID != 0)); then
		command -v sudo >/dev/null || fail "run as root: apt-get install ${missing[*]}"
		as_root=(sudo)
	fi
	say "    apt-get installs them${as_root:+ (through sudo)}: a few minutes"
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
	if cmp -s "$lock" ".venv/.installed-$lock"; then
		say "2/3 Python packages: .venv has those of $lock"
	else
		say "2/3 Python packages: installing those of $lock into .venv (a minute)"
		.venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r "$lock"
		cp "$lock" ".venv/.installed-$lock"
	fi
}

install_lsmeter() {
	say "3/3 lsmeter: compiling the probe, installing into .venv"
	.venv/bin/python -m pip install -q --disable-pip-version-check --no-deps \
		--no-build-isolation -e .
}

finish() {
	say "ready"
	cat <<-'END'
		Type next:
		  source .venv/bin/activate   # puts lsmeter into PATH of this shell
		  lsmeter doctor              # what this machine can and cannot do
		  lsmeter run                 # the main experiment: about a minute, after fetching a kernel
	END
}

case $purpose in
-h | --help)
	printf '%s\n' "$usage"
	;;
run)
	install_packages "${run_packages[@]}"
	make_environment requirements.lock
	install_lsmeter
	touch .venv/.run-ready
	finish
	;;
test)
	install_packages "${test_packages[@]}"
	make_environment requirements-dev.lock
	install_lsmeter
	touch .venv/.test-ready .venv/.run-ready
	finish
	echo "  make test                   # checks and all tests"
	;;
*)
	printf "setup: unknown word '%s'\n%s\n" "$purpose" "$usage" >&2
	exit 2
	;;
esac
