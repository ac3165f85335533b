package sshd

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/creack/pty"
	"golang.org/x/crypto/ssh"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// kind is the app that a session is counted for, as the client reports it.
type kind int

const (
	kindSSH kind = iota
	kindVSCode
	kindJetBrains
	kindTerminal
	kindNone // not counted
	kinds
)

// sessionTypeEnv is the variable with the app of an editor's client; waitEnv is
// the variable with which a client skips the gate.
const (
	sessionTypeEnv = "CODER_SSH_SESSION_TYPE"
	waitEnv        = "CODER_SSH_WAIT"
)

// session is one channel of type session: at most one shell, command or
// subsystem, with the requests that preceded it.
type session struct {
	*connection
	ch     ssh.Channel
	ctx    context.Context // ends with the channel
	cancel context.CancelFunc
	run    sync.WaitGroup

	env     []string
	kind    kind
	noWait  bool
	started bool
	agent   net.Listener // listener of the forwarded SSH agent; nil without one
	x11     *display     // forwarded display; nil without one

	mu      sync.Mutex
	term    *terminal // nil without a terminal
	process *os.Process
	early   []os.Signal // received before the process started
}

// terminal is the pseudo-terminal that a client requested.
type terminal struct {
	name  string
	size  pty.Winsize
	modes []byte
	file  *os.File // master side, once it is open
}

// session serves a channel of type session until it ends.
func (c *connection) session(ctx context.Context, nch ssh.NewChannel) {
	ch, requests, err := nch.Accept()
	if err != nil {
		return // the connection is lost
	}
	s := &session{connection: c, ch: ch}
	s.ctx, s.cancel = context.WithCancel(ctx)
	defer s.cancel()
	stop := context.AfterFunc(s.ctx, func() { ch.Close() })
	defer stop()
	for r := range requests {
		ok := s.request(r)
		if r.WantReply {
			_ = r.Reply(ok, nil) // the client has disconnected
		}
		if ok {
			s.launch(r)
		}
	}
	// The channel is closed: by the client, by the exit of the process, or with
	// the connection.
	s.cancel()
	s.hangUp()
	if s.agent != nil {
		s.agent.Close()
		os.Remove(filepath.Dir(s.agent.Addr().String()))
	}
	if s.x11 != nil {
		s.x11.close()
	}
	s.run.Wait()
}

// request handles a request of the client. launch starts processes after the
// reply.
func (s *session) request(r *ssh.Request) bool {
	switch r.Type {
	case "env":
		return s.setEnv(r.Payload)
	case "pty-req":
		return s.wantTerminal(r.Payload)
	case "window-change":
		return s.resize(r.Payload)
	case "signal":
		return s.signal(r.Payload)
	case "auth-agent-req@openssh.com":
		return s.forwardAgent()
	case "x11-req":
		return s.forwardX11(r.Payload)
	case "shell":
		return !s.started
	case "exec":
		return !s.started && ssh.Unmarshal(r.Payload, &struct{ Command string }{}) == nil
	case "subsystem":
		var p struct{ Name string }
		return !s.started && ssh.Unmarshal(r.Payload, &p) == nil && p.Name == "sftp"
	}
	return false
}

// launch starts the shell, command or subsystem that was just granted.
func (s *session) launch(r *ssh.Request) {
	var begin func()
	switch r.Type {
	case "shell":
		begin = func() { s.shell("") }
	case "exec":
		var p struct{ Command string }
		if ssh.Unmarshal(r.Payload, &p) != nil {
			return
		}
		begin = func() { s.shell(p.Command) }
		if s.c.NoFileTransfer && transfers(p.Command) {
			begin = s.refuseTransfer
		}
	case "subsystem":
		begin = s.sftp
		if s.c.NoFileTransfer {
			begin = s.refuseTransfer
		}
	default:
		return
	}
	s.started = true
	s.run.Go(func() {
		defer s.ch.Close()
		if s.App == "" { // otherwise the connection is counted
			defer s.open.add(s.kind, s.Away)()
		}
		if s.pass(r.Type != "subsystem") {
			begin()
		}
	})
}

// pass waits at the gate and reports whether the session may continue.
func (s *session) pass(mayTalk bool) bool {
	if s.c.Gate == nil || s.noWait || s.NoWait {
		return true
	}
	err := s.c.Gate(s.ctx, func(text string) {
		if mayTalk {
			s.say(text)
		}
	})
	if err != nil {
		s.say(err.Error())
		s.exit(1)
		return false
	}
	return s.ctx.Err() == nil
}

// say writes a line to the client.
func (s *session) say(text string) {
	fmt.Fprintf(s.ch.Stderr(), "%s\r\n", strings.TrimRight(text, "\r\n"))
}

// maxEnv bounds the variables that a client may set.
const maxEnv = 1000

func (s *session) setEnv(payload []byte) bool {
	var p struct{ Name, Value string }
	if ssh.Unmarshal(payload, &p) != nil || p.Name == "" || strings.ContainsAny(p.Name, "=\x00") ||
		strings.Contains(p.Value, "\x00") || s.started || len(s.env) >= maxEnv {
		return false
	}
	switch p.Name {
	case sessionTypeEnv:
		s.kind = kindOf(p.Value)
	case waitEnv:
		s.noWait = p.Value == "no"
	default:
		s.env = append(s.env, p.Name+"="+p.Value)
	}
	return true
}

// kindOf returns the kind for a client's app name; invalid names count as SSH.
func kindOf(name string) kind {
	app, ok := codersdk.ParseUsageApp(name)
	if !ok {
		return kindSSH
	}
	switch app {
	case codersdk.UsageAppVSCode:
		return kindVSCode
	case codersdk.UsageAppJetBrains:
		return kindJetBrains
	case codersdk.UsageAppReconnectingPTY:
		return kindTerminal
	case codersdk.UsageAppDisable:
		return kindNone
	}
	return kindSSH
}

func (s *session) wantTerminal(payload []byte) bool {
	var p struct {
		Term                         string
		Columns, Rows, Width, Height uint32
		Modes                        string
	}
	if ssh.Unmarshal(payload, &p) != nil || s.started || strings.Contains(p.Term, "\x00") {
		return false
	}
	s.term = &terminal{name: p.Term, size: winsize(p.Columns, p.Rows, p.Width, p.Height), modes: []byte(p.Modes)}
	return true
}

func winsize(columns, rows, width, height uint32) pty.Winsize {
	fit := func(n uint32) uint16 { return uint16(min(n, 65535)) }
	return pty.Winsize{Cols: fit(columns), Rows: fit(rows), X: fit(width), Y: fit(height)}
}

func (s *session) resize(payload []byte) bool {
	var p struct{ Columns, Rows, Width, Height uint32 }
	if ssh.Unmarshal(payload, &p) != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.term == nil {
		return false
	}
	s.term.size = winsize(p.Columns, p.Rows, p.Width, p.Height)
	return s.term.file == nil || setSize(s.term.file, s.term.size) == nil
}

// environment returns the environment of the session's process.
func (s *session) environment() []string {
	env := append([]string{}, s.c.Env...)
	if s.c.MoreEnv != nil {
		env = append(env, s.c.MoreEnv()...)
	}
	env = append(env, "USER="+s.user.name, "LOGNAME="+s.user.name, "HOME="+s.user.home, "SHELL="+s.user.shell)
	if s.ssh != nil {
		host, port := "127.0.0.1", "0"
		if a, ok := s.ssh.RemoteAddr().(*net.TCPAddr); ok { // other addresses have no form that programs know
			host, port = a.IP.String(), strconv.Itoa(a.Port)
		}
		env = append(env, "SSH_CLIENT="+host+" "+port+" 22", "SSH_CONNECTION="+host+" "+port+" 127.0.0.1 22")
	}
	env = append(env, s.env...)
	if s.agent != nil {
		env = append(env, "SSH_AUTH_SOCK="+s.agent.Addr().String())
	}
	if s.x11 != nil {
		env = append(env, "DISPLAY="+s.x11.name, "XAUTHORITY="+s.x11.cookie)
	}
	return env
}

// dir returns the working directory of the session's process.
func (s *session) dir() string {
	for _, d := range []string{s.c.Dir, s.user.home} {
		if d != "" && canEnter(d) {
			return d
		}
	}
	return string(filepath.Separator)
}

// motd writes the message of the day, unless the user has disabled it.
func (s *session) motd(w *bufio.Writer) {
	defer w.Flush()
	if s.c.MOTDFile == "" {
		return
	}
	if _, err := os.Stat(filepath.Join(s.user.home, ".hushlogin")); err == nil {
		return
	}
	b, err := os.ReadFile(s.c.MOTDFile)
	if err != nil {
		s.log.DebugContext(s.ctx, "cannot read the message of the day", "file", s.c.MOTDFile, "error", err)
		return
	}
	text := strings.ReplaceAll(string(b[:min(len(b), 64<<10)]), "\r\n", "\n")
	_, _ = w.WriteString(strings.ReplaceAll(text, "\n", "\r\n")) // Flush returns the error, and the client is gone
}

// exit sends the exit status. It precedes the end of the output, because a
// client that has received both ends may close the channel first.
func (s *session) exit(status uint32) {
	_, _ = s.ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{status}))
	_ = s.ch.CloseWrite()
}

// exitSignal sends the signal that ended the process; name has no SIG prefix.
func (s *session) exitSignal(name string, core bool) {
	_, _ = s.ch.SendRequest("exit-signal", false, ssh.Marshal(struct {
		Name       string
		Core       bool
		Text, Lang string
	}{name, core, "", ""}))
	_ = s.ch.CloseWrite()
}
