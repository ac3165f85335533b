#!/bin/sh
# Makes or removes the directory of one workspace: DIRECTORY of WORKSPACE_ID.
set -eu

mark="$DIRECTORY/.coder-workspace"

case "$1" in
create)
	umask 077
	mkdir -p "$DIRECTORY/home" "$DIRECTORY/run"
	echo "$WORKSPACE_ID" >"$mark"
	;;
remove)
	# Only what bears this workspace's mark is removed.
	if [ -d "$DIRECTORY" ] && [ "$(cat "$mark" 2>/dev/null)" = "$WORKSPACE_ID" ]; then
		chmod -R u+rwX "$DIRECTORY" 2>/dev/null || true
		rm -rf "$DIRECTORY"
	fi
	;;
esac
