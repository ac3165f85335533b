//go:build unix

package sshd

import (
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
)

// detach gives cmd a session, and so a process group, of its own, with its
// standard input as terminal when it has one.
func detach(cmd *exec.Cmd, terminal bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: terminal}
}

// signals are those that SSH knows by name.
func signals() map[string]syscall.Signal {
	return map[string]syscall.Signal{
		"ABRT": syscall.SIGABRT, "ALRM": syscall.SIGALRM, "FPE": syscall.SIGFPE, "HUP": syscall.SIGHUP,
		"ILL": syscall.SIGILL, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL, "PIPE": syscall.SIGPIPE,
		"QUIT": syscall.SIGQUIT, "SEGV": syscall.SIGSEGV, "TERM": syscall.SIGTERM, "USR1": syscall.SIGUSR1,
		"USR2": syscall.SIGUSR2,
	}
}

// signal sends a signal to the session's process group; one that comes before
// the process is kept for it.
func (s *session) signal(payload []byte) bool {
	var p struct{ Name string }
	if ssh.Unmarshal(payload, &p) != nil {
		return false
	}
	sig, ok := signals()[p.Name]
	if !ok {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		if len(s.early) < 10 {
			s.early = append(s.early, sig)
		}
		return true
	}
	return syscall.Kill(-s.process.Pid, sig) == nil
}

// setProcess notes the session's process, or with nil that it ended. It is
// reaped by then, so that its number is never used again.
func (s *session) setProcess(p *os.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = p
	if p == nil {
		return
	}
	for _, sig := range s.early {
		if n, ok := sig.(syscall.Signal); ok {
			_ = syscall.Kill(-p.Pid, n) // it ended already
		}
	}
	s.early = nil
	if s.ctx.Err() != nil {
		s.end(p.Pid)
	}
}

// hangUp ends what still runs when the client is gone.
func (s *session) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		s.end(s.process.Pid)
	}
}

// killDelay is how long processes may take to end after a hang-up.
const killDelay = 3 * time.Second

// end hangs up the process group pid, and kills it when it goes on. The
// caller holds mu.
func (s *session) end(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGHUP) // it ended already
	_ = syscall.Kill(-pid, syscall.SIGCONT)
	time.AfterFunc(killDelay, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.process != nil && s.process.Pid == pid {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
	})
}

// ended tells the client how the process ended.
func (s *session) ended(st *os.ProcessState) {
	w, ok := st.Sys().(syscall.WaitStatus)
	if !ok || !w.Signaled() {
		s.exit(uint32(st.ExitCode()))
		return
	}
	for name, sig := range signals() {
		if sig == w.Signal() {
			s.exitSignal(name, w.CoreDump())
			return
		}
	}
	s.exit(128 + uint32(w.Signal()))
}
