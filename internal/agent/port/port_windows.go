package port

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Listening returns the TCP ports in the listen state, with process names
// where this user has permission.
func Listening() ([]codersdk.WorkspaceAgentListeningPort, error) {
	table := windows.NewLazySystemDLL("iphlpapi.dll").NewProc("GetExtendedTcpTable")
	if err := table.Find(); err != nil {
		return nil, err
	}
	names := map[int32]string{}
	// A row consists of 32-bit words. A port is two bytes of one, in network
	// byte order.
	for _, t := range []struct{ family, row, port, process uintptr }{
		{windows.AF_INET, 24, 8, 20}, {windows.AF_INET6, 56, 20, 52},
	} {
		rows, err := listeners(table, t.family, t.row)
		if err != nil {
			return nil, err
		}
		for uintptr(len(rows)) >= t.row {
			port := int32(binary.BigEndian.Uint16(rows[t.port:]))
			names[port] = processName(binary.LittleEndian.Uint32(rows[t.process:]))
			rows = rows[t.row:]
		}
	}
	return visible(names), nil
}

// listeners returns the rows, each of row bytes, of a family's table of
// listening sockets.
func listeners(table *windows.LazyProc, family, row uintptr) ([]byte, error) {
	const ownerPIDListener = 3
	size := uint32(16 << 10)
	for range 8 { // the table may grow between calls
		b := make([]byte, size)
		code, _, _ := table.Call(uintptr(unsafe.Pointer(&b[0])), uintptr(unsafe.Pointer(&size)), 0, family, ownerPIDListener, 0)
		switch windows.Errno(code) {
		case windows.ERROR_SUCCESS:
			n := uintptr(binary.LittleEndian.Uint32(b)) // number of rows, which follow
			return b[4:min(4+n*row, uintptr(len(b)))], nil
		case windows.ERROR_INSUFFICIENT_BUFFER:
			continue
		}
		return nil, fmt.Errorf("read the table of TCP connections: %w", windows.Errno(code))
	}
	return nil, fmt.Errorf("read the table of TCP connections: %w", windows.ERROR_INSUFFICIENT_BUFFER)
}

// processName returns the program name of a process, or "" when that is
// unknown.
func processName(id uint32) string {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, id)
	if err != nil {
		return ""
	}
	defer windows.CloseHandle(h) //nolint:errcheck // only reading
	var name [windows.MAX_PATH]uint16
	n := uint32(len(name))
	if windows.QueryFullProcessImageName(h, 0, &name[0], &n) != nil {
		return ""
	}
	return filepath.Base(windows.UTF16ToString(name[:n]))
}
