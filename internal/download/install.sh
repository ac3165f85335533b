#!/bin/sh
# Installs the coder command line from the server @URL@, version @VERSION@.
set -eu

server=@QUOTED_URL@
server_version=@QUOTED_VERSION@

usage() {
	cat <<END
Install the coder command line, version $server_version, from $server.

Usage: curl -fsSL $server/install.sh | sh -s -- [options]
       wget -qO- $server/install.sh | sh -s -- [options]

  --prefix DIR         install to DIR/bin (default /usr/local)
  --binary-name NAME   name of the installed program (default coder)
  --server URL         download from URL, another address of the same server
  --version VERSION    fail unless the server has this version
  --method METHOD      detect or standalone: both install one file
  --skip-checksum      do not verify the SHA-256 of the download
  --dry-run            print the commands and run none
  -h, --help           print this help

Linux (amd64, arm64, armv7) and macOS (amd64, arm64) are supported. The download
needs curl, wget or busybox. Writing outside of your own files uses sudo or doas.
END
}

say() { echo "$*" >&2; }
fail() {
	say "install.sh: $*"
	exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

# run executes a command, or prints it.
run() {
	if [ -n "$dry_run" ]; then echo "+ $*"; else "$@"; fi
}

# The order of the tests matters: Rosetta reports amd64 on an arm64 machine, and
# a 64-bit kernel can run under 32-bit programs.
detect() {
	system=$(uname -s)
	machine=$(uname -m)
	case $system in
	Linux) os=linux ;;
	Darwin) os=darwin ;;
	MINGW* | MSYS* | CYGWIN* | Windows_NT)
		fail "on Windows, download $server/bin/coder-windows-amd64.exe (or coder-windows-arm64.exe), name it coder.exe and move it to a folder on your PATH"
		;;
	*) fail "there is no coder for $system: this server has it for Linux, macOS (Darwin) and Windows" ;;
	esac
	case $machine in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	armv7* | armv8*) arch=armv7 ;;
	*) fail "there is no coder for the architecture $machine: this server has it for amd64, arm64 and, on Linux, armv7" ;;
	esac
	if [ $os = darwin ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || true)" = 1 ]; then arch=arm64; fi
	if [ $os-$arch = linux-arm64 ] && [ "$(getconf LONG_BIT 2>/dev/null || true)" = 32 ]; then arch=armv7; fi
	if [ $os-$arch = darwin-armv7 ]; then fail "there is no coder for macOS on $machine"; fi
}

# download URL FILE: gzip undoes the compression that the server may apply.
download() {
	accept=identity
	if has gzip; then accept=gzip; fi
	if has curl; then
		status=$(curl -sSL --connect-timeout 15 -H "Accept-Encoding: $accept" -o "$2" -w '%{http_code}' "$1") ||
			fail "cannot download $1: see the message of curl above"
		if [ "$status" != 200 ]; then
			say "$(head -c 500 "$2" | tr -d '\000')"
			fail "cannot download $1: the server answered with status $status"
		fi
	elif has wget; then
		wget -q -T 60 --header "Accept-Encoding: $accept" -O "$2" "$1" || fail "cannot download $1: wget failed with status $?"
	elif has busybox; then
		busybox wget -q --header "Accept-Encoding: $accept" -O "$2" "$1" || fail "cannot download $1: wget failed with status $?"
	else
		fail "install curl or wget first"
	fi
	if [ $accept = gzip ] && gzip -t <"$2" 2>/dev/null; then
		gzip -dc <"$2" >"$2.plain"
		mv "$2.plain" "$2"
	fi
}

sha256() {
	if has sha256sum; then
		sha256sum <"$1" | cut -d ' ' -f 1
	elif has shasum; then
		shasum -a 256 <"$1" | cut -d ' ' -f 1
	elif has openssl; then
		openssl dgst -sha256 <"$1" | sed 's/.* //'
	else
		fail "cannot verify the download: install sha256sum, shasum or openssl, or use --skip-checksum"
	fi
}

verify() {
	download "$url.sha256" "$work/sha256"
	read -r want rest <"$work/sha256" || true
	got=$(sha256 "$work/coder")
	[ "$got" = "$want" ] || fail "the download is damaged: its SHA-256 is $got and should be $want; try again"
}

# elevate sets how to write to the directory: as this user, or as root.
elevate() {
	existing=$1
	while [ ! -d "$existing" ]; do existing=$(dirname "$existing"); done
	as_root=""
	if [ -w "$existing" ] || [ "$(id -u)" = 0 ]; then return 0; fi
	for tool in sudo doas; do
		if has $tool; then
			as_root=$tool
			return 0
		fi
	done
	fail "you may not write to $existing: use --prefix with a directory of your own, such as --prefix ~/.local"
}

parse() {
	prefix=/usr/local name=coder dry_run="" checksum=yes
	while [ $# -gt 0 ]; do
		option=$1
		case $option in
		--prefix=* | --binary-name=* | --server=* | --version=* | --method=*)
			value=${option#*=} option=${option%%=*}
			;;
		--prefix | --binary-name | --server | --version | --method)
			[ $# -gt 1 ] || fail "$option needs a value; see --help"
			value=$2
			shift
			;;
		*) value=none ;;
		esac
		[ -n "$value" ] || fail "$option needs a value; see --help"
		case $option in
		--prefix) prefix=$value ;;
		--binary-name) name=$value ;;
		--server) server=${value%/} ;;
		--version) [ "${value#v}" = "${server_version#v}" ] || fail "this server has version $server_version, not $value; clients should have the version of their server" ;;
		--method) case $value in detect | standalone) ;; *) fail "the method $value is unknown; use standalone" ;; esac ;;
		--stable | --mainline | --edge) say "install.sh: $option is ignored: a server offers its own version only, $server_version" ;;
		--skip-checksum) checksum="" ;;
		--dry-run) dry_run=yes ;;
		-h | --help)
			usage
			exit 0
			;;
		*) fail "unknown option $option; see --help" ;;
		esac
		shift
	done
	# "~/" after an equals sign reaches a script as it is.
	case $prefix in "~/"*) prefix=${HOME:?}/${prefix#"~/"} ;; esac
	case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
	case $name in */* | .*) fail "the name $name must not have a slash or begin with a dot" ;; esac
	case $server in http://?* | https://?*) ;; *) fail "the server $server must begin with http:// or https://" ;; esac
}

# All of it is in functions, so that a script that was cut off does nothing.
main() {
	parse "$@"
	detect
	bin=$prefix/bin
	url=$server/bin/coder-$os-$arch
	elevate "$bin"
	if [ -n "$dry_run" ]; then
		work='$work'
		echo "+ download $url to $work/coder"
		if [ -n "$checksum" ]; then echo "+ verify $work/coder with $url.sha256"; fi
	else
		work=$(mktemp -d "${TMPDIR:-/tmp}/coder-install.XXXXXX")
		trap 'rm -rf "$work"' EXIT
		trap 'exit 130' INT TERM HUP
		say "Downloading $url"
		download "$url" "$work/coder"
		if [ -n "$checksum" ]; then verify; fi
	fi
	# Renamed at the end, so that a program that runs is replaced, and never in part.
	new=$bin/.$name.new
	run $as_root mkdir -p "$bin"
	run $as_root cp "$work/coder" "$new"
	run $as_root chmod 755 "$new"
	if [ -z "$dry_run" ] && ! "$new" version >/dev/null 2>&1; then
		$as_root rm -f "$new"
		fail "the program for $os-$arch does not run on this machine ($system $machine) from $bin"
	fi
	run $as_root mv "$new" "$bin/$name"
	if [ -n "$dry_run" ]; then exit 0; fi
	say "Installed coder $server_version as $bin/$name"
	found=$(command -v "$name" || true)
	if [ -z "$found" ]; then
		say "Add $bin to your PATH, then sign in: $name login $server"
	elif [ "$found" != "$bin/$name" ]; then
		say "Your PATH has another one first, $found. Sign in with: $bin/$name login $server"
	else
		say "Sign in: $name login $server"
	fi
}

main "$@"
