#!/bin/sh
# Runs before the files of the package are installed: creates the user of the units.
set -e
if ! id coder >/dev/null 2>&1; then
	useradd --system --user-group --home-dir /var/lib/coder --shell /usr/sbin/nologin coder
fi
