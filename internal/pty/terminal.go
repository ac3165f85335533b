package pty

import (
	"io"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/sshd"
	"github.com/seed-2a7f8fe7/coder/internal/vt"
)

// Bounds of a reconnecting terminal. (AG-14)
const (
	maxViewers = 32
	// ringSize is the size of the buffer with the latest output, in bytes. It
	// serves viewers that reconnect, and bounds the lag of slow viewers.
	ringSize = 256 << 10
	// historySize bounds the stored lines that scrolled off, in bytes.
	historySize = 256 << 10
	// stall bounds the wait for a viewer that reads nothing.
	stall = 5 * time.Second
	// chunk is the maximum size of one write to a viewer, in bytes.
	chunk = 32 << 10
	// maxNumbered bounds the viewers whose message numbers are remembered.
	maxNumbered = 64
	// ackDelay bounds the delay of acknowledgments of typed input.
	ackDelay = 100 * time.Millisecond
)

// terminal is a shell or command on a terminal that outlives its viewers.
// Output goes to a ring buffer, which each viewer reads at its own pace, and to
// an emulated screen, which is painted for new viewers.
type terminal struct {
	session uuid.UUID
	term    *sshd.Terminal

	typing sync.Mutex // serializes typed input

	mu      sync.Mutex
	changed sync.Cond // uses mu
	screen  *vt.Screen
	ring    []byte
	head    int64 // total bytes of output
	viewers map[*viewer]bool
	leader  *viewer // the viewer that typed last
	typed   map[uuid.UUID]int64
	order   []uuid.UUID // keys of typed, least recently used first
	left    time.Time   // time at which the last viewer disconnected
	ended   bool
	linger  *time.Timer // runs while there are no viewers
}

// viewer is an attached client. Its fields are guarded by the terminal's mu.
type viewer struct {
	id   uuid.UUID // uuid.Nil: messages are not numbered
	at   int64     // offset of the next output
	gone bool
	// release makes show and tell of watch return; it does not block.
	release func()
	paint   []byte // sent first
	hello   bool   // the status must be sent
	status  bool   // likewise, but pending output is sent first
	timer   *time.Timer
}

func newTerminal(columns, rows int) *terminal {
	p := &terminal{
		session: uuid.New(), screen: vt.New(columns, rows, historySize), ring: make([]byte, 0, 4<<10),
		viewers: map[*viewer]bool{}, typed: map[uuid.UUID]int64{}, left: time.Now(),
	}
	p.changed.L = &p.mu
	return p
}

// Write receives the terminal's output. It waits for viewers that lag by the
// whole ring buffer, and drops those that read nothing. A dropped viewer
// reconnects and gets the screen.
func (p *terminal) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		n := min(len(rest), chunk)
		p.show(rest[:n])
		rest = rest[n:]
	}
	return len(b), nil
}

func (p *terminal) show(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for v := range p.viewers {
		p.await(v, p.head+int64(len(b))-ringSize)
	}
	p.screen.Write(b) //nolint:errcheck // it never fails
	if len(p.ring) < ringSize {
		n := min(ringSize-len(p.ring), len(b))
		p.ring = append(p.ring, b[:n]...)
		copy(p.ring, b[n:])
	} else {
		at := int(p.head % ringSize)
		n := copy(p.ring[at:], b)
		copy(p.ring, b[n:])
	}
	p.head += int64(len(b))
	p.changed.Broadcast()
}

// await waits until v has received the output up to to. The caller holds mu.
func (p *terminal) await(v *viewer, to int64) {
	if v.at >= to {
		return
	}
	var late bool
	t := time.AfterFunc(stall, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		late = true
		p.changed.Broadcast()
	})
	defer t.Stop()
	for begin := v.at; v.at < to && !v.gone && !p.ended; p.changed.Wait() {
		if v.at > begin {
			begin, late = v.at, false
			t.Reset(stall)
		}
		if late {
			p.drop(v)
			return
		}
	}
}

// drop removes a viewer. The caller holds mu.
func (p *terminal) drop(v *viewer) {
	if !p.viewers[v] {
		return
	}
	delete(p.viewers, v)
	v.gone = true
	v.release()
	if v.timer != nil {
		v.timer.Stop()
	}
	if len(p.viewers) == 0 && !p.ended {
		p.left = time.Now()
		p.linger.Reset(linger)
	}
	p.changed.Broadcast()
}

func (p *terminal) leave(v *viewer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(v)
}

// attach adds a viewer, or returns nil when there are too many. The viewer gets
// the output that it missed if it reports its offset and the ring buffer still
// has the output. Otherwise it gets the screen.
func (p *terminal) attach(r request, release func()) *viewer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.viewers) >= maxViewers {
		return nil
	}
	v := &viewer{id: r.viewer, at: p.head, release: release, hello: r.viewer != uuid.Nil}
	switch behind := p.head - r.offset; {
	case r.session == p.session && behind >= 0 && behind <= int64(len(p.ring)):
		v.at = r.offset
	case p.head > 0 || r.session != uuid.Nil:
		v.paint = p.screen.Paint()
	}
	p.viewers[v] = true
	if p.leader == nil || p.leader.gone {
		p.leader = v
	}
	p.linger.Stop()
	return v
}

// watch sends output and status to v until the viewer or the terminal is gone.
// Slices of output are valid until the next call of show.
func (p *terminal) watch(v *viewer, show func(output []byte) error, tell func(codersdk.ReconnectingPTYStatus) error) error {
	buf := make([]byte, chunk)
	for {
		p.mu.Lock()
		for v.at == p.head && !v.gone && !p.ended && !v.hello && v.paint == nil {
			p.changed.Wait()
		}
		gone, ended := v.gone, p.ended && v.at == p.head && v.paint == nil && !v.hello && !v.status
		hello, paint := v.hello || p.ended && v.status, v.paint
		status := codersdk.ReconnectingPTYStatus{Session: p.session, Output: v.at, Input: p.typed[v.id], Repaint: paint != nil, Paint: len(paint)}
		n := 0
		if !hello && paint == nil {
			n = p.read(buf, v.at)
			v.at += int64(n)
			if hello = v.status; hello {
				status.Output = v.at
			}
		} else if !hello {
			v.paint = nil
		}
		if hello {
			v.hello, v.status = false, false
		}
		p.changed.Broadcast()
		p.mu.Unlock()
		if gone {
			return nil
		}
		if ended {
			status.Ended = true
			return tell(status)
		}
		err := error(nil)
		switch {
		case n > 0:
			err = show(buf[:n])
			if err == nil && hello {
				err = tell(status)
			}
		case hello:
			err = tell(status)
		case paint != nil:
			err = show(paint)
		}
		if err != nil {
			return err
		}
	}
}

// read copies output from that offset. The caller holds mu.
func (p *terminal) read(to []byte, from int64) int {
	n := int(min(int64(len(to)), p.head-from))
	at := int(from % ringSize)
	k := copy(to[:n], p.ring[at:min(len(p.ring), at+n)])
	copy(to[k:n], p.ring)
	return n
}

// accept reports whether a message should take effect, and records its number.
// It rejects duplicates, and replies to terminal queries that another viewer's
// terminal answers too.
func (p *terminal) accept(v *viewer, m codersdk.ReconnectingPTYRequest) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v.id != uuid.Nil && m.Seq > 0 {
		if m.Seq <= p.typed[v.id] {
			v.hello = true
			p.changed.Broadcast()
			return false
		}
		p.remember(v.id, m.Seq)
		if !v.status {
			v.status = true
			v.timer = time.AfterFunc(ackDelay, func() {
				p.mu.Lock()
				defer p.mu.Unlock()
				v.hello = v.hello || v.status
				p.changed.Broadcast()
			})
		}
	}
	if m.Data == "" {
		return true
	}
	if answer.MatchString(m.Data) {
		return v == p.leader
	}
	p.leader = v
	return true
}

func (p *terminal) remember(viewer uuid.UUID, seq int64) {
	if _, known := p.typed[viewer]; !known {
		if len(p.order) == maxNumbered {
			delete(p.typed, p.order[0])
			p.order = p.order[1:]
		}
		p.order = append(p.order, viewer)
	}
	p.typed[viewer] = seq
}

// take types the content of a message, in order.
func (p *terminal) take(v *viewer, m codersdk.ReconnectingPTYRequest) error {
	p.typing.Lock()
	defer p.typing.Unlock()
	if !p.accept(v, m) {
		return nil
	}
	if codersdk.TerminalSizeOK(int(m.Width), int(m.Height)) {
		p.resize(int(m.Width), int(m.Height))
	}
	if m.Data == "" {
		return nil
	}
	_, err := io.WriteString(p.term, m.Data)
	return err
}

func (p *terminal) resize(columns, rows int) {
	p.mu.Lock()
	c, r := p.screen.Size()
	if c != columns || r != rows {
		p.screen.Resize(columns, rows)
	}
	p.mu.Unlock()
	p.term.Resize(columns, rows)
}

// end releases every viewer once it has received all output.
func (p *terminal) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.linger.Stop()
	p.changed.Broadcast()
}
