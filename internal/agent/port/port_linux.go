package port

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Listening returns the TCP ports in the listen state, with process names
// where this user has permission.
func Listening() ([]codersdk.WorkspaceAgentListeningPort, error) {
	inodes := map[string]int32{} // socket inode to port
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		if err := readListening(file, inodes); err != nil && !os.IsNotExist(err) {
			return nil, err
		}
	}
	names := map[int32]string{}
	for _, port := range inodes {
		names[port] = ""
	}
	nameSockets(inodes, names)
	return visible(names), nil
}

// readListening reads the listening sockets of one kernel table.
func readListening(file string, inodes map[string]int32) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	const local, state, inode, listening = 1, 3, 9, "0A"
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		w := strings.Fields(lines.Text())
		if len(w) <= inode || w[state] != listening {
			continue
		}
		_, hex, _ := strings.Cut(w[local], ":")
		if port, err := strconv.ParseUint(hex, 16, 16); err == nil {
			inodes[w[inode]] = int32(port)
		}
	}
	return lines.Err()
}

// nameSockets finds the processes that own the sockets.
func nameSockets(inodes map[string]int32, names map[int32]string) {
	dirs, err := filepath.Glob("/proc/[0-9]*/fd")
	if err != nil {
		return
	}
	for _, dir := range dirs {
		fds, err := os.ReadDir(dir)
		if err != nil {
			continue // ended, or owned by another user
		}
		for _, fd := range fds {
			target, err := os.Readlink(filepath.Join(dir, fd.Name()))
			if err != nil {
				continue
			}
			id, ok := strings.CutPrefix(target, "socket:[")
			if port, known := inodes[strings.TrimSuffix(id, "]")]; ok && known && names[port] == "" {
				if b, err := os.ReadFile(filepath.Join(filepath.Dir(dir), "comm")); err == nil {
					names[port] = strings.TrimSpace(string(b))
				}
			}
		}
	}
}
