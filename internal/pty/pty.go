// Package pty has the terminals that web terminals show: shells that outlive
// who looks at them. A terminal is known by an id that its first viewer chose;
// who comes with the same id later, over another connection or another server,
// finds it as it is. What it shows goes into a ring, from which each viewer
// reads at its own pace, and onto a screen, which is painted for who comes
// later; a viewer that numbers what it sends and counts what it got loses and
// repeats nothing. Everything is bounded: terminals, viewers of each, what is
// kept, and how long a slow viewer may hold up the others. (AG-14)
package pty

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/sshd"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

const (
	// maxTerminals is how many terminals an agent has at most.
	maxTerminals = 100
	// linger is how long a terminal waits for somebody to come back.
	linger = 30 * time.Minute
	// maxMessage bounds one message of a viewer.
	maxMessage = 2 << 20
)

// answer is what terminals answer to the questions of programs: where the
// cursor is, what kind they are, which colors they have. Every viewer's terminal
// answers; one answer is enough.
var answer = regexp.MustCompile(`^(\x1b(\[[?>=]?[0-9;:]*(R|c|n|\$y|u)|P[0-9>!]*[$+|r][^\x1b]*\x1b\\|\][0-9;]+;rgb:[^\x1b\x07]*(\x07|\x1b\\)))+$`)

// Set is the terminals of one agent. It is safe for concurrent use.
type Set struct {
	ssh *sshd.Server

	mu     sync.Mutex
	open   map[uuid.UUID]*terminal // by the id that the first viewer chose
	closed bool
}

// New gives a set without terminals, whose shells run as ssh runs them.
func New(ssh *sshd.Server) *Set { return &Set{ssh: ssh, open: map[uuid.UUID]*terminal{}} }

// request is the argument of a stream of kind pty.
type request struct {
	id            uuid.UUID
	columns, rows int
	command       string
	viewer        uuid.UUID // who numbers what is sent; uuid.Nil: nothing is numbered
	session       uuid.UUID // what it saw last, and how much of its output
	offset        int64
}

// parse reads "<id> <columns>x<rows> [<command> [<viewer> [<session>:<offset>]]]"
// with the command in base64, and - for none.
func parse(arg string) (r request, err error) {
	f := strings.Fields(arg)
	if len(f) < 2 || len(f) > 5 {
		return r, errors.New("a terminal is asked for as: id columnsxrows [command [viewer [session:offset]]]")
	}
	if r.id, err = uuid.Parse(f[0]); err != nil {
		return r, errors.New("the terminal's id is no UUID")
	}
	if _, err := fmt.Sscanf(f[1], "%dx%d", &r.columns, &r.rows); err != nil || !coder.TerminalSizeOK(r.columns, r.rows) {
		return r, errors.New("the terminal's size makes no sense")
	}
	if len(f) > 2 && f[2] != "-" {
		b, err := base64.RawURLEncoding.DecodeString(f[2])
		if err != nil {
			return r, errors.New("the terminal's command cannot be read")
		}
		r.command = string(b)
	}
	if len(f) > 3 {
		if r.viewer, err = uuid.Parse(f[3]); err != nil || r.viewer == uuid.Nil {
			return r, errors.New("the viewer's id is no UUID")
		}
	}
	if len(f) > 4 {
		session, offset, _ := strings.Cut(f[4], ":")
		r.session, err = uuid.Parse(session)
		var bad error
		if r.offset, bad = strconv.ParseInt(offset, 10, 64); err != nil || bad != nil || r.offset < 0 {
			return r, errors.New("where the viewer wants to go on cannot be read")
		}
	}
	return r, nil
}

// Serve attaches the stream of a request to a terminal, which is made when
// there is none, until the viewer or the terminal is gone or ctx ends. What is
// wrong with the request is said in its refusal.
func (all *Set) Serve(ctx context.Context, r *tunnel.Request) {
	req, err := parse(r.Arg)
	if err != nil {
		r.Reject(err)
		return
	}
	p, err := all.terminal(req)
	if err != nil {
		r.Reject(err)
		return
	}
	p.resize(req.columns, req.rows)
	view, cancel := context.WithCancel(ctx)
	defer cancel()
	v := p.attach(req, cancel)
	if v == nil {
		r.Reject(fmt.Errorf("%d viewers look at this terminal already", maxViewers))
		return
	}
	defer p.leave(v)
	stream, err := r.Accept()
	if err != nil {
		return // the client is gone
	}
	defer stream.Close()
	stop := context.AfterFunc(view, func() {
		_ = stream.SetDeadline(time.Unix(1, 0)) // wakes whoever reads or writes
		p.leave(v)
	})
	defer stop()
	go func() {
		defer p.leave(v)
		p.listen(v, stream)
	}()
	show, tell := plain(stream)
	if v.id != uuid.Nil {
		show, tell = framed(stream)
	}
	_ = p.watch(v, show, tell) // an error is the viewer's way to go
}

// plain writes output as it is, and tells nothing.
func plain(w net.Conn) (show func([]byte) error, tell func(coder.ReconnectingPTYStatus) error) {
	return func(b []byte) error { _, err := w.Write(b); return err }, func(coder.ReconnectingPTYStatus) error { return nil }
}

// framed writes output and status as frames: a letter, o or s, four bytes of
// length, and the content, which for s is JSON.
func framed(w net.Conn) (show func([]byte) error, tell func(coder.ReconnectingPTYStatus) error) {
	write := func(kind byte, b []byte) error {
		frame := append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(b))), b...)
		_, err := w.Write(frame)
		return err
	}
	show = func(b []byte) error { return write('o', b) }
	tell = func(s coder.ReconnectingPTYStatus) error {
		b, err := json.Marshal(s)
		if err != nil {
			return err
		}
		return write('s', b)
	}
	return show, tell
}

// listen does what a viewer says until it has no more to say.
func (p *terminal) listen(v *viewer, r io.Reader) {
	limited := &io.LimitedReader{R: r}
	d := json.NewDecoder(limited)
	for {
		limited.N = maxMessage
		var m coder.ReconnectingPTYRequest
		if d.Decode(&m) != nil || p.take(v, m) != nil {
			return
		}
	}
}

// terminal gives the terminal of an id, making it when there is none. When
// there are too many, the one goes to which nobody has come back for longest.
func (all *Set) terminal(req request) (*terminal, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if p := all.open[req.id]; p != nil {
		return p, nil
	}
	if len(all.open) >= maxTerminals && !all.evict() {
		return nil, fmt.Errorf("there are %d terminals open already: close one", maxTerminals)
	}
	if all.closed {
		return nil, errors.New("the agent stops")
	}
	p := newTerminal(req.columns, req.rows)
	p.linger = time.AfterFunc(linger, func() { p.term.Close() })
	p.term = all.ssh.OpenTerminal(context.Background(), sshd.TerminalOptions{ // Close ends it
		Command: req.command, Term: "xterm-256color", Columns: req.columns, Rows: req.rows, Output: p,
	})
	all.open[req.id] = p
	go func() {
		<-p.term.Done()
		p.end()
		all.mu.Lock()
		defer all.mu.Unlock()
		if all.open[req.id] == p {
			delete(all.open, req.id)
		}
	}()
	return p, nil
}

// evict closes a terminal that nobody looks at. The caller holds mu.
func (all *Set) evict() bool {
	var oldest uuid.UUID
	var since time.Time
	for id, p := range all.open {
		p.mu.Lock()
		if len(p.viewers) == 0 && (since.IsZero() || p.left.Before(since)) {
			oldest, since = id, p.left
		}
		p.mu.Unlock()
	}
	if p := all.open[oldest]; p != nil {
		p.term.Close()
		delete(all.open, oldest)
		return true
	}
	return false
}

// Watched is how many terminals somebody looks at.
func (all *Set) Watched() (n int64) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, p := range all.open {
		p.mu.Lock()
		if len(p.viewers) > 0 {
			n++
		}
		p.mu.Unlock()
	}
	return n
}

// Close ends every terminal; no more can be opened.
func (all *Set) Close() {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.closed = true
	for _, p := range all.open {
		p.term.Close()
	}
}
