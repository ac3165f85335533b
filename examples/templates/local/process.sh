#!/bin/sh
# Starts or stops the agent of the workspace in DIRECTORY. The agent is a
# process of its own session, so that it outlives the build that starts it.
set -eu

run="$DIRECTORY/run"
pid_file="$run/agent.pid"

# began tells when a process started, so that a process that merely got the
# same number is not taken for the agent.
began() {
	if [ -r "/proc/$1/stat" ]; then
		sed 's/.*) //' "/proc/$1/stat" | cut -d' ' -f20
	else
		ps -o lstart= -p "$1" 2>/dev/null || true
	fi
}

alive() {
	state=""
	if [ -r "/proc/$1/stat" ]; then
		state="$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f1)"
	fi
	[ "$state" != Z ] && kill -0 "$1" 2>/dev/null
}

stop() {
	[ -f "$pid_file" ] || return 0
	pid="$(sed -n 1p "$pid_file")"
	since="$(sed -n 2p "$pid_file")"
	if [ -n "$pid" ] && alive "$pid" && [ "$(began "$pid")" = "$since" ]; then
		# The agent runs its shutdown scripts first; a minute is enough for most.
		kill -TERM "$pid" 2>/dev/null || true
		tries=0
		while alive "$pid" && [ "$tries" -lt 600 ]; do
			sleep 0.1
			tries=$((tries + 1))
		done
		kill -KILL "-$pid" 2>/dev/null || true
	fi
	rm -rf "$pid_file" "$run/bin"
}

start() {
	stop
	umask 077
	mkdir -p "$DIRECTORY/home" "$run/bin"
	printf '%s\n' "$INIT_SCRIPT" >"$run/init.sh"
	user="$(id -un 2>/dev/null || id -u)"

	# The environment is made anew: what the provisioner knows is not for the
	# workspace.
	set -- env -i \
		HOME="$DIRECTORY/home" USER="$user" LOGNAME="$user" SHELL="${SHELL:-/bin/sh}" \
		PATH="${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}" LANG="${LANG:-C.UTF-8}" \
		BINARY_DIR="$run/bin" CODER_AGENT_TOKEN="$AGENT_TOKEN" \
		CODER_AGENT_LOG_DIR="$run" CODER_AGENT_SCRIPT_DATA_DIR="$run" \
		${TMPDIR:+TMPDIR="$TMPDIR"} ${SSL_CERT_FILE:+SSL_CERT_FILE="$SSL_CERT_FILE"} \
		nice -n "$NICENESS" sh "$run/init.sh"

	cd "$DIRECTORY/home"
	if command -v setsid >/dev/null 2>&1; then
		setsid "$@" </dev/null >"$run/agent.log" 2>&1 &
	else
		perl -e 'use POSIX; POSIX::setsid(); exec @ARGV or die "exec: $!"' "$@" </dev/null >"$run/agent.log" 2>&1 &
	fi
	pid=$!
	printf '%s\n%s\n' "$pid" "$(began "$pid")" >"$pid_file"
	echo "agent started as process $pid, its log is $run/agent.log"
}

case "$1" in
start) start ;;
stop) stop ;;
esac
