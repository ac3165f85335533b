#!/bin/sh
# Installs coder on this machine: the program, and where systemd runs, units for
# a server and a provisioner, which it does not start.
#
#   ./install.sh [--binary FILE] [--prefix DIR] [--without-systemd] [--dry-run]
#
# FILE is the program, which `make build` leaves in bin/coder; without it, the
# one beside this script, or that of the source tree around it, is taken. As
# another user than root, give a --prefix that is yours; no units are made then.
set -eu

binary= prefix=/usr systemd=auto dry=
usage() { sed -n '2,10s/^# \{0,1\}//p' "$0"; }
fail() { echo "install.sh: $*" >&2; exit 1; }
while [ $# -gt 0 ]; do
  case $1 in
    --binary) [ $# -gt 1 ] || fail "--binary needs a file"; binary=$2; shift ;;
    --prefix) [ $# -gt 1 ] || fail "--prefix needs a directory"; prefix=$2; shift ;;
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
[ -n "$binary" ] || fail "no program to install: run 'make build', or name it with --binary"
[ -f "$binary" ] || fail "there is no file $binary"
version=$("$binary" version 2>/dev/null) || version=
case $version in
  coder\ *) version=${version%%,*} ;;
  *) fail "$binary is not coder, or does not run on this machine ($(uname -s) $(uname -m))" ;;
esac

run() { if [ -n "$dry" ]; then echo "$*"; else "$@"; fi; }

run mkdir -p "$prefix/bin"
# Over a running program, by a name of its own first: nobody sees half of it.
run cp "$binary" "$prefix/bin/.coder.new"
run chmod 755 "$prefix/bin/.coder.new"
run mv "$prefix/bin/.coder.new" "$prefix/bin/coder"
if [ -z "$dry" ]; then echo "Installed $version as $prefix/bin/coder"; fi

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
