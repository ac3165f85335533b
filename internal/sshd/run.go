package sshd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"
)

// shell runs the user's shell: with a command, or as a login shell without.
func (s *session) shell(command string) {
	cmd := exec.Command(s.user.shell)
	if command == "" {
		cmd.Args[0] = "-" + filepath.Base(s.user.shell)
	} else {
		cmd.Args = append(cmd.Args, "-c", command)
	}
	cmd.Dir = s.dir()
	cmd.Env = s.environment()
	if s.c.Prepare != nil {
		s.c.Prepare(cmd)
	}
	s.mu.Lock()
	term := s.term
	s.mu.Unlock()
	if term != nil && command == "" {
		s.motd(bufio.NewWriter(s.ch))
	}
	var err error
	if term != nil {
		err = s.runTerminal(cmd, term)
	} else {
		err = s.runPipes(cmd)
	}
	if err != nil {
		s.log.WarnContext(s.ctx, "a session's process could not be started", "shell", s.user.shell, "error", err)
		s.say(fmt.Sprintf("the shell %s could not be started: %v", s.user.shell, err))
		s.exit(127)
		return
	}
	s.ended(cmd.ProcessState)
}

// runPipes runs cmd with pipes and gives an error when it does not begin.
func (s *session) runPipes(cmd *exec.Cmd) error {
	var files [6]*os.File // stdin, stdout, stderr: each its reading, then its writing end
	for i := range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(files[:])
			return err
		}
		files[2*i], files[2*i+1] = r, w
	}
	in, out, errs := files[1], files[2], files[4]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = files[0], files[3], files[5]
	detach(cmd, false)
	err := cmd.Start()
	closeAll([]*os.File{files[0], files[3], files[5]})
	if err != nil {
		closeAll([]*os.File{in, out, errs})
		return err
	}
	s.setProcess(cmd.Process)
	s.run.Go(func() {
		_, _ = io.Copy(in, s.ch) // either side left
		in.Close()
	})
	o, e := newDrain(out), newDrain(errs)
	s.run.Go(func() { o.copy(s.ch) })
	s.run.Go(func() { e.copy(s.ch.Stderr()) })
	_ = cmd.Wait() // the state says how it ended
	s.setProcess(nil)
	o.finish()
	e.finish()
	in.Close()
	return nil
}

// runTerminal runs cmd on a pseudo-terminal.
func (s *session) runTerminal(cmd *exec.Cmd, term *terminal) error {
	ours, theirs, err := openTerminal()
	if err != nil {
		return err
	}
	defer ours.Close() // once nobody sets its size any more
	if err := setModes(theirs, term.modes); err != nil {
		s.log.DebugContext(s.ctx, "the modes of a terminal could not be set", "error", err)
	}
	s.mu.Lock()
	err = setSize(theirs, term.size)
	term.file = ours
	s.mu.Unlock()
	if err != nil {
		theirs.Close()
		return err
	}
	defer func() {
		s.mu.Lock()
		term.file = nil
		s.mu.Unlock()
	}()
	if term.name != "" {
		cmd.Env = append(cmd.Env, "TERM="+term.name)
	}
	if s.ssh != nil {
		cmd.Env = append(cmd.Env, "SSH_TTY="+theirs.Name())
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	detach(cmd, true)
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return err
	}
	s.setProcess(cmd.Process)
	s.run.Go(func() {
		_, err := io.Copy(ours, s.ch)
		if err == nil && s.ctx.Err() == nil {
			_, _ = ours.Write([]byte{4}) // the client's input ended: end of file, as typed
		}
	})
	o := newDrain(ours)
	s.run.Go(func() { o.copy(s.ch) })
	_ = cmd.Wait() // the state says how it ended
	s.setProcess(nil)
	o.finish()
	return nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// Bounds of what is still awaited of a pipe after its process ended, when
// children hold it open: silence, time spent waiting, and bytes. What the
// process itself wrote before its end fits in the pipe, so bytes beyond its
// capacity are never its own.
const (
	drainSilence = 300 * time.Millisecond
	drainWait    = 2 * time.Second
	pipeCapacity = 64 << 10
)

// drain copies what a process writes to the client, and after the process
// ended, what is left.
type drain struct {
	f     *os.File
	ended atomic.Bool
	done  chan struct{}
}

func newDrain(f *os.File) *drain { return &drain{f: f, done: make(chan struct{})} }

// copy copies until end of file, or until nothing more is awaited.
func (d *drain) copy(w io.Writer) {
	defer close(d.done)
	buf := make([]byte, 32<<10)
	late, waited := 0, time.Duration(0)
	for {
		ended := d.ended.Load()
		if ended {
			_ = d.f.SetReadDeadline(time.Now().Add(drainSilence))
		}
		begin := time.Now()
		n, err := d.f.Read(buf)
		if n > 0 {
			if _, werr := w.Write(buf[:n]); werr != nil {
				return // the client is gone
			}
		}
		if ended {
			late += n
			waited += time.Since(begin)
		}
		switch {
		case err == nil && late < pipeCapacity && waited < drainWait:
		case errors.Is(err, os.ErrDeadlineExceeded) && !ended:
			// finish woke us; now what is left.
		default:
			return
		}
	}
}

// finish says that the process ended, waits for what is left, and closes the
// file.
func (d *drain) finish() {
	d.ended.Store(true)
	_ = d.f.SetReadDeadline(time.Unix(1, 0)) // wakes a read that waits
	<-d.done
	d.f.Close()
}
