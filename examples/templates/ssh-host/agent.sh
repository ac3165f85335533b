#!/bin/sh
# Starts or stops the agent of the workspace in the directory of this script. The agent is
# a session of its own, so that it outlives the connection that starts it.
set -eu

cd "$(dirname "$0")"
directory="$(pwd)"

# is_agent reports whether a process is the agent of this directory.
is_agent() {
	[ "$(readlink "/proc/$1/cwd" 2>/dev/null)" = "$directory/home" ] && kill -0 "$1" 2>/dev/null
}

stop() {
	[ -f agent.pid ] || return 0
	pid="$(cat agent.pid)"
	if [ -n "$pid" ] && is_agent "$pid"; then
		# The agent runs its shutdown scripts first; a minute is enough for most.
		kill -TERM "$pid" 2>/dev/null || true
		tries=0
		while is_agent "$pid" && [ "$tries" -lt 60 ]; do
			sleep 1
			tries=$((tries + 1))
		done
		kill -KILL "-$pid" 2>/dev/null || true
	fi
	rm -f agent.pid
}

start() {
	stop
	umask 077
	mkdir -p home bin
	token="$(cat token)"
	rm -f token
	cd home
	HOME="$directory/home" BINARY_DIR="$directory/bin" CODER_AGENT_TOKEN="$token" CODER_AGENT_LOG_DIR="$directory" \
		setsid sh "$directory/init.sh" </dev/null >"$directory/agent.log" 2>&1 &
	echo $! >"$directory/agent.pid"
	echo "The agent was started; its log is $directory/agent.log."
}

case "$1" in
start) start ;;
stop) stop ;;
esac
