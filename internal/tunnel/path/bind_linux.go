package path

import (
	"errors"
	"net"
	"sync/atomic"
	"syscall"

	"github.com/quic-go/quic-go"
	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/udp"
)

// batchBind adds methods to a path with which quic-go reads and writes many packets per
// call, as on a socket with UDP generic segmentation and receive offload.
type batchBind struct {
	*Path
	syscallConns atomic.Int32 // calls of SyscallConn
}

var _ quic.OOBCapablePacketConn = (*batchBind)(nil)

// PacketConn returns the socket for quic-go.
func (p *Path) PacketConn() net.PacketConn { return &batchBind{Path: p} }

// SyscallConn fails twice and then returns a socket. quic-go calls it twice to set the
// sizes of socket buffers, which a path does not have. Then it checks what the socket supports.
func (b *batchBind) SyscallConn() (syscall.RawConn, error) {
	if b.syscallConns.Add(1) <= 2 {
		return nil, errors.New("a tunnel has no socket buffers")
	}
	return temporarySocket{}, nil
}

// ReadBatch waits for packets and returns those of one arrival that fit into ms.
func (b *batchBind) ReadBatch(ms []ipv4.Message, _ int) (int, error) {
	for {
		n := 0
		for n < len(ms) {
			packet, ok := b.nextPacket()
			if !ok {
				break
			}
			if len(packet) > len(ms[n].Buffers[0]) {
				continue // the other end never sends packets of this size
			}
			packet, from := b.current.from.removeMark(packet)
			ms[n].N, ms[n].NN, ms[n].Addr = copy(ms[n].Buffers[0], packet), 0, from
			n++
		}
		if n > 0 {
			b.current.from.waitForQUIC(n)
			return n, nil
		}
		if err := b.waitForArrival(); err != nil {
			return 0, err
		}
	}
}

// WriteMsgUDP sends packets of the segment size in oob, or one packet if oob has none.
func (b *batchBind) WriteMsgUDP(p, oob []byte, addr *net.UDPAddr) (n, oobn int, err error) {
	n, err = b.sendPackets(p, udp.SegmentSize(oob, unix.UDP_SEGMENT), addr)
	return n, len(oob), err
}

// ReadMsgUDP fails. quic-go never calls it, because batchBind has ReadBatch.
func (b *batchBind) ReadMsgUDP([]byte, []byte) (n, oobn, flags int, addr *net.UDPAddr, err error) {
	return 0, 0, 0, nil, errors.ErrUnsupported
}

// temporarySocket answers quic-go's setup questions about socket features. Each call of
// Control opens a real socket and closes it again.
type temporarySocket struct{}

// Control calls f with a new UDP socket.
func (temporarySocket) Control(f func(fd uintptr)) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	f(uintptr(fd))
	return nil
}

// Read is part of syscall.RawConn.
func (temporarySocket) Read(func(uintptr) bool) error { return syscall.ENOTSUP }

// Write is part of syscall.RawConn.
func (temporarySocket) Write(func(uintptr) bool) error { return syscall.ENOTSUP }
