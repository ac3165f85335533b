#!/bin/sh
# Runs after the files of the package are installed. Running services are restarted
# with the new program, after their builds have ended; others are not started.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
	systemctl --no-block try-restart coder.service coder-provisioner.service || true
fi
