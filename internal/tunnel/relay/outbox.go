package relay

import (
	"sync"
	"sync/atomic"
	"time"
)

// Limits of the messages that wait in an Outbox.
const (
	// sessionLimit is the number of bytes of one session that may wait before its sender must.
	// One write can carry that much; a higher limit would only add delay.
	sessionLimit = MaxMessage
	// dropAge is the age of the oldest waiting message at which a sender that cannot wait
	// starts to lose packets. So it bounds the delay that one link adds.
	dropAge = 20 * time.Millisecond
	// dropMin is the number of bytes that may always wait, and dropMax the number that may
	// never be exceeded.
	dropMin = 4 * MaxMessage
	dropMax = 4 << 20
)

// Outbox collects packets into relay messages while its link is busy. So a link under load
// carries big messages, and an idle link sends at once. Messages leave in the order in which
// they were started, and a session whose senders wait has at most one waiting message. So
// sessions take turns, and bulk data delays typed input by at most one message. An Outbox is
// safe for concurrent use.
//
// While nothing is being sent and nothing waits, a caller that may wait sends its packets
// itself. A typed key then passes through no other goroutine.
type Outbox struct {
	mu       sync.Mutex
	hasWork  sync.Cond // signals that Drain has a message to send, or that the outbox is closed
	hasSpace sync.Cond // signals that a message was removed, or that the outbox is closed
	queue    []entry   // from head on
	head     int
	bytes    int
	sessions map[Session]sessionQueue
	ending   bool // closed once nothing waits
	closed   bool

	link        Link  // of Drain; nil before
	sending     bool  // a goroutine is sending to the link
	callerSends bool  // that goroutine is not Drain
	err         error // first error of the link

	dropped atomic.Int64
}

type entry struct {
	*Message
	session Session
	at      time.Time
}

// sessionQueue is the waiting data of one session; last is its newest message.
type sessionQueue struct {
	bytes int
	last  *Message
}

// NewOutbox returns an empty outbox.
func NewOutbox() *Outbox {
	o := &Outbox{sessions: make(map[Session]sessionQueue)}
	o.hasWork.L, o.hasSpace.L = &o.mu, &o.mu
	return o
}

// Text queues a text message behind all waiting messages.
func (o *Outbox) Text(s string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	m := newMessage()
	m.Text = true
	m.Data = append(m.Data, s...)
	o.enqueue(entry{Message: m})
	o.hasWork.Signal()
}

// Packet is Packets for one packet.
func (o *Outbox) Packet(s Session, p []byte) bool { return o.Packets(s, p, len(p)) }

// Packets queues packets of seg bytes each, of which the last may be shorter, in total less
// than MaxMessage. It waits for space or until the packets are sent. It returns false once the
// outbox is closed.
func (o *Outbox) Packets(s Session, b []byte, seg int) bool {
	n := len(b) + 2*((len(b)+seg-1)/max(seg, 1))
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.waitForSpace(s, n) {
		return false
	}
	m := o.openMessage(s, n)
	for len(b) > 0 {
		k := min(seg, len(b))
		m.Data, b = AppendPacket(m.Data, b[:k]), b[k:]
	}
	o.countBytes(s, n)
	return o.sendOrSignal()
}

// Forward queues the packets of a message. It waits for space or until they are sent. It
// returns false once the outbox is closed, and for a message without packets. The caller keeps
// the message.
func (o *Outbox) Forward(m *Message) bool {
	s, packets, err := m.Session()
	if err != nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.idle() {
		return o.sendMessage(m, true)
	}
	if !o.waitForSpace(s, len(packets)) {
		return false
	}
	to := o.openMessage(s, len(packets))
	to.Data = append(to.Data, packets...)
	o.countBytes(s, len(packets))
	return o.sendOrSignal()
}

// Offer is Forward for a caller that cannot wait. If the link cannot keep up, Offer returns
// false and counts the bytes as dropped.
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
	m := o.openMessage(s, len(packets))
	m.Data = append(m.Data, packets...)
	o.countBytes(s, len(packets))
	o.hasWork.Signal()
	return true
}

// trier is a link that may take a message at once. try does not block; the caller keeps a
// message that try does not take.
type trier interface{ try(m *Message) bool }

// idle reports whether nothing waits and nothing is being sent.
func (o *Outbox) idle() bool {
	return o.link != nil && !o.sending && !o.closed && o.head == len(o.queue)
}

// onlyOneWaits reports whether exactly one message waits and nothing is being sent.
func (o *Outbox) onlyOneWaits() bool {
	return o.link != nil && !o.sending && o.head == len(o.queue)-1
}

// sendOrSignal sends the waiting message if it is the only one and nothing is being sent.
// Otherwise Drain will send it. The caller holds mu.
func (o *Outbox) sendOrSignal() bool {
	if !o.onlyOneWaits() {
		o.hasWork.Signal()
		return true
	}
	m := o.dequeue()
	defer m.Release()
	return o.sendMessage(m, true)
}

// sendMessage sends a message, and closes the outbox if that fails. The caller keeps the
// message. The caller holds mu, which sendMessage unlocks while it sends.
func (o *Outbox) sendMessage(m *Message, callerSends bool) bool {
	o.sending, o.callerSends = true, callerSends
	o.mu.Unlock()
	err := o.link.Send(m.Text, m.Data)
	o.mu.Lock()
	o.sending = false
	if err != nil {
		if o.err == nil {
			o.err = err
		}
		o.closeLocked()
		return false
	}
	if callerSends && (o.head < len(o.queue) || o.ending) {
		o.hasWork.Signal()
	}
	return true
}

// Dropped returns the number of bytes that Offer did not accept.
func (o *Outbox) Dropped() int64 { return o.dropped.Load() }

// waitForSpace waits until n bytes of the session may be added. It returns false once the
// outbox is closed.
func (o *Outbox) waitForSpace(s Session, n int) bool {
	for !o.closed {
		if b := o.sessions[s].bytes; b == 0 || b+n <= sessionLimit {
			return true
		}
		o.hasSpace.Wait()
	}
	return false
}

// openMessage returns the message to which n bytes of the session may be added: the newest
// waiting one, or a new one.
func (o *Outbox) openMessage(s Session, n int) *Message {
	if l := o.sessions[s]; l.last != nil && len(l.last.Data)+n <= MaxMessage {
		return l.last
	}
	m := newMessage()
	m.Data = append(m.Data, s[:]...)
	l := o.sessions[s]
	l.last = m
	o.sessions[s] = l
	o.enqueue(entry{Message: m, session: s, at: time.Now()})
	return m
}

func (o *Outbox) countBytes(s Session, n int) {
	l := o.sessions[s]
	l.bytes += n
	o.sessions[s] = l
	o.bytes += n
}

func (o *Outbox) enqueue(e entry) {
	if o.head > 0 && len(o.queue) == cap(o.queue) {
		n := copy(o.queue, o.queue[o.head:])
		clear(o.queue[n:])
		o.queue, o.head = o.queue[:n], 0
	}
	o.queue = append(o.queue, e)
}

// Take waits for the next message and returns it, or nil once the outbox is closed. The caller
// releases the message.
func (o *Outbox) Take() *Message {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.waitForMessage()
}

// waitForMessage is Take for a caller that holds mu.
func (o *Outbox) waitForMessage() *Message {
	for !o.closed && (o.sending || o.head == len(o.queue) && !o.ending) {
		o.hasWork.Wait()
	}
	if o.closed || o.head == len(o.queue) {
		return nil
	}
	return o.dequeue()
}

// dequeue removes and returns the next message. The caller holds mu.
func (o *Outbox) dequeue() *Message {
	e := o.queue[o.head]
	o.queue[o.head] = entry{}
	o.head++
	if o.head == len(o.queue) {
		o.queue, o.head = o.queue[:0], 0
	}
	if !e.Text {
		n := len(e.Data) - len(e.session)
		o.bytes -= n
		l := o.sessions[e.session]
		l.bytes -= n
		if l.last == e.Message {
			l.last = nil
		}
		if l.bytes == 0 {
			delete(o.sessions, e.session)
		} else {
			o.sessions[e.session] = l
		}
		o.hasSpace.Broadcast()
	}
	return e.Message
}

// Finish closes the outbox as soon as nothing waits.
func (o *Outbox) Finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ending = true
	o.hasWork.Broadcast()
}

// Close drops the waiting messages and wakes all waiting callers. If a caller is sending its
// own packets, Close ends the link to wake that caller, too. Close may be called again.
func (o *Outbox) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sending && o.callerSends && !o.closed {
		go o.link.Close(0, "")
	}
	o.closeLocked()
}

// closeLocked closes the outbox. The caller holds mu.
func (o *Outbox) closeLocked() {
	o.closed = true
	for _, e := range o.queue[o.head:] {
		e.Release()
	}
	o.queue, o.head, o.bytes = nil, 0, 0
	clear(o.sessions)
	o.hasWork.Broadcast()
	o.hasSpace.Broadcast()
}

// Drain sends queued messages to the link until the outbox is closed (nil) or the link fails.
// It then closes the outbox. It is called once.
func (o *Outbox) Drain(l Link) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.link = l
	for {
		m := o.waitForMessage()
		if m == nil {
			return o.err
		}
		o.sendMessage(m, false)
		m.Release()
	}
}
