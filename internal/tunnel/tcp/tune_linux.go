package tcp

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// unsent is how many unsent bytes may wait in the kernel: what is typed later waits
// behind no more.
const unsent = 128 << 10

// Tune sets up a connection. Data that the other end does not acknowledge within stall
// ends the connection. A failure only costs promptness.
func Tune(c *net.TCPConn, stall time.Duration) {
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, unsent)
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(stall.Milliseconds()))
	})
}

// fewBytes are not worth a system call to wait for.
const fewBytes = 4 << 10

// WakeAt returns a function that sets the number of bytes for which the kernel wakes a
// reader: a record that arrives in twenty packets wakes it once.
func WakeAt(c *net.TCPConn) func(bytes int) {
	raw, err := c.SyscallConn()
	if err != nil {
		return func(int) {}
	}
	now := 1
	return func(bytes int) {
		if bytes < fewBytes {
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
