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
	// flowQueue is how many datagrams of a flow wait for their reader; more
	// are lost, as with any socket.
	flowQueue = 256
	// flowHeader is the number of the flow's stream before each datagram.
	flowHeader = 8
	// maxUDP is the most that UDP carries.
	maxUDP = 65507
)

// Flow carries datagrams between a client and a UDP address as the workspace
// sees it. They travel as QUIC datagrams, which may be lost or overtake one
// another like any; those that are too big for one packet go over the flow's
// stream, each after its length as uint16. The two methods may be used by
// one goroutine each.
type Flow struct {
	stream *Stream
	conn   *quic.Conn
	flows  *flows
	in     chan []byte
	ended  chan struct{} // closed when the other side closed the stream
	err    error
	send   sync.Mutex
}

// flows are the flows of a connection by the numbers of their streams.
type flows struct {
	conn *quic.Conn // set when made
	once sync.Once
	mu   sync.Mutex
	all  map[quic.StreamID]*Flow
}

func (f *flows) add(s *Stream) *Flow {
	l := &Flow{stream: s, conn: f.conn, flows: f, in: make(chan []byte, flowQueue), ended: make(chan struct{})}
	f.mu.Lock()
	if f.all == nil {
		f.all = make(map[quic.StreamID]*Flow)
	}
	f.all[s.StreamID()] = l
	f.mu.Unlock()
	f.once.Do(func() { go f.receive() })
	go l.receiveBig()
	return l
}

// receive hands out datagrams until the connection ends.
func (f *flows) receive() {
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
			l.take(b[flowHeader:])
		}
	}
}

func (l *Flow) take(b []byte) {
	select {
	case l.in <- b:
	default:
	}
}

// receiveBig reads the datagrams that come over the stream.
func (l *Flow) receiveBig() {
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
		l.take(b)
	}
}

// Send sends one datagram of at most 65,507 bytes. One that waits in vain for
// the path is lost without an error.
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

// Receive waits for a datagram. It returns io.EOF when the other side has closed
// the flow.
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
	return c.flows.add(s), nil
}

// AcceptUDP is Accept for a stream of kind udp.
func (r *Request) AcceptUDP() (*Flow, error) {
	s, err := r.Accept()
	if err != nil {
		return nil, err
	}
	return r.flows.add(s), nil
}

// Carry carries datagrams between a flow and a connected socket until one of
// them fails or nothing comes for a while: the caller sets the deadline of the
// socket in alive, which is called with every datagram.
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
				return // other errors are of one datagram: nobody listens, or it is too big
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
			continue // nobody listens there now
		}
		alive()
		if l.Send(b[:n]) != nil {
			return
		}
	}
}
