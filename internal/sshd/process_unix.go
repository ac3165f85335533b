//go:build unix

package sshd

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
)

// detach starts cmd in its own session and process group, with its standard
// input as controlling terminal if it has one. An agent that nohup started ignores
// SIGHUP, but cmd does not: it is to end with its terminal, even if the agent is killed.
func detach(cmd *exec.Cmd, terminal bool) {
	if signal.Ignored(syscall.SIGHUP) {
		// A signal that this process handles has its default effect in a child.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: terminal}
}

// signals returns the signals that SSH names.
func signals() map[string]syscall.Signal {
	return map[string]syscall.Signal{
		"ABRT": syscall.SIGABRT, "ALRM": syscall.SIGALRM, "FPE": syscall.SIGFPE, "HUP": syscall.SIGHUP,
		"ILL": syscall.SIGILL, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL, "PIPE": syscall.SIGPIPE,
		"QUIT": syscall.SIGQUIT, "SEGV": syscall.SIGSEGV, "TERM": syscall.SIGTERM, "USR1": syscall.SIGUSR1,
		"USR2": syscall.SIGUSR2,
	}
}

// signal sends a signal to the session's process group. A signal that arrives
// before the process starts is delivered afterwards.
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

// setProcess sets the session's process, or clears it with nil after the
// process has been reaped, because the PID may be reused from then on.
func (s *session) setProcess(p *os.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = p
	if p == nil {
		return
	}
	for _, sig := range s.early {
		if n, ok := sig.(syscall.Signal); ok {
			_ = syscall.Kill(-p.Pid, n) // fails if the group has already ended
		}
	}
	s.early = nil
	if s.ctx.Err() != nil {
		s.end(p.Pid)
	}
}

// hangUp terminates the remaining processes after the client has disconnected.
func (s *session) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		s.end(s.process.Pid)
	}
}

// killDelay is the time between SIGHUP and SIGKILL.
const killDelay = 3 * time.Second

// end sends SIGHUP to the process group pid, and SIGKILL after killDelay. The
// caller holds mu.
func (s *session) end(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGHUP) // fails if the group has already ended
	_ = syscall.Kill(-pid, syscall.SIGCONT)
	time.AfterFunc(killDelay, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.process != nil && s.process.Pid == pid {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
	})
}

// ended sends the exit status or signal of the process to the client.
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
