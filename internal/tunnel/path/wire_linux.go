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

// wakeFew is how many bytes are not worth a system call to wait for.
const wakeFew = 4 << 10

// wakeAt gives what tells the kernel for how many bytes a reader is worth waking: a
// record that comes in twenty packets wakes it once.
func wakeAt(c *net.TCPConn) func(bytes int) {
	raw, err := c.SyscallConn()
	if err != nil {
		return func(int) {}
	}
	now := 1
	return func(bytes int) {
		if bytes < wakeFew {
			bytes = 1
		}
		if bytes == now {
			return
		}
		now = bytes
		_ = raw.Control(func(fd uintptr) { // without it more is woken and nothing worse
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, bytes)
		})
	}
}
