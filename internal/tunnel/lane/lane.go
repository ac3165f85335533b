package lane

import (
	"crypto/cipher"
	"crypto/tls"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"golang.org/x/crypto/chacha20poly1305"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/path"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/seal"
)

// Way carries records. It is safe for concurrent use.
type Way interface {
	// Use reports what records are of use for now.
	Use() path.Use
	// Send sends a record, waiting while the way is busy, and keeps nothing of it;
	// false reports that it was surely not sent.
	Send(record []byte) bool
	// Want reports that there is much to send and records are of no use: a better way
	// might be looked for. It does not block.
	Want()
}

const (
	// ackAfter is how long it may take until what came is acknowledged.
	ackAfter = 20 * time.Millisecond
	// ackPart is how much is acknowledged at least at once while much comes.
	ackPart = 256 << 10
	// look is how often a lane with records that are not acknowledged looks at them.
	look = 40 * time.Millisecond
	// rareLook is the same while no record is acknowledged for seconds.
	rareLook = time.Second
	// maxBuffered is how much memory what waits to be read may take, of all streams:
	// twice mostUnread, as buffers are half full at least, and some for gaps. What
	// comes then, which no honest end sends, is dropped, but for each stream's share.
	maxBuffered = 40 << 20
)

// Lane carries streams of one QUIC connection beside it. It is safe for concurrent
// use. It ends with the connection.
type Lane struct {
	way     Way
	out, in cipher.AEAD
	sealed  atomic.Uint64

	flow     flow
	buffered atomic.Int64 // memory of what waits to be read

	rx, tx, rxRecords, txRecords atomic.Uint64

	mu      sync.Mutex
	streams map[quic.StreamID]*Stream
	due     map[*Stream]struct{} // have something to acknowledge
	came    int                  // or were read: bytes since something was acknowledged
	waits   bool                 // that, for a while
	telling bool                 // a goroutine sends acknowledgements
	looking bool                 // checks again after a while
}

// label is what the keys of records are derived by from the TLS session.
const label = "EXPORTER-coder-tunnel-record"

// New makes the lane of a connection whose handshake is done.
func New(c *quic.Conn, agent bool, way Way) (*Lane, error) {
	state := c.ConnectionState().TLS
	size, newAEAD := 16, seal.NewGCM
	if state.CipherSuite == tls.TLS_CHACHA20_POLY1305_SHA256 { // an end computes AES slowly
		size, newAEAD = chacha20poly1305.KeySize, chacha20poly1305.New
	}
	secret, err := state.ExportKeyingMaterial(label, nil, 2*size)
	if err != nil {
		return nil, err
	}
	l := &Lane{way: way, streams: map[quic.StreamID]*Stream{}, due: map[*Stream]struct{}{}}
	l.flow.init()
	l.out, l.in, err = seal.Directions(secret, newAEAD, agent)
	return l, err
}

// Stream has the lane carry a stream, of which nothing has been read or written. A
// nil lane gives one that QUIC alone carries.
func (l *Lane) Stream(q *quic.Stream) *Stream {
	s := &Stream{q: q, out: outlet{q: q}, l: l}
	if l == nil {
		return s
	}
	s.init()
	l.mu.Lock()
	l.streams[q.StreamID()] = s
	l.mu.Unlock()
	go s.recv.pump()
	return s
}

// forget drops a stream that has ended in both directions.
func (l *Lane) forget(s *Stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.streams, s.q.StreamID())
	delete(l.due, s)
}

// Record takes a record that came; rubbish is dropped.
func (l *Lane) Record(b []byte) {
	r, err := l.open(b)
	if err != nil {
		return
	}
	l.rx.Add(uint64(len(b)))
	l.rxRecords.Add(1)
	if r.kind == kindAck {
		for _, a := range r.acks {
			if s := l.stream(a.stream); s != nil {
				s.send.acknowledged(a)
			}
		}
	} else if s := l.stream(r.stream); s != nil {
		s.send.acknowledged(r.ack)
		if len(r.data) > 0 {
			s.recv.take(r)
			return // which keeps the buffer
		}
	}
	r.buf.free()
}

// send sends a record and frees it.
func (l *Lane) send(b *buffer) bool {
	defer b.free()
	if !l.way.Send(b.data) {
		return false
	}
	l.tx.Add(uint64(len(b.data)))
	l.txRecords.Add(1)
	return true
}

// Stats is what went by records.
type Stats struct{ RxBytes, TxBytes, RxRecords, TxRecords uint64 }

// Stats returns what went by records so far; of a nil lane nothing.
func (l *Lane) Stats() Stats {
	if l == nil {
		return Stats{}
	}
	return Stats{l.rx.Load(), l.tx.Load(), l.rxRecords.Load(), l.txRecords.Load()}
}

// Held returns the bytes of streams that the lane keeps: sent without an acknowledgement,
// which unsent reports, or not yet read. A nil lane keeps none.
func (l *Lane) Held() (held uint64, unsent bool) {
	if l == nil {
		return 0, false
	}
	under := l.flow.underWay()
	return under + uint64(max(0, l.buffered.Load())), under > 0
}

func (l *Lane) stream(id quic.StreamID) *Stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.streams[id]
}

// Changed has all streams send again what may have been lost.
func (l *Lane) Changed() {
	l.flow.restart()
	for _, s := range l.all() {
		s.send.changed()
	}
}

// all returns the streams.
func (l *Lane) all() []*Stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.streams))
}

// ack notes that n bytes of a stream came, or were read: that is told now when it is a
// good part of window, for which the other end may wait, or else after a while.
func (l *Lane) ack(s *Stream, n, window int, now bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.due[s] = struct{}{}
	l.came += n
	switch now = now || l.came >= min(window/4, ackPart); {
	case l.telling:
	case now:
		l.telling = true
		go l.tell()
	case !l.waits:
		l.waits = true
		time.AfterFunc(ackAfter, l.tellLate)
	}
}

func (l *Lane) tellLate() {
	l.mu.Lock()
	l.waits = false
	telling := l.telling
	l.telling = true
	l.mu.Unlock()
	if !telling {
		l.tell()
	}
}

// tell sends what is to be acknowledged.
func (l *Lane) tell() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.due) > 0 {
		var some []*Stream
		for s := range l.due {
			some = append(some, s)
			delete(l.due, s)
			if len(some) == maxAcks {
				break
			}
		}
		l.came = 0
		l.mu.Unlock()
		acks := make([]ack, 0, len(some))
		for _, s := range some {
			if a, due := s.recv.dueAck(); due {
				acks = append(acks, a)
			}
		}
		if len(acks) > 0 {
			l.send(l.sealAcks(acks)) // who misses it sends again, and is told again
		}
		l.mu.Lock()
	}
	l.telling = false
}

// watch has the lane check soon whether records were acknowledged that were sent now.
func (l *Lane) watch() { l.watchAfter(look) }

// watchAfter is watch after a time. A check that is due already stays.
func (l *Lane) watchAfter(after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.looking {
		return
	}
	l.looking = true
	time.AfterFunc(after, l.look)
}

func (l *Lane) look() {
	l.mu.Lock()
	l.looking = false
	l.mu.Unlock()
	again := time.Duration(0)
	for _, s := range l.all() {
		if after := s.send.overdue(); after > 0 && (again == 0 || after < again) {
			again = after
		}
	}
	if again > 0 {
		l.watchAfter(again)
	}
}
