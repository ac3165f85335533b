#!/bin/sh
# Mounts the data disk at /home/coder, and formats it when it is empty.
set -eu

disk=/dev/disk/azure/scsi1/lun10
until [ -e "$disk" ]; do
	sleep 1
done
if ! blkid "$disk" >/dev/null; then
	mkfs.ext4 -q -L home "$disk"
fi
if ! mountpoint -q /home/coder; then
	mkdir -p /home/coder
	mount "$disk" /home/coder
fi
chown coder:coder /home/coder
