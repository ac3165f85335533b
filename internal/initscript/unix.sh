#!/bin/sh
# Fetches the workspace agent and runs it. Needs curl, wget or busybox.
set -u

agent_url='${ACCESS_URL}'
export CODER_AGENT_URL="$agent_url"
export CODER_AGENT_AUTH='${AUTH_TYPE}'
binary_url="${agent_url%/}/bin/coder-@OS@-@ARCH@?for=agent"

say() { echo "coder init: $*" >&2; }

case "$(uname -m)" in
@MACHINES@) ;;
*)
	say "the template declares an agent for @OS@/@ARCH@, but this machine is $(uname -m)"
	exit 1
	;;
esac
if [ "$CODER_AGENT_AUTH" = token ] && [ -z "${CODER_AGENT_TOKEN:-}" ] && [ -z "${CODER_AGENT_TOKEN_FILE:-}" ]; then
	say "CODER_AGENT_TOKEN is not set; the template must pass coder_agent.<name>.token to the machine"
	exit 1
fi

# fetch gets the agent: compressed where gzip can undo it, plain from a server
# that knows no compression.
fetch() {
	accept=identity
	if command -v gzip >/dev/null 2>&1; then accept=gzip; fi
	if command -v curl >/dev/null 2>&1; then
		curl -fsSL --connect-timeout 15 -H "Accept-Encoding: $accept" "$binary_url" -o "$1" || return
	elif command -v wget >/dev/null 2>&1; then
		wget -q -T 60 --header "Accept-Encoding: $accept" "$binary_url" -O "$1" || return
	elif command -v busybox >/dev/null 2>&1; then
		busybox wget -q --header "Accept-Encoding: $accept" "$binary_url" -O "$1" || return
	else
		say "none of curl, wget and busybox is installed"
		exit 127
	fi
	[ "$accept" = gzip ] && gzip -t <"$1" 2>/dev/null || return 0
	gzip -dc <"$1" >"$1.plain" && mv "$1.plain" "$1"
}

# The first directory that is writable and from which programs may run.
binary=""
for place in "${BINARY_DIR:-}" "${TMPDIR:-/tmp}" "${HOME:-/}/.cache" /var/tmp .; do
	[ -n "$place" ] || continue
	mkdir -p "$place" 2>/dev/null || continue
	dir="$(mktemp -d "$place/coder.XXXXXX" 2>/dev/null)" || continue
	printf '#!/bin/sh\nexit 0\n' >"$dir/probe" && chmod 700 "$dir/probe"
	if "$dir/probe" 2>/dev/null; then
		rm -f "$dir/probe"
		binary="$dir/coder"
		break
	fi
	rm -rf "$dir"
done
if [ -z "$binary" ]; then
	say "found no directory to put the agent into; set BINARY_DIR to one that is writable and not mounted noexec"
	exit 1
fi

pause=1
until fetch "$binary" && chmod 755 "$binary" && "$binary" version >/dev/null 2>&1; do
	say "could not get a working agent from $binary_url; trying again in $pause s"
	sleep "$pause"
	pause=$((pause * 2))
	[ "$pause" -le 30 ] || pause=30
done

exec "$binary" agent
