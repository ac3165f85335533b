#!/bin/sh
# Installs coder from a source tree: the program, the programs for other platforms
# in the same directory, and on machines with systemd, units for a server and a
# provisioner, which are not started. (GET /install.sh of a server is another script.)
#
#   ./install.sh [--binary FILE] [--prefix DIR] [--without-systemd] [--dry-run]
#
# FILE is the program, which `make build` writes to bin/coder. The default is the
# program in the directory of this script, or in bin of the source tree. A user other
# than root must set --prefix to a writable directory; no units are installed then.
set -eu

binary= prefix=/usr systemd=auto dry=
usage() { sed -n '2,11s/^# \{0,1\}//p' "$0"; }
fail() { echo "install.sh: $*" >&2; exit 1; }
while [ $# -gt 0 ]; do
  case $1 in
    --binary) [ $# -gt 1 ] || fail "--binary requires a file"; binary=$2; shift ;;
    --prefix) [ $# -gt 1 ] || fail "--prefix requires a directory"; prefix=$2; shift ;;
    --without-systemd) systemd=no ;;
    --dry-run) dry=echo ;;
    -h|--help) usage; exit 0 ;;
    *) fail "unknown option $1; see --help" ;;
  esac
  shift
done

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
if [ -z "$binary" ]; then
  for f in "$here/coder" "$here/../bin/coder"; do
    if [ -f "$f" ] && [ -x "$f" ]; then binary=$f; break; fi
  done
fi
[ -n "$binary" ] || fail "no program to install; run 'make build', or set --binary"
[ -f "$binary" ] || fail "$binary does not exist"
version=$("$binary" version 2>/dev/null) || version=
case $version in
  [Cc]oder\ *) version=${version%%,*} ;;
  *) fail "$binary is not the coder program, or does not run on this machine ($(uname -s) $(uname -m))" ;;
esac

run() { if [ -n "$dry" ]; then echo "$*"; else "$@"; fi; }

run mkdir -p "$prefix/bin"
# Rename over a running program, so that it is replaced at once.
run cp "$binary" "$prefix/bin/.coder.new"
run chmod 755 "$prefix/bin/.coder.new"
run mv "$prefix/bin/.coder.new" "$prefix/bin/coder"
if [ -z "$dry" ]; then echo "Installed $version as $prefix/bin/coder"; fi
# Programs that the server offers for download; compressed by `make downloads`.
beside=$(dirname -- "$binary") others=
for f in "$beside"/downloads/coder-*.gz "$beside"/coder-linux-* "$beside"/coder-darwin-* "$beside"/coder-windows-* "$beside"/coder-agent-*; do
  [ -f "$f" ] || continue
  if [ "${f%.gz}" = "$f" ] && [ -f "$beside/downloads/$(basename -- "$f").gz" ]; then continue; fi
  [ -n "$others" ] || run mkdir -p "$prefix/share/coder/bin"
  others=yes
  run cp "$f" "$prefix/share/coder/bin/"
done
if [ -z "$dry" ] && [ -n "$others" ]; then echo "Installed programs for other platforms in $prefix/share/coder/bin"; fi

if [ "$systemd" = no ] || [ "$prefix" != /usr ] || [ "$(id -u)" -ne 0 ] || [ ! -d /run/systemd/system ]; then
  exit 0
fi
if ! id coder >/dev/null 2>&1; then
  run useradd --system --user-group --home-dir /var/lib/coder --shell /usr/sbin/nologin coder
fi
run mkdir -p /etc/coder.d
for e in coder coder-provisioner; do
  if [ ! -e "/etc/coder.d/$e.env" ]; then
    if [ -f "$here/systemd/$e.env" ]; then run cp "$here/systemd/$e.env" "/etc/coder.d/$e.env"; else run touch "/etc/coder.d/$e.env"; fi
    run chmod 640 "/etc/coder.d/$e.env"
    run chgrp coder "/etc/coder.d/$e.env"
  fi
  run cp "$here/systemd/$e.service" "/etc/systemd/system/$e.service"
done
run systemctl daemon-reload
cat <<'END'
To run a server:       edit /etc/coder.d/coder.env, then: systemctl enable --now coder
To run a provisioner:  edit /etc/coder.d/coder-provisioner.env, then: systemctl enable --now coder-provisioner
END
