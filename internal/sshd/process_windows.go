package sshd

import (
	"os"
	"os/exec"

	"golang.org/x/crypto/ssh"
)

// detach does nothing: Windows has no process groups in this sense.
func detach(*exec.Cmd, bool) {}

// signal kills the process for terminating signals, and ignores all others.
func (s *session) signal(payload []byte) bool {
	var p struct{ Name string }
	if ssh.Unmarshal(payload, &p) != nil || (p.Name != "KILL" && p.Name != "TERM" && p.Name != "INT" && p.Name != "HUP") {
		return false
	}
	s.hangUp()
	return true
}

// setProcess sets the session's process, or clears it with nil.
func (s *session) setProcess(p *os.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = p
	if p != nil && s.ctx.Err() != nil {
		_ = p.Kill() // fails if the process has already ended
	}
}

// hangUp kills the process after the client has disconnected.
func (s *session) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		_ = s.process.Kill() // fails if the process has already ended
	}
}

// ended sends the exit status of the process to the client.
func (s *session) ended(st *os.ProcessState) { s.exit(uint32(st.ExitCode())) }
