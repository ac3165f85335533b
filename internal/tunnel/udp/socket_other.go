//go:build !linux

package udp

import (
	"net"
	"net/netip"
)

type socket struct{ conn *net.UDPConn }

// Listen binds a socket for direct paths to any free port.
func Listen() (Socket, error) {
	c, err := net.ListenUDP("udp", nil)
	if err != nil {
		return nil, err
	}
	return &socket{c}, nil
}

func (s *socket) Port() uint16 { return uint16(s.conn.LocalAddr().(*net.UDPAddr).Port) }

func (s *socket) Close() error { return s.conn.Close() }

func (s *socket) Read(b []byte) (n, seg int, from netip.AddrPort, err error) {
	n, from, err = s.conn.ReadFromUDPAddrPort(b)
	return n, 0, netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), err
}

func (s *socket) Write(b []byte, seg int, to netip.AddrPort) error {
	return EachSegment(b, seg, func(p []byte) error {
		_, err := s.conn.WriteToUDPAddrPort(p, to)
		return err
	})
}
