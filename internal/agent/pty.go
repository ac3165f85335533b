package agent

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/crypto/ssh"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/sshd"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// Bounds of terminals that can be come back to. (AG-14)
const (
	ptyHistory = 64 << 10 // bytes of output that a new viewer is shown
	ptyLinger  = 5 * time.Minute
	ptyMax     = 100 // terminals of one agent
	ptyViewers = 32  // of one terminal
	ptyQueue   = 256 // chunks a slow viewer may be behind before it is dropped
)

// ptys are the terminals of one agent by the id that their first viewer chose.
type ptys struct {
	mu   sync.Mutex
	open map[uuid.UUID]*reconnecting
}

// reconnecting is a shell or command on a terminal that outlives its viewers:
// a session of our own SSH server over a pipe, so that environment, login gate,
// message of the day and signals are those of any other session.
type reconnecting struct {
	ready   chan struct{} // closed once the fields below are set
	err     error         // why there is no session
	session *ssh.Session
	conn    ssh.Conn
	input   io.WriteCloser

	mu      sync.Mutex
	history []byte
	viewers map[chan []byte]struct{}
	ended   bool
	linger  *time.Timer // runs while nobody looks
}

// ptyRequest is the argument of a stream of kind pty.
type ptyRequest struct {
	id      uuid.UUID
	rows    int
	columns int
	command string
}

// parsePTY reads "<id> <columns>x<rows> [<command in base64>]".
func parsePTY(arg string) (r ptyRequest, err error) {
	f := strings.Fields(arg)
	if len(f) < 2 || len(f) > 3 {
		return r, errors.New("a terminal is asked for as: id columnsxrows [command]")
	}
	if r.id, err = uuid.Parse(f[0]); err != nil {
		return r, errors.New("the terminal's id is no UUID")
	}
	if _, err := fmt.Sscanf(f[1], "%dx%d", &r.columns, &r.rows); err != nil || !coder.TerminalSizeOK(r.columns, r.rows) {
		return r, errors.New("the terminal's size makes no sense")
	}
	if len(f) == 3 {
		b, err := base64.RawURLEncoding.DecodeString(f[2])
		if err != nil {
			return r, errors.New("the terminal's command cannot be read")
		}
		r.command = string(b)
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
	p, err := l.pty(ctx, req)
	if err != nil {
		r.Reject(err)
		return
	}
	view, leave, err := p.attach()
	if err != nil {
		r.Reject(err)
		return
	}
	defer leave()
	stream, err := r.Accept()
	if err != nil {
		return // the client is gone
	}
	defer stream.Close()
	stop := context.AfterFunc(ctx, func() { stream.Close() })
	defer stop()
	p.resize(req.rows, req.columns)
	go func() {
		defer stream.Close()
		p.listen(stream)
	}()
	for chunk := range view {
		if _, err := stream.Write(chunk); err != nil {
			return
		}
	}
}

// pty gives the terminal of that id, making it when there is none.
func (l *life) pty(ctx context.Context, req ptyRequest) (*reconnecting, error) {
	l.ptys.mu.Lock()
	p := l.ptys.open[req.id]
	fresh := p == nil
	if fresh && len(l.ptys.open) >= ptyMax {
		l.ptys.mu.Unlock()
		return nil, fmt.Errorf("there are %d terminals open already: close one", ptyMax)
	}
	if fresh {
		p = &reconnecting{ready: make(chan struct{}), viewers: map[chan []byte]struct{}{}}
		if l.ptys.open == nil {
			l.ptys.open = map[uuid.UUID]*reconnecting{}
		}
		l.ptys.open[req.id] = p
	}
	l.ptys.mu.Unlock()
	if fresh {
		p.err = p.start(l, req)
		close(p.ready)
		go func() {
			if p.err == nil {
				p.session.Wait() //nolint:errcheck // however it ended, it is over
				p.end()
			}
			l.ptys.mu.Lock()
			delete(l.ptys.open, req.id)
			l.ptys.mu.Unlock()
		}()
	}
	select {
	case <-p.ready:
		return p, p.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// closePTYs ends every terminal.
func (l *life) closePTYs() {
	l.ptys.mu.Lock()
	defer l.ptys.mu.Unlock()
	for _, p := range l.ptys.open {
		select {
		case <-p.ready:
			if p.conn != nil {
				p.conn.Close() //nolint:errcheck // it ends either way
			}
		default: // l's context ends it
		}
	}
}

// start opens the session, which lives until the life l does.
func (p *reconnecting) start(l *life, req ptyRequest) error {
	ours, theirs := net.Pipe()
	go l.ssh.ServeConn(l.ctx, theirs, sshd.Options{}) //nolint:errcheck // its end is the session's
	conn, channels, requests, err := ssh.NewClientConn(newAhead(ours), "pty", &ssh.ClientConfig{
		HostKeyCallback: ssh.InsecureIgnoreHostKey(), // the other end of a pipe in this process
	})
	if err != nil {
		ours.Close()
		return fmt.Errorf("open a terminal: %w", err)
	}
	p.conn = conn
	client := ssh.NewClient(conn, channels, requests)
	if p.session, err = client.NewSession(); err == nil {
		p.session.Stdout, p.session.Stderr = p, p
		p.input, err = p.session.StdinPipe()
	}
	if err == nil {
		err = p.session.RequestPty("xterm-256color", req.rows, req.columns, nil)
	}
	if err == nil && req.command == "" {
		err = p.session.Shell()
	} else if err == nil {
		err = p.session.Start(req.command)
	}
	if err != nil {
		conn.Close()
		return fmt.Errorf("open a terminal: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.linger = time.AfterFunc(ptyLinger, func() { conn.Close() })
	return nil
}

// ahead is a connection whose writes do not wait for their reader: both ends
// of SSH write first, and a pipe holds nothing.
type ahead struct {
	net.Conn
	queue chan []byte
	gone  chan struct{} // closed when nothing is written any more
	once  sync.Once
}

func newAhead(c net.Conn) *ahead {
	a := &ahead{Conn: c, queue: make(chan []byte, 64), gone: make(chan struct{})}
	go func() {
		for {
			select {
			case b := <-a.queue:
				if _, err := c.Write(b); err != nil {
					a.Close()
					return
				}
			case <-a.gone:
				return
			}
		}
	}()
	return a
}

// Write queues a copy.
func (a *ahead) Write(b []byte) (int, error) {
	select {
	case a.queue <- append([]byte(nil), b...):
		return len(b), nil
	case <-a.gone:
		return 0, net.ErrClosed
	}
}

// Close ends both ways.
func (a *ahead) Close() error {
	a.once.Do(func() { close(a.gone) })
	return a.Conn.Close()
}

// Write takes what the terminal shows: kept for who comes later, and passed to
// who looks. A viewer that is too slow is let go; it comes back and sees the
// history.
func (p *reconnecting) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.history = append(p.history, b...)
	if over := len(p.history) - ptyHistory; over > 0 {
		p.history = append(p.history[:0], p.history[over:]...)
	}
	chunk := append([]byte(nil), b...)
	for v := range p.viewers {
		select {
		case v <- chunk:
		default:
			delete(p.viewers, v)
			close(v)
		}
	}
	return len(b), nil
}

// attach gives a channel with the history and then what comes, closed at the
// terminal's end, and a function that leaves.
func (p *reconnecting) attach() (<-chan []byte, func(), error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.viewers) >= ptyViewers {
		return nil, nil, fmt.Errorf("%d viewers look at this terminal already", ptyViewers)
	}
	v := make(chan []byte, ptyQueue)
	if len(p.history) > 0 {
		v <- append([]byte(nil), p.history...)
	}
	if p.ended {
		close(v)
		return v, func() {}, nil
	}
	p.viewers[v] = struct{}{}
	p.linger.Stop()
	return v, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if _, in := p.viewers[v]; in {
			delete(p.viewers, v)
			close(v)
		}
		if len(p.viewers) == 0 && !p.ended {
			p.linger.Reset(ptyLinger)
		}
	}, nil
}

// listen does what a viewer says until it has no more to say.
func (p *reconnecting) listen(r io.Reader) {
	d := json.NewDecoder(r)
	for {
		var m coder.ReconnectingPTYRequest
		if d.Decode(&m) != nil {
			return
		}
		if coder.TerminalSizeOK(int(m.Width), int(m.Height)) {
			p.resize(int(m.Height), int(m.Width))
		}
		if m.Data != "" {
			if _, err := io.WriteString(p.input, m.Data); err != nil {
				return
			}
		}
	}
}

func (p *reconnecting) resize(rows, columns int) {
	p.session.WindowChange(rows, columns) //nolint:errcheck // a terminal that ended has no size
}

// end lets every viewer go.
func (p *reconnecting) end() {
	p.conn.Close() //nolint:errcheck // it may have ended by itself
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.linger.Stop()
	for v := range p.viewers {
		close(v)
	}
	clear(p.viewers)
}
