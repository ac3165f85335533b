package path

import (
	"net"

	"golang.org/x/sys/unix"
)

// wireUnsent is how much of what was not sent yet may wait in the kernel: what comes
// later, such as a key, waits behind no more.
const wireUnsent = 128 << 10

// tuneWire sets up a connection for records. Without it, it is less prompt and nothing
// worse.
func tuneWire(c *net.TCPConn) {
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, wireUnsent)
		// What the other end does not acknowledge for so long it never will.
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(wireStall.Milliseconds()))
	})
}
