package sshd

import (
	"os"
	"os/exec"

	"golang.org/x/crypto/ssh"
)

// detach does nothing: there are no process groups to sign off to.
func detach(*exec.Cmd, bool) {}

// signal ends the process for the signals that end one; no others exist.
func (s *session) signal(payload []byte) bool {
	var p struct{ Name string }
	if ssh.Unmarshal(payload, &p) != nil || (p.Name != "KILL" && p.Name != "TERM" && p.Name != "INT" && p.Name != "HUP") {
		return false
	}
	s.hangUp()
	return true
}

// setProcess notes the session's process, or with nil that it ended.
func (s *session) setProcess(p *os.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = p
	if p != nil && s.ctx.Err() != nil {
		_ = p.Kill() // it ended already
	}
}

// hangUp ends what still runs when the client is gone.
func (s *session) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		_ = s.process.Kill() // it ended already
	}
}

// ended tells the client how the process ended.
func (s *session) ended(st *os.ProcessState) { s.exit(uint32(st.ExitCode())) }
