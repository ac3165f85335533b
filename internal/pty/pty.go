// Package pty provides the terminals of web terminals: shells that outlive
// their viewers. The first viewer chooses the ID of a terminal. A later viewer
// with the same ID, over any connection or server, gets the same terminal.
// Output goes to a ring buffer, which each viewer reads at its own pace, and to
// an emulated screen, which is painted for new viewers. A viewer that numbers
// its messages and counts the received output neither loses nor repeats
// anything. Everything is bounded: terminals, viewers, buffers, and the time
// that a slow viewer may delay the others. (AG-14)
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

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/sshd"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

const (
	// maxTerminals bounds the terminals of an agent.
	maxTerminals = 100
	// linger is the time for which a terminal without viewers is kept.
	linger = 30 * time.Minute
	// maxMessage bounds one message of a viewer, in bytes.
	maxMessage = 2 << 20
)

// answer matches the replies of terminals to queries of programs: cursor
// position, device attributes, colors. The terminal of every viewer replies,
// but one reply is enough.
var answer = regexp.MustCompile(`^(\x1b(\[[?>=]?[0-9;:]*(R|c|n|\$y|u)|P[0-9>!]*[$+|r][^\x1b]*\x1b\\|\][0-9;]+;rgb:[^\x1b\x07]*(\x07|\x1b\\)))+$`)

// Set holds the terminals of one agent. It is safe for concurrent use.
type Set struct {
	ssh *sshd.Server

	mu     sync.Mutex
	open   map[uuid.UUID]*terminal // by the ID that the first viewer chose
	closed bool
}

// New returns an empty set. Shells run like those of ssh sessions.
func New(ssh *sshd.Server) *Set { return &Set{ssh: ssh, open: map[uuid.UUID]*terminal{}} }

// request is the argument of a stream of kind pty.
type request struct {
	id            uuid.UUID
	columns, rows int
	command       string
	viewer        uuid.UUID // sender of numbered messages; uuid.Nil: messages are not numbered
	session       uuid.UUID // the last session and output offset that the viewer received
	offset        int64
}

// parse parses "<id> <columns>x<rows> [<command> [<viewer>
// [<session>:<offset>]]]". The command is in base64, or - for none.
func parse(arg string) (r request, err error) {
	f := strings.Fields(arg)
	if len(f) < 2 || len(f) > 5 {
		return r, errors.New("invalid terminal request; use: id columnsxrows [command [viewer [session:offset]]]")
	}
	if r.id, err = uuid.Parse(f[0]); err != nil {
		return r, errors.New("the terminal's ID is not a UUID")
	}
	if _, err := fmt.Sscanf(f[1], "%dx%d", &r.columns, &r.rows); err != nil || !codersdk.TerminalSizeOK(r.columns, r.rows) {
		return r, errors.New("the terminal's size is invalid")
	}
	if len(f) > 2 && f[2] != "-" {
		b, err := base64.RawURLEncoding.DecodeString(f[2])
		if err != nil {
			return r, errors.New("the terminal's command is not base64")
		}
		r.command = string(b)
	}
	if len(f) > 3 {
		if r.viewer, err = uuid.Parse(f[3]); err != nil || r.viewer == uuid.Nil {
			return r, errors.New("the viewer's ID is not a UUID")
		}
	}
	if len(f) > 4 {
		session, offset, _ := strings.Cut(f[4], ":")
		r.session, err = uuid.Parse(session)
		var bad error
		if r.offset, bad = strconv.ParseInt(offset, 10, 64); err != nil || bad != nil || r.offset < 0 {
			return r, errors.New("the viewer's session and offset are invalid")
		}
	}
	return r, nil
}

// Serve attaches a stream to the requested terminal, and creates the terminal
// if it does not exist. It returns when the viewer disconnects, the terminal
// ends or ctx ends. Invalid requests are rejected with an error.
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
		r.Reject(fmt.Errorf("the terminal already has the maximum of %d viewers", maxViewers))
		return
	}
	defer p.leave(v)
	stream, err := r.Accept()
	if err != nil {
		return // the client has disconnected
	}
	defer stream.Close()
	stop := context.AfterFunc(view, func() {
		_ = stream.SetDeadline(time.Unix(1, 0)) // unblocks reads and writes
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
	_ = p.watch(v, show, tell) // the viewer is gone after an error
}

// plain writes output unchanged, and no status.
func plain(w net.Conn) (show func([]byte) error, tell func(codersdk.ReconnectingPTYStatus) error) {
	return func(b []byte) error { _, err := w.Write(b); return err }, func(codersdk.ReconnectingPTYStatus) error { return nil }
}

// framed writes output and status as frames: a letter (o or s), four bytes of
// length, and the content, which is JSON for s.
func framed(w net.Conn) (show func([]byte) error, tell func(codersdk.ReconnectingPTYStatus) error) {
	write := func(kind byte, b []byte) error {
		frame := append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(b))), b...)
		_, err := w.Write(frame)
		return err
	}
	show = func(b []byte) error { return write('o', b) }
	tell = func(s codersdk.ReconnectingPTYStatus) error {
		b, err := json.Marshal(s)
		if err != nil {
			return err
		}
		return write('s', b)
	}
	return show, tell
}

// listen applies a viewer's messages until the end of the stream.
func (p *terminal) listen(v *viewer, r io.Reader) {
	limited := &io.LimitedReader{R: r}
	d := json.NewDecoder(limited)
	for {
		limited.N = maxMessage
		var m codersdk.ReconnectingPTYRequest
		if d.Decode(&m) != nil || p.take(v, m) != nil {
			return
		}
	}
}

// terminal returns the terminal with that ID, and creates it if it does not
// exist. At the limit it evicts the terminal that has had no viewers for the
// longest time.
func (all *Set) terminal(req request) (*terminal, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if p := all.open[req.id]; p != nil {
		return p, nil
	}
	if len(all.open) >= maxTerminals && !all.evict() {
		return nil, fmt.Errorf("the limit of %d terminals is reached; close one", maxTerminals)
	}
	if all.closed {
		return nil, errors.New("the agent is stopping")
	}
	p := newTerminal(req.columns, req.rows)
	p.linger = time.AfterFunc(linger, func() { p.term.Close() })
	p.term = all.ssh.OpenTerminal(context.Background(), sshd.TerminalOptions{ // ended by Close
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

// evict closes a terminal without viewers. The caller holds mu.
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

// Watched returns the number of terminals with viewers.
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
