package relay

import (
	"sync"
	"sync/atomic"
	"time"
)

// Limits of what waits in an Outbox.
const (
	// laneLimit is how much of one session waits before its sender has to. It
	// is what one write can carry: more would only be delay.
	laneLimit = MaxMessage
	// dropAge is how old the oldest waiting message is when a sender that
	// cannot wait begins to lose packets: the most delay that one link adds.
	dropAge = 20 * time.Millisecond
	// dropMin is what may always wait, dropMax what never may exceed.
	dropMin = 4 * MaxMessage
	dropMax = 4 << 20
)

// Outbox gathers packets into relay messages while its link is busy, so that
// a link under load moves big messages and an idle one sends at once.
// Messages leave in the order in which they were started, and a session that
// may wait has at most one started: so sessions take turns, and bulk delays
// typing by no more than a message. It is safe for concurrent use.
//
// While nobody sends and nothing waits, a caller that may wait sends itself: a
// key that is typed then passes through no other goroutine.
type Outbox struct {
	mu     sync.Mutex
	work   sync.Cond // something for Drain to send, or closed
	room   sync.Cond // something was taken, or closed
	queue  []entry   // the next is at head
	head   int
	bytes  int
	lanes  map[Session]lane
	ending bool // closed once nothing waits
	closed bool

	link    Link  // of Drain; nil before
	sending bool  // a goroutine sends to it
	own     bool  // that is not Drain
	err     error // with which that failed

	dropped atomic.Int64
}

type entry struct {
	*Message
	session Session
	at      time.Time
}

// lane is what waits of one session; last is the newest message.
type lane struct {
	bytes int
	last  *Message
}

// NewOutbox makes an empty outbox.
func NewOutbox() *Outbox {
	o := &Outbox{lanes: make(map[Session]lane)}
	o.work.L, o.room.L = &o.mu, &o.mu
	return o
}

// Text queues a text message behind everything that waits.
func (o *Outbox) Text(s string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	m := newMessage()
	m.Text = true
	m.Data = append(m.Data, s...)
	o.push(entry{Message: m})
	o.work.Signal()
}

// Packet is Packets for one.
func (o *Outbox) Packet(s Session, p []byte) bool { return o.Packets(s, p, len(p)) }

// Packets queues packets of seg bytes each but the last, all together
// less than MaxMessage, waiting for room or until they are sent. It returns false
// once the outbox is closed.
func (o *Outbox) Packets(s Session, b []byte, seg int) bool {
	n := len(b) + 2*((len(b)+seg-1)/max(seg, 1))
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.wait(s, n) {
		return false
	}
	m := o.begin(s, n)
	for len(b) > 0 {
		k := min(seg, len(b))
		m.Data, b = AppendPacket(m.Data, b[:k]), b[k:]
	}
	o.added(s, n)
	return o.pass()
}

// Forward queues the packets of a message, waiting for room or until they are
// sent. It returns false once the outbox is closed, and for a message without
// packets. The message stays the caller's.
func (o *Outbox) Forward(m *Message) bool {
	s, packets, err := m.Session()
	if err != nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.idle() {
		return o.send(m, true)
	}
	if !o.wait(s, len(packets)) {
		return false
	}
	to := o.begin(s, len(packets))
	to.Data = append(to.Data, packets...)
	o.added(s, len(packets))
	return o.pass()
}

// Offer is Forward for a caller who cannot wait: it returns false, and counts
// the bytes as dropped, when the link is slower than what comes.
func (o *Outbox) Offer(s Session, packets []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || o.bytes > dropMax || o.bytes > dropMin && time.Since(o.queue[o.head].at) > dropAge {
		o.dropped.Add(int64(len(packets)))
		return false
	}
	if to, ok := o.link.(trier); ok && o.idle() {
		m := newMessage()
		m.Data = append(append(m.Data, s[:]...), packets...)
		if to.try(m) {
			return true
		}
		m.Release()
	}
	m := o.begin(s, len(packets))
	m.Data = append(m.Data, packets...)
	o.added(s, len(packets))
	o.work.Signal()
	return true
}

// trier is a link that may take a message at once. try does not block; a message that
// it does not take stays the caller's.
type trier interface{ try(m *Message) bool }

// idle reports that nothing waits and nobody sends.
func (o *Outbox) idle() bool {
	return o.link != nil && !o.sending && !o.closed && o.head == len(o.queue)
}

// ready reports that one message waits and nobody sends.
func (o *Outbox) ready() bool {
	return o.link != nil && !o.sending && o.head == len(o.queue)-1
}

// pass sends the message that waits, if it is the only one and nobody sends, or
// leaves it to Drain. The caller holds mu.
func (o *Outbox) pass() bool {
	if !o.ready() {
		o.work.Signal()
		return true
	}
	m := o.take()
	defer m.Release()
	return o.send(m, true)
}

// send sends a message, which stays the caller's, and closes the outbox when that
// fails. The caller holds mu, which is let go meanwhile.
func (o *Outbox) send(m *Message, own bool) bool {
	o.sending, o.own = true, own
	o.mu.Unlock()
	err := o.link.Send(m.Text, m.Data)
	o.mu.Lock()
	o.sending = false
	if err != nil {
		if o.err == nil {
			o.err = err
		}
		o.close()
		return false
	}
	if own && (o.head < len(o.queue) || o.ending) {
		o.work.Signal()
	}
	return true
}

// Dropped returns the bytes that Offer did not take.
func (o *Outbox) Dropped() int64 { return o.dropped.Load() }

// wait waits until n bytes of the session may be added.
func (o *Outbox) wait(s Session, n int) bool {
	for !o.closed {
		if b := o.lanes[s].bytes; b == 0 || b+n <= laneLimit {
			return true
		}
		o.room.Wait()
	}
	return false
}

// begin returns the message to which n bytes of the session may be added: the
// newest that waits, or a new one.
func (o *Outbox) begin(s Session, n int) *Message {
	if l := o.lanes[s]; l.last != nil && len(l.last.Data)+n <= MaxMessage {
		return l.last
	}
	m := newMessage()
	m.Data = append(m.Data, s[:]...)
	l := o.lanes[s]
	l.last = m
	o.lanes[s] = l
	o.push(entry{Message: m, session: s, at: time.Now()})
	return m
}

func (o *Outbox) added(s Session, n int) {
	l := o.lanes[s]
	l.bytes += n
	o.lanes[s] = l
	o.bytes += n
}

func (o *Outbox) push(e entry) {
	if o.head > 0 && len(o.queue) == cap(o.queue) {
		n := copy(o.queue, o.queue[o.head:])
		clear(o.queue[n:])
		o.queue, o.head = o.queue[:n], 0
	}
	o.queue = append(o.queue, e)
}

// Take waits for the next message; nil once the outbox is closed. The caller
// releases it.
func (o *Outbox) Take() *Message {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.await()
}

// await is Take for who holds mu.
func (o *Outbox) await() *Message {
	for !o.closed && (o.sending || o.head == len(o.queue) && !o.ending) {
		o.work.Wait()
	}
	if o.closed || o.head == len(o.queue) {
		return nil
	}
	return o.take()
}

// take returns the message that is next. The caller holds mu.
func (o *Outbox) take() *Message {
	e := o.queue[o.head]
	o.queue[o.head] = entry{}
	o.head++
	if o.head == len(o.queue) {
		o.queue, o.head = o.queue[:0], 0
	}
	if !e.Text {
		n := len(e.Data) - len(e.session)
		o.bytes -= n
		l := o.lanes[e.session]
		l.bytes -= n
		if l.last == e.Message {
			l.last = nil
		}
		if l.bytes == 0 {
			delete(o.lanes, e.session)
		} else {
			o.lanes[e.session] = l
		}
		o.room.Broadcast()
	}
	return e.Message
}

// Finish closes the outbox as soon as nothing waits.
func (o *Outbox) Finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ending = true
	o.work.Broadcast()
}

// Close drops what waits and wakes all waiting callers, also one that sends itself, which ends
// the link. It may be called again.
func (o *Outbox) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sending && o.own && !o.closed {
		go o.link.Close(0, "")
	}
	o.close()
}

func (o *Outbox) close() {
	o.closed = true
	for _, e := range o.queue[o.head:] {
		e.Release()
	}
	o.queue, o.head, o.bytes = nil, 0, 0
	clear(o.lanes)
	o.work.Broadcast()
	o.room.Broadcast()
}

// Drain sends what comes to the link until the outbox is closed (nil) or the
// link fails, and closes the outbox then. It is called once.
func (o *Outbox) Drain(l Link) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.link = l
	for {
		m := o.await()
		if m == nil {
			return o.err
		}
		o.send(m, false)
		m.Release()
	}
}
