package tunnel

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/quic-go/quic-go"
)

const (
	// flowQueue is the number of datagrams of a flow that wait for their reader. Further
	// datagrams are lost, as with any socket.
	flowQueue = 256
	// flowHeader is the size of the stream ID before each datagram.
	flowHeader = 8
	// maxUDP is the maximum size of a UDP payload in bytes.
	maxUDP = 65507
)

// Flow carries datagrams between a client and a UDP address that the workspace reaches. They
// travel as QUIC datagrams, which may be lost or reordered. Datagrams too big for one packet
// use the flow's stream, each after its length as uint16. One goroutine may call Send while
// another calls Receive.
type Flow struct {
	stream *Stream
	conn   *quic.Conn
	flows  *flows
	in     chan []byte
	ended  chan struct{} // closed when the other side closed the stream
	err    error
	send   sync.Mutex
}

// flows are the flows of a connection by stream ID.
type flows struct {
	conn *quic.Conn // set at creation
	once sync.Once
	mu   sync.Mutex
	all  map[quic.StreamID]*Flow
}

func (f *flows) addFlow(s *Stream) *Flow {
	l := &Flow{stream: s, conn: f.conn, flows: f, in: make(chan []byte, flowQueue), ended: make(chan struct{})}
	f.mu.Lock()
	if f.all == nil {
		f.all = make(map[quic.StreamID]*Flow)
	}
	f.all[s.StreamID()] = l
	f.mu.Unlock()
	f.once.Do(func() { go f.receiveDatagrams() })
	go l.receiveFromStream()
	return l
}

// receiveDatagrams passes datagrams to their flows until the connection ends.
func (f *flows) receiveDatagrams() {
	for {
		b, err := f.conn.ReceiveDatagram(context.Background())
		if err != nil {
			return
		}
		if len(b) < flowHeader {
			continue
		}
		f.mu.Lock()
		l := f.all[quic.StreamID(binary.BigEndian.Uint64(b))]
		f.mu.Unlock()
		if l != nil {
			l.enqueue(b[flowHeader:])
		}
	}
}

func (l *Flow) enqueue(b []byte) {
	select {
	case l.in <- b:
	default:
	}
}

// receiveFromStream receives the datagrams that arrive on the stream.
func (l *Flow) receiveFromStream() {
	defer close(l.ended)
	var size [2]byte
	for {
		if _, l.err = io.ReadFull(l.stream, size[:]); l.err != nil {
			return
		}
		b := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, l.err = io.ReadFull(l.stream, b); l.err != nil {
			return
		}
		l.enqueue(b)
	}
}

// Send sends one datagram of at most 65,507 bytes. A datagram that waits too long for the path
// is lost without an error.
func (l *Flow) Send(b []byte) error {
	if len(b) > maxUDP {
		return errors.New("a datagram of more than 65,507 bytes")
	}
	p := binary.BigEndian.AppendUint64(make([]byte, 0, flowHeader+len(b)), uint64(l.stream.StreamID()))
	err := l.conn.SendDatagram(append(p, b...))
	if _, big := errors.AsType[*quic.DatagramTooLargeError](err); !big {
		return err
	}
	l.send.Lock()
	defer l.send.Unlock()
	_, err = l.stream.Write(append(binary.BigEndian.AppendUint16(make([]byte, 0, 2+len(b)), uint16(len(b))), b...))
	return err
}

// Receive waits for a datagram. It returns io.EOF after the other side has closed the flow.
func (l *Flow) Receive() ([]byte, error) {
	select {
	case b := <-l.in:
		return b, nil
	case <-l.ended:
		return nil, l.err
	}
}

// Close ends the flow on both sides.
func (l *Flow) Close() error {
	l.flows.mu.Lock()
	delete(l.flows.all, l.stream.StreamID())
	l.flows.mu.Unlock()
	return l.stream.Close()
}

// OpenUDP opens a flow to host:port as the agent sees it.
func (c *Conn) OpenUDP(ctx context.Context, address string) (*Flow, error) {
	s, err := c.Open(ctx, KindUDP, address)
	if err != nil {
		return nil, err
	}
	return c.flows.addFlow(s), nil
}

// AcceptUDP is Accept for a stream of kind udp.
func (r *Request) AcceptUDP() (*Flow, error) {
	s, err := r.Accept()
	if err != nil {
		return nil, err
	}
	return r.flows.addFlow(s), nil
}

// Carry carries datagrams between a flow and a connected socket until one of them fails or the
// socket's deadline passes. Carry calls alive with every datagram; alive extends the deadline.
func (l *Flow) Carry(socket net.Conn, alive func()) {
	defer l.Close()
	go func() {
		defer socket.Close()
		for {
			b, err := l.Receive()
			if err != nil {
				return
			}
			alive()
			if _, err := socket.Write(b); errors.Is(err, net.ErrClosed) {
				return // other errors concern one datagram: no listener, or too big
			}
		}
	}()
	b := make([]byte, maxUDP)
	for {
		n, err := socket.Read(b)
		if ne, ok := errors.AsType[net.Error](err); err != nil && (errors.Is(err, net.ErrClosed) || ok && ne.Timeout()) {
			return
		}
		if err != nil {
			continue // there is no listener now
		}
		alive()
		if l.Send(b[:n]) != nil {
			return
		}
	}
}
