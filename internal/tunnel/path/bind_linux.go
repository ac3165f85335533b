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

// batchBind returns a path the methods with which quic-go hands over and takes
// packets many at a time, as if it were a socket with UDP's generic offloads.
type batchBind struct {
	*Path
	questions atomic.Int32
}

var _ quic.OOBCapablePacketConn = (*batchBind)(nil)

// PacketConn is what quic-go is given.
func (p *Path) PacketConn() net.PacketConn { return &batchBind{Path: p} }

// SyscallConn is asked for twice because of the socket's buffers, of which there
// are none, and then for what the socket can do.
func (b *batchBind) SyscallConn() (syscall.RawConn, error) {
	if b.questions.Add(1) <= 2 {
		return nil, errors.New("a tunnel has no socket buffers")
	}
	return aSocket{}, nil
}

// ReadBatch waits for packets and gives as many as there are.
func (b *batchBind) ReadBatch(ms []ipv4.Message, _ int) (int, error) {
	for {
		n := 0
		for n < len(ms) {
			packet, ok := b.packet()
			if !ok {
				break
			}
			if len(packet) > len(ms[n].Buffers[0]) {
				continue // nothing that we ever send
			}
			packet, from := b.now.from.shown(packet)
			ms[n].N, ms[n].NN, ms[n].Addr = copy(ms[n].Buffers[0], packet), 0, from
			n++
		}
		if n > 0 {
			b.now.from.hold(n)
			return n, nil
		}
		if err := b.next(); err != nil {
			return 0, err
		}
	}
}

// WriteMsgUDP sends packets of the size that is in oob, or one.
func (b *batchBind) WriteMsgUDP(p, oob []byte, addr *net.UDPAddr) (n, oobn int, err error) {
	n, err = b.send(p, udp.SegmentSize(oob, unix.UDP_SEGMENT), addr)
	return n, len(oob), err
}

// ReadMsgUDP is never called, since there is ReadBatch.
func (b *batchBind) ReadMsgUDP([]byte, []byte) (n, oobn, flags int, addr *net.UDPAddr, err error) {
	return 0, 0, 0, nil, errors.ErrUnsupported
}

// aSocket is what quic-go asks about the abilities of a socket while it is set
// up: one that lives as long as the question.
type aSocket struct{}

// Control calls f with a UDP socket.
func (aSocket) Control(f func(fd uintptr)) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	f(uintptr(fd))
	return nil
}

// Read is part of syscall.RawConn.
func (aSocket) Read(func(uintptr) bool) error { return syscall.ENOTSUP }

// Write is part of syscall.RawConn.
func (aSocket) Write(func(uintptr) bool) error { return syscall.ENOTSUP }
