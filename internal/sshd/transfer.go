package sshd

import (
	"path"
	"slices"
	"strings"
)

// refusedTransfer is the exit status of refused file transfers.
const refusedTransfer = 65

// transfers reports whether a command copies files. (AG-26)
func transfers(command string) bool {
	words := strings.Fields(command)
	return len(words) > 0 && slices.Contains([]string{"scp", "rsync", "ftp", "nc", "sftp", "sftp-server"}, path.Base(strings.Trim(words[0], `"'`)))
}

// refuseTransfer ends a session that would copy files.
func (s *session) refuseTransfer() {
	s.say("File transfer is disabled in this workspace.")
	s.exit(refusedTransfer)
}
