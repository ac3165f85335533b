package agent

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
	// ptyMax is how many terminals an agent has at most.
	ptyMax = 100
	// ptyLinger is how long a terminal waits for somebody to come back.
	ptyLinger = 30 * time.Minute
	// ptyMessage bounds one message of a viewer.
	ptyMessage = 2 << 20
)

// answer is what terminals answer to the questions of programs: where the
// cursor is, what kind they are, which colors they have. Every viewer's terminal
// answers; one answer is enough.
var answer = regexp.MustCompile(`^(\x1b(\[[?>=]?[0-9;:]*(R|c|n|\$y|u)|P[0-9>!]*[$+|r][^\x1b]*\x1b\\|\][0-9;]+;rgb:[^\x1b\x07]*(\x07|\x1b\\)))+$`)

// ptys are the terminals of one agent by the id that their first viewer chose.
type ptys struct {
	mu   sync.Mutex
	open map[uuid.UUID]*reconnecting
}

// ptyRequest is the argument of a stream of kind pty.
type ptyRequest struct {
	id            uuid.UUID
	columns, rows int
	command       string
	viewer        uuid.UUID // who numbers what is sent; uuid.Nil: nothing is numbered
	session       uuid.UUID // what it saw last, and how much of its output
	offset        int64
}

// parsePTY reads "<id> <columns>x<rows> [<command> [<viewer> [<session>:<offset>]]]"
// with the command in base64, and - for none.
func parsePTY(arg string) (r ptyRequest, err error) {
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

// servePTY attaches a stream to a terminal, which is made when there is none.
func (l *life) servePTY(ctx context.Context, r *tunnel.Request) {
	req, err := parsePTY(r.Arg)
	if err != nil {
		r.Reject(err)
		return
	}
	p, err := l.pty(req)
	if err != nil {
		r.Reject(err)
		return
	}
	p.resize(req.columns, req.rows)
	view, cancel := context.WithCancel(ctx)
	defer cancel()
	v := p.attach(req, cancel)
	if v == nil {
		r.Reject(fmt.Errorf("%d viewers look at this terminal already", ptyViewers))
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
func (p *reconnecting) listen(v *viewer, r io.Reader) {
	limited := &io.LimitedReader{R: r}
	d := json.NewDecoder(limited)
	for {
		limited.N = ptyMessage
		var m coder.ReconnectingPTYRequest
		if d.Decode(&m) != nil || p.take(v, m) != nil {
			return
		}
	}
}

// pty gives the terminal of that id, making it when there is none. When there
// are too many, the one goes to which nobody has come back for longest.
func (l *life) pty(req ptyRequest) (*reconnecting, error) {
	l.ptys.mu.Lock()
	defer l.ptys.mu.Unlock()
	if p := l.ptys.open[req.id]; p != nil {
		return p, nil
	}
	if len(l.ptys.open) >= ptyMax && !l.ptys.evict() {
		return nil, fmt.Errorf("there are %d terminals open already: close one", ptyMax)
	}
	if l.ctx.Err() != nil {
		return nil, errors.New("the agent stops")
	}
	p := newReconnecting(req.columns, req.rows)
	p.linger = time.AfterFunc(ptyLinger, func() { p.term.Close() })
	p.term = l.ssh.OpenTerminal(l.ctx, sshd.TerminalOptions{
		Command: req.command, Term: "xterm-256color", Columns: req.columns, Rows: req.rows, Output: p,
	})
	if l.ptys.open == nil {
		l.ptys.open = map[uuid.UUID]*reconnecting{}
	}
	l.ptys.open[req.id] = p
	go func() {
		<-p.term.Done()
		p.end()
		l.ptys.mu.Lock()
		defer l.ptys.mu.Unlock()
		if l.ptys.open[req.id] == p {
			delete(l.ptys.open, req.id)
		}
	}()
	return p, nil
}

// evict closes a terminal that nobody looks at. The caller holds mu.
func (all *ptys) evict() bool {
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

// watched is how many terminals somebody looks at.
func (all *ptys) watched() (n int64) {
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

// closePTYs ends every terminal.
func (l *life) closePTYs() {
	l.ptys.mu.Lock()
	defer l.ptys.mu.Unlock()
	for _, p := range l.ptys.open {
		p.term.Close()
	}
}
