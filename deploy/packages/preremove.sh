#!/bin/sh
# Runs before the files of the package are removed. $1 is "remove" or 0, except for an upgrade.
set -e
case $1 in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl --quiet disable --now coder.service coder-provisioner.service || true
	fi
	;;
esac
