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
)

// kind is what a session is for, as its client says.
type kind int

const (
	kindSSH kind = iota
	kindVSCode
	kindJetBrains
	kinds
)

// sessionTypeEnv is the variable by which an editor's client says what it is;
// waitEnv the one by which a client passes the gate by.
const (
	sessionTypeEnv = "CODER_SSH_SESSION_TYPE"
	waitEnv        = "CODER_SSH_WAIT"
)

// session is one channel of type session: at most one shell, command or
// subsystem, and what the client asked for before it.
type session struct {
	*connection
	ch     ssh.Channel
	ctx    context.Context // ends when the channel does
	cancel context.CancelFunc
	run    sync.WaitGroup

	env     []string
	kind    kind
	noWait  bool
	started bool
	agent   net.Listener // of the forwarded key agent, nil for none
	x11     *display     // forwarded, nil for none

	mu      sync.Mutex
	term    *terminal // nil: no terminal was asked for
	process *os.Process
	early   []os.Signal // that came before the process
}

// terminal is the pseudo-terminal that a client wants.
type terminal struct {
	name  string
	size  pty.Winsize
	modes []byte
	file  *os.File // our end, once there is one
}

// session serves a channel of type session until it ends.
func (c *connection) session(ctx context.Context, nch ssh.NewChannel) {
	ch, requests, err := nch.Accept()
	if err != nil {
		return // the connection broke
	}
	s := &session{connection: c, ch: ch}
	s.ctx, s.cancel = context.WithCancel(ctx)
	defer s.cancel()
	stop := context.AfterFunc(s.ctx, func() { ch.Close() })
	defer stop()
	for r := range requests {
		ok := s.request(r)
		if r.WantReply {
			_ = r.Reply(ok, nil) // the client is gone
		}
		if ok {
			s.launch(r)
		}
	}
	// The channel is closed: by the client, by the end of the process, or with
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

// request answers what a client asks of a session; what begins something is
// begun by launch, after the answer.
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

// launch begins the shell, command or subsystem that was just granted.
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
		n := &s.counts[s.kind]
		n.Add(1)
		defer n.Add(-1)
		if s.pass(r.Type != "subsystem") {
			begin()
		}
	})
}

// pass waits at the gate and says whether the session may go on.
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

// say writes a line to whoever waits at the other end.
func (s *session) say(text string) {
	fmt.Fprintf(s.ch.Stderr(), "%s\r\n", strings.TrimRight(text, "\r\n"))
}

// maxEnv bounds how many variables a client may set.
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

func kindOf(name string) kind {
	switch strings.ToLower(name) {
	case "vscode":
		return kindVSCode
	case "jetbrains":
		return kindJetBrains
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

// environment gives the variables of the session's process.
func (s *session) environment() []string {
	env := append([]string{}, s.c.Env...)
	env = append(env, "USER="+s.user.name, "LOGNAME="+s.user.name, "HOME="+s.user.home, "SHELL="+s.user.shell)
	if s.ssh != nil {
		host, port := "127.0.0.1", "0"
		if a, ok := s.ssh.RemoteAddr().(*net.TCPAddr); ok { // others are no addresses that programs know
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

// dir gives where the session's process begins.
func (s *session) dir() string {
	for _, d := range []string{s.c.Dir, s.user.home} {
		if d != "" && canEnter(d) {
			return d
		}
	}
	return string(filepath.Separator)
}

// motd shows the message of the day, unless the user wants quiet.
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
		s.log.DebugContext(s.ctx, "the message of the day cannot be read", "file", s.c.MOTDFile, "error", err)
		return
	}
	text := strings.ReplaceAll(string(b[:min(len(b), 64<<10)]), "\r\n", "\n")
	_, _ = w.WriteString(strings.ReplaceAll(text, "\n", "\r\n")) // Flush fails too, and nobody is there
}

// exit sends how the process ended: before the end of its output, for a client
// that has both ends may close the channel and would never learn it.
func (s *session) exit(status uint32) {
	_, _ = s.ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{status}))
	_ = s.ch.CloseWrite()
}

// exitSignal sends that a signal ended the process; name is without SIG.
func (s *session) exitSignal(name string, core bool) {
	_, _ = s.ch.SendRequest("exit-signal", false, ssh.Marshal(struct {
		Name       string
		Core       bool
		Text, Lang string
	}{name, core, "", ""}))
	_ = s.ch.CloseWrite()
}
