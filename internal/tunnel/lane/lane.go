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

// RecordSender is the path that carries records. It is safe for concurrent use.
type RecordSender interface {
	// Use reports for which data records are useful now.
	Use() path.Use
	// Send sends a record, waiting while the path is busy. It does not keep the record.
	// It returns false if the record was certainly not sent.
	Send(record []byte) bool
	// SeekWire notes that there is much to send and records are not useful, so that a search
	// for a better path may pay. It does not block.
	SeekWire()
}

const (
	// ackDelay is the maximum delay of an acknowledgement.
	ackDelay = 20 * time.Millisecond
	// ackBytes is the number of received bytes after which an acknowledgement is sent at
	// once.
	ackBytes = 256 << 10
	// checkInterval is the interval between checks for overdue acknowledgements.
	checkInterval = 40 * time.Millisecond
	// awayCheckInterval is the same interval when no acknowledgement has arrived for seconds.
	awayCheckInterval = time.Second
	// maxBuffered bounds the memory of unread data of all streams: twice maxUnread, since
	// buffers are at least half full, and some for gaps. An honest end never exceeds it.
	// Data above it is dropped, except for minStreamUnread of each stream.
	maxBuffered = 40 << 20
)

// Lane carries streams of one QUIC connection in records. It is safe for concurrent use. It
// ends with the connection.
type Lane struct {
	records RecordSender
	out, in cipher.AEAD
	sealed  atomic.Uint64

	flow     flow
	buffered atomic.Int64 // memory of unread data

	rx, tx, rxRecords, txRecords atomic.Uint64

	mu             sync.Mutex
	streams        map[quic.StreamID]*Stream
	ackDue         map[*Stream]struct{} // streams with an acknowledgement to send
	unackedBytes   int                  // bytes that arrived or were read since the last acknowledgement
	ackTimerSet    bool                 // a timer will send acknowledgements
	sendingAcks    bool                 // a goroutine sends acknowledgements
	checkScheduled bool                 // a timer will check for overdue acknowledgements
}

// label names the keying material of the TLS session from which the keys of records are
// derived.
const label = "EXPORTER-coder-tunnel-record"

// New returns the lane of a connection whose handshake is complete.
func New(c *quic.Conn, agent bool, records RecordSender) (*Lane, error) {
	state := c.ConnectionState().TLS
	size, newAEAD := 16, seal.NewGCM
	if state.CipherSuite == tls.TLS_CHACHA20_POLY1305_SHA256 { // AES is slow on one of the ends
		size, newAEAD = chacha20poly1305.KeySize, chacha20poly1305.New
	}
	secret, err := state.ExportKeyingMaterial(label, nil, 2*size)
	if err != nil {
		return nil, err
	}
	l := &Lane{records: records, streams: map[quic.StreamID]*Stream{}, ackDue: map[*Stream]struct{}{}}
	l.flow.init()
	l.out, l.in, err = seal.Directions(secret, newAEAD, agent)
	return l, err
}

// Stream returns a stream that the lane carries. Nothing may have been read from q or written
// to it. With a nil lane QUIC alone carries the stream.
func (l *Lane) Stream(q *quic.Stream) *Stream {
	s := &Stream{q: q, out: outlet{q: q}, l: l}
	if l == nil {
		return s
	}
	s.init()
	l.mu.Lock()
	l.streams[q.StreamID()] = s
	l.mu.Unlock()
	go s.recv.receiveQUIC()
	return s
}

// removeStream removes a stream that has ended in both directions.
func (l *Lane) removeStream(s *Stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.streams, s.q.StreamID())
	delete(l.ackDue, s)
}

// Record handles a received record, and drops an invalid one.
func (l *Lane) Record(b []byte) {
	r, err := l.openRecord(b)
	if err != nil {
		return
	}
	l.rx.Add(uint64(len(b)))
	l.rxRecords.Add(1)
	if r.kind == kindAck {
		for _, a := range r.acks {
			if s := l.streamByID(a.stream); s != nil {
				s.send.handleAck(a)
			}
		}
	} else if s := l.streamByID(r.stream); s != nil {
		s.send.handleAck(r.ack)
		if len(r.data) > 0 {
			s.recv.addRecord(r)
			return // the receiver keeps the buffer
		}
	}
	r.buf.free()
}

// sendRecord sends a record and frees it.
func (l *Lane) sendRecord(b *buffer) bool {
	defer b.free()
	if !l.records.Send(b.data) {
		return false
	}
	l.tx.Add(uint64(len(b.data)))
	l.txRecords.Add(1)
	return true
}

// Stats counts the bytes and records of a lane.
type Stats struct{ RxBytes, TxBytes, RxRecords, TxRecords uint64 }

// Stats returns the counts so far; zeros for a nil lane.
func (l *Lane) Stats() Stats {
	if l == nil {
		return Stats{}
	}
	return Stats{l.rx.Load(), l.tx.Load(), l.rxRecords.Load(), l.txRecords.Load()}
}

// Held returns the number of stream bytes that the lane keeps: sent without an
// acknowledgement, or not yet read. unsent reports whether any of them lack an
// acknowledgement. A nil lane keeps none.
func (l *Lane) Held() (held uint64, unsent bool) {
	if l == nil {
		return 0, false
	}
	under := l.flow.bytesInFlight()
	return under + uint64(max(0, l.buffered.Load())), under > 0
}

func (l *Lane) streamByID(id quic.StreamID) *Stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.streams[id]
}

// Changed makes all streams retransmit what may have been lost when the path changed.
func (l *Lane) Changed() {
	l.flow.resetRTT()
	for _, s := range l.allStreams() {
		s.send.resendAll()
	}
}

func (l *Lane) allStreams() []*Stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.streams))
}

// scheduleAck notes that n bytes of a stream arrived or were read. It sends an acknowledgement
// at once if now is set, or if the bytes are a good part of the window, since the other end
// may be waiting. Otherwise an acknowledgement follows after ackDelay.
func (l *Lane) scheduleAck(s *Stream, n, window int, now bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ackDue[s] = struct{}{}
	l.unackedBytes += n
	switch now = now || l.unackedBytes >= min(window/4, ackBytes); {
	case l.sendingAcks:
	case now:
		l.sendingAcks = true
		go l.sendAcks()
	case !l.ackTimerSet:
		l.ackTimerSet = true
		time.AfterFunc(ackDelay, l.sendDelayedAcks)
	}
}

func (l *Lane) sendDelayedAcks() {
	l.mu.Lock()
	l.ackTimerSet = false
	sendingAcks := l.sendingAcks
	l.sendingAcks = true
	l.mu.Unlock()
	if !sendingAcks {
		l.sendAcks()
	}
}

// sendAcks sends all due acknowledgements.
func (l *Lane) sendAcks() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.ackDue) > 0 {
		var some []*Stream
		for s := range l.ackDue {
			some = append(some, s)
			delete(l.ackDue, s)
			if len(some) == maxAcks {
				break
			}
		}
		l.unackedBytes = 0
		l.mu.Unlock()
		acks := make([]ack, 0, len(some))
		for _, s := range some {
			if a, due := s.recv.dueAck(); due {
				acks = append(acks, a)
			}
		}
		if len(acks) > 0 {
			l.sendRecord(l.sealAcks(acks)) // if this is lost, the other end retransmits and gets another acknowledgement
		}
		l.mu.Lock()
	}
	l.sendingAcks = false
}

// scheduleCheck schedules a check whether the records sent now were acknowledged.
func (l *Lane) scheduleCheck() { l.scheduleCheckAfter(checkInterval) }

// scheduleCheckAfter schedules a check after a time. A check that is already scheduled stays.
func (l *Lane) scheduleCheckAfter(after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.checkScheduled {
		return
	}
	l.checkScheduled = true
	time.AfterFunc(after, l.checkOverdue)
}

func (l *Lane) checkOverdue() {
	l.mu.Lock()
	l.checkScheduled = false
	l.mu.Unlock()
	again := time.Duration(0)
	for _, s := range l.allStreams() {
		if after := s.send.probeOverdue(); after > 0 && (again == 0 || after < again) {
			again = after
		}
	}
	if again > 0 {
		l.scheduleCheckAfter(again)
	}
}
