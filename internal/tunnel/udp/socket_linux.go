package udp

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// socket joins datagrams in both directions where the kernel supports that.
type socket struct {
	conn   *net.UDPConn
	noJoin atomic.Bool // the kernel or the device does not support joined datagrams
}

const (
	// receiveBuffer is the requested size of the kernel's receive buffer. It holds the data of
	// the 25 ms for which one tunnel may delay the others.
	receiveBuffer = 4 << 20
	// sendBuffer is the size of the kernel's send buffer. With a bigger one the queue of this
	// machine itself would delay typed input during a bulk copy.
	sendBuffer = 256 << 10
)

// Listen binds a socket for direct paths to any free port.
func Listen() (Socket, error) {
	c, err := net.ListenUDP("udp", nil)
	if err != nil {
		return nil, err
	}
	_, _ = c.SetReadBuffer(receiveBuffer), c.SetWriteBuffer(sendBuffer) // smaller buffers only reduce speed
	s := &socket{conn: c}
	raw, err := c.SyscallConn()
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	err = raw.Control(func(fd uintptr) {
		f := int(fd)
		_ = unix.SetsockoptInt(f, unix.IPPROTO_UDP, unix.UDP_GRO, 1) // without it datagrams arrive one by one
		if _, err := unix.GetsockoptInt(f, unix.IPPROTO_UDP, unix.UDP_SEGMENT); err != nil {
			s.noJoin.Store(true)
		}
		// The path must drop packets that are too big, not fragment them, so that probes
		// detect the size that fits. Either option fails on a socket of the other family.
		_ = unix.SetsockoptInt(f, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE)
		_ = unix.SetsockoptInt(f, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE)
	})
	return s, err
}

func (s *socket) Port() uint16 { return uint16(s.conn.LocalAddr().(*net.UDPAddr).Port) }

func (s *socket) Close() error { return s.conn.Close() }

func (s *socket) Read(b []byte) (n, seg int, from netip.AddrPort, err error) {
	var oob [64]byte
	n, oobn, _, from, err := s.conn.ReadMsgUDPAddrPort(b, oob[:])
	if err != nil {
		return 0, 0, from, err
	}
	return n, SegmentSize(oob[:oobn], unix.UDP_GRO), netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), nil
}

func (s *socket) Write(b []byte, seg int, to netip.AddrPort) error {
	if seg <= 0 || len(b) <= seg {
		_, err := s.conn.WriteToUDPAddrPort(b, to)
		return err
	}
	if !s.noJoin.Load() {
		var oob [32]byte
		_, _, err := s.conn.WriteMsgUDPAddrPort(b, appendSegmentSize(oob[:0], seg), to)
		if !errors.Is(err, unix.EIO) && !errors.Is(err, unix.EINVAL) {
			return err
		}
		s.noJoin.Store(true) // a device without checksum offload
	}
	return EachSegment(b, seg, func(p []byte) error {
		_, err := s.conn.WriteToUDPAddrPort(p, to)
		return err
	})
}

// SegmentSize returns the size of joined datagrams from a control message, or 0 if it has
// none.
func SegmentSize(oob []byte, kind int32) int {
	for len(oob) >= unix.CmsgSpace(0) {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&oob[0]))
		n := int(h.Len)
		if n < unix.CmsgLen(0) || n > len(oob) {
			return 0
		}
		data := oob[unix.CmsgLen(0):n]
		if h.Level == unix.IPPROTO_UDP && h.Type == kind && len(data) >= 2 {
			return int(binary.NativeEndian.Uint16(data))
		}
		oob = oob[min(len(oob), unix.CmsgSpace(n-unix.CmsgLen(0))):]
	}
	return 0
}

func appendSegmentSize(b []byte, seg int) []byte {
	start := len(b)
	b = append(b, make([]byte, unix.CmsgSpace(2))...)
	h := (*unix.Cmsghdr)(unsafe.Pointer(&b[start]))
	h.Level, h.Type = unix.IPPROTO_UDP, unix.UDP_SEGMENT
	h.SetLen(unix.CmsgLen(2))
	binary.NativeEndian.PutUint16(b[start+unix.CmsgLen(0):], uint16(seg))
	return b
}
