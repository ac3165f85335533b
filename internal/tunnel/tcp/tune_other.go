//go:build !linux

package tcp

import (
	"net"
	"time"
)

// Tune does nothing on this system.
func Tune(*net.TCPConn, time.Duration) {}

// WakeAt returns a function that does nothing on this system.
func WakeAt(*net.TCPConn) func(bytes int) { return func(int) {} }
