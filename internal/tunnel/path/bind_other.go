//go:build !linux

package path

import "net"

// PacketConn returns the socket for quic-go.
func (p *Path) PacketConn() net.PacketConn { return p }
