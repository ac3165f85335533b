package tcp

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// unsent is the maximum number of unsent bytes in the kernel. Later typed input waits behind
// at most that many.
const unsent = 128 << 10

// Tune configures a connection. The connection fails if the other end does not acknowledge
// data within stall. Tune ignores errors, since they only cost promptness.
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

// fewBytes is the number of missing bytes below which waiting for all of them is not worth a
// system call.
const fewBytes = 4 << 10

// WakeAt returns a function that sets the number of bytes for which the kernel wakes a reader.
// So a record that arrives in twenty packets wakes the reader once.
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
		_ = raw.Control(func(fd uintptr) { // an error only causes more wake-ups
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, bytes)
		})
	}
}
