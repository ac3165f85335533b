package pty

import (
	"io"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/screen"
	"github.com/seed-2a7f8fe7/coder/internal/sshd"
)

// Bounds of a terminal that can be come back to. (AG-14)
const (
	maxViewers = 32
	// ringSize is how much of the latest output is kept for viewers that were
	// away for a moment, and how far a slow one may be behind.
	ringSize = 256 << 10
	// historySize is how much of the lines that scrolled off is kept.
	historySize = 256 << 10
	// stall is how long the terminal waits for a viewer that takes nothing.
	stall = 5 * time.Second
	// chunk is how much a viewer is given at once.
	chunk = 32 << 10
	// maxNumbered is of how many viewers it is remembered what they typed.
	maxNumbered = 64
	// ackDelay is how soon a viewer learns at the latest that what it typed took effect.
	ackDelay = 100 * time.Millisecond
)

// terminal is a shell or command on a terminal that outlives its viewers.
// What it shows goes into a ring, from which each viewer reads at its own pace,
// and onto a screen, which is painted for those who come later.
type terminal struct {
	session uuid.UUID
	term    *sshd.Terminal

	typing sync.Mutex // held while something is typed, so that it is typed in order

	mu      sync.Mutex
	changed sync.Cond // with mu
	screen  *screen.Screen
	ring    []byte
	head    int64 // bytes shown since the beginning
	viewers map[*viewer]bool
	leader  *viewer // who typed last
	typed   map[uuid.UUID]int64
	order   []uuid.UUID // of typed, the one that was heard of longest ago first
	left    time.Time   // when the last viewer went
	ended   bool
	linger  *time.Timer // runs while nobody looks
}

// viewer is one who looks. Its fields are the terminal's, under its mu.
type viewer struct {
	id   uuid.UUID // uuid.Nil: it numbers nothing
	at   int64     // what it has been given of the output
	gone bool
	// release makes show and tell of watch return; it does not block.
	release func()
	paint   []byte // comes first
	hello   bool   // it is to be told the status
	status  bool   // the same, but output goes first for a moment
	timer   *time.Timer
}

func newTerminal(columns, rows int) *terminal {
	p := &terminal{
		session: uuid.New(), screen: screen.New(columns, rows, historySize), ring: make([]byte, 0, 4<<10),
		viewers: map[*viewer]bool{}, typed: map[uuid.UUID]int64{}, left: time.Now(),
	}
	p.changed.L = &p.mu
	return p
}

// Write takes what the terminal shows. It waits for viewers that are behind by
// the whole ring, and lets those go that take nothing at all: they come back
// and see the screen.
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

// await waits until v has been given the output up to there. The caller holds mu.
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

// drop lets a viewer go. The caller holds mu.
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

// attach gives a new viewer, which is shown what it missed if it says what it
// saw last and that is kept, and the screen otherwise; nil when there are too
// many.
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

// watch gives v what it is to see, until it or the terminal is gone. Output is
// given as pieces that are good until the next.
func (p *terminal) watch(v *viewer, show func(output []byte) error, tell func(coder.ReconnectingPTYStatus) error) error {
	buf := make([]byte, chunk)
	for {
		p.mu.Lock()
		for v.at == p.head && !v.gone && !p.ended && !v.hello && v.paint == nil {
			p.changed.Wait()
		}
		gone := v.gone || p.ended && v.at == p.head && v.paint == nil && !v.hello && !v.status
		hello, paint := v.hello || p.ended && v.status, v.paint
		status := coder.ReconnectingPTYStatus{Session: p.session, Output: v.at, Input: p.typed[v.id], Repaint: paint != nil, Paint: len(paint)}
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

// read copies output from there on. The caller holds mu.
func (p *terminal) read(to []byte, from int64) int {
	n := int(min(int64(len(to)), p.head-from))
	at := int(from % ringSize)
	k := copy(to[:n], p.ring[at:min(len(p.ring), at+n)])
	copy(to[k:n], p.ring)
	return n
}

// accept says whether what a viewer sent is to take effect, which it then does:
// it is not a second copy, nor the answer of a terminal to a question that
// another one answers too.
func (p *terminal) accept(v *viewer, m coder.ReconnectingPTYRequest) bool {
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

// take types what a viewer sent, in its turn.
func (p *terminal) take(v *viewer, m coder.ReconnectingPTYRequest) error {
	p.typing.Lock()
	defer p.typing.Unlock()
	if !p.accept(v, m) {
		return nil
	}
	if coder.TerminalSizeOK(int(m.Width), int(m.Height)) {
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

// end lets every viewer go once it has seen all.
func (p *terminal) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.linger.Stop()
	p.changed.Broadcast()
}
