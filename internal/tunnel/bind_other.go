//go:build !linux

package tunnel

import "net"

// bind is what quic-go is given.
func bind(p *path) net.PacketConn { return p }
