//go:build !linux

package path

import "net"

func tuneWire(*net.TCPConn) {}

func wakeAt(*net.TCPConn) func(bytes int) { return func(int) {} }
