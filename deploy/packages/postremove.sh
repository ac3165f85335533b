#!/bin/sh
# Runs after the files of the package are removed. The user coder and the server's
# data in /var/lib/coder remain.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
