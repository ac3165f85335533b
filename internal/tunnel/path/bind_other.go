//go:build !linux

package path

import "net"

// PacketConn is what quic-go is given.
func (p *Path) PacketConn() net.PacketConn { return p }
