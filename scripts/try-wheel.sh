#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs a wheel in a clean root file system, and times each step from nothing to the first table.
# Needs root and mmdebstrap. Mounts are in a namespace of their own and end with it; packages come
# from where this machine's apt, pip and uv get theirs, by their environment and configuration.
set -Eeuo pipefail

usage='usage: scripts/try-wheel.sh SUITE [MIRROR]

Tries build/wheels (make wheels) on bookworm, trixie, noble, ...: a minimal system, then apt-get for
Python and QEMU, pip install lsmeter and a first table; the same with uvx; attribution without a
compiler. MIRROR, an address or a line of sources.list, is for suites that mmdebstrap knows no archive
of; that of Ubuntu has main, universe and signed-by=KEYRING. WHEELS=DIRECTORY names other wheels.'

fail() {
	printf 'try-wheel: %s\n' "$*" >&2
	exit 7
}

# Inside the root file system ------------------------------------------------------------------

# step NAME COMMAND...: runs it, its output in ~/try.log, and prints the time that it took.
step() {
	local name TIMEFORMAT
	printf -v name '%-48s' "$1"
	TIMEFORMAT="$name %6R s, on the processor %6U + %S s"
	shift
	time "$@" >>"$HOME/try.log" 2>&1 || {
		tail -n 30 "$HOME/try.log" >&2
		fail "$name failed: $*"
	}
}

size() {
	printf '%-48s %6.1f MB\n' "$1" "$(du -sk --total "${@:2}" | awk 'END { print $1 * 1.024e-3 }')"
}

# The caches of each way to install are its own, so that each fetches a kernel.
as() {
	env LSMETER_CACHE="$HOME/$1/cache" LSMETER_DATA="$HOME/$1/data" "${@:2}"
}

inside() {
	local kernel=debian:6.1 selinux table
	cd
	export DEBIAN_FRONTEND=noninteractive
	step "apt-get: python3-venv, qemu-system-x86" sh -ec 'apt-get update -q
		apt-get install -q -y --no-install-recommends python3-venv qemu-system-x86'
	if grep -q '^ID=ubuntu' /etc/os-release; then
		step "apt-get: a kernel, as Ubuntu's machines have" \
			apt-get install -q -y --no-install-recommends linux-image-virtual
		kernel=$(compgen -G '/boot/vmlinuz-*')
	fi
	selinux=(--setup selinux --kernel "$kernel")
	table=(run "${selinux[@]}" --benchmark open --quick)
	if command -v cc gcc clang make; then
		fail "there is a compiler, so that nothing is proved"
	fi
	printf '%s, %s\n' "$(python3 --version)" "$(qemu-system-x86_64 --version | head -n 1)"
	step "python3 -m venv" python3 -m venv lsmeter
	step "pip install lsmeter" lsmeter/bin/pip install lsmeter
	step "lsmeter run: the first table" as pip lsmeter/bin/lsmeter "${table[@]}" --run-dir first
	lsmeter/bin/lsmeter report first | tee -a try.log
	step "lsmeter run --attribute: plugin as shipped" \
		as pip lsmeter/bin/lsmeter run "${selinux[@]}" --benchmark read --attribute --run-dir hooks
	step "lsmeter exec: plugin as shipped" \
		as pip lsmeter/bin/lsmeter exec "${selinux[@]}" -- /bin/true
	if compgen -G 'pip/cache/plugin/*' >/dev/null; then
		fail "a plugin was compiled"
	fi
	step "python3 -m venv, pip install uv" sh -ec 'python3 -m venv uv; uv/bin/pip install uv'
	step "uvx lsmeter --version" uv/bin/uvx lsmeter --version
	step "uvx lsmeter run: the first table" as uvx uv/bin/uvx lsmeter "${table[@]}" --run-dir second
	size "the wheel" /wheels/*"$(uname -m)".whl
	size "Python packages, installed" lsmeter
	size "kernel and symbols" pip/cache
	size "root file system, whole" -x /
}

if [[ ${1-} == --inside ]]; then
	inside
	exit
fi

# Outside --------------------------------------------------------------------------------------

# What this machine's clients know of where packages are: all else stays outside.
settings() {
	env -0 | while IFS= read -r -d '' line; do
		case ${line%%=*} in
		PIP_FIND_LINKS | UV_FIND_LINKS) ;;
		PIP_* | UV_* | SSL_CERT_* | *_CA_BUNDLE | *_proxy | *_PROXY) printf '%s\0' "$line" ;;
		esac
	done
}

# In a mount namespace: nothing is mounted but proc and tmpfs, so that removing the directory
# afterwards cannot reach anything of this machine.
build_and_enter() {
	local home=$1 root=$1/root suite=$2 mirror=${3-} file variables
	printf 'making a minimal root file system of %s\n' "$suite"
	mmdebstrap --mode=root --variant=minbase --include=apt,ca-certificates --quiet \
		"$suite" "$root" ${mirror:+"$mirror"}
	for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
		[[ ! -e $file ]] || cp --remove-destination --dereference "$file" "$root$file"
	done
	install -m 755 "$0" "$root/try-wheel.sh"
	mkdir "$root/wheels"
	cp "$WHEELS"/*.whl "$root/wheels/"
	mount -t proc proc "$root/proc"
	mount -t tmpfs tmpfs "$root/dev/shm"
	mapfile -d '' variables < <(settings)
	env -i "${variables[@]}" PIP_FIND_LINKS=/wheels UV_FIND_LINKS=/wheels \
		HOME=/srv LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin \
		chroot "$root" /try-wheel.sh --inside
}

if [[ ${1-} == --apart ]]; then
	build_and_enter "${@:2}"
	exit
fi

if (($# < 1 || $# > 2)) || [[ $1 == -* ]]; then
	printf '%s\n' "$usage" >&2
	exit 2
fi
((EUID == 0)) || fail "needs root, to make a root file system and enter it"
command -v mmdebstrap >/dev/null || fail "apt-get install mmdebstrap"
WHEELS=${WHEELS:-$(dirname "$0")/../build/wheels}
compgen -G "$WHEELS/*.whl" >/dev/null || fail "no wheel in $WHEELS: make wheels"
export WHEELS
home=$(mktemp -d "${TMPDIR:-/var/tmp}/lsmeter-try.XXXXXX")
trap 'rm -rf --one-file-system -- "$home"' EXIT
unshare --mount --pid --fork --kill-child -- "$0" --apart "$home" "$@"
printf 'load of this machine meanwhile: %s\n' "$(cut -d ' ' -f 1-3 /proc/loadavg)"
