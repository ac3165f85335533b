package sshd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// shell runs the user's shell: with a command, or as a login shell.
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
		s.log.WarnContext(s.ctx, "cannot start the process of a session", "shell", s.user.shell, "error", err)
		s.say(fmt.Sprintf("cannot start the shell %s: %v", s.user.shell, err))
		s.exit(127)
		return
	}
	s.ended(cmd.ProcessState)
}

// runPipes runs cmd with pipes. It returns an error when the process cannot be
// started.
func (s *session) runPipes(cmd *exec.Cmd) error {
	var files [6]*os.File // read and write ends of stdin, stdout and stderr
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
		_, _ = io.Copy(in, s.ch) // one side has disconnected
		in.Close()
	})
	o, e := newDrain(out), newDrain(errs)
	s.run.Go(func() { o.copy(s.ch) })
	s.run.Go(func() { e.copy(s.ch.Stderr()) })
	_ = cmd.Wait() // the process state has the result
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
	defer ours.Close() // after the last change of its size
	if err := setModes(theirs, term.modes); err != nil {
		s.log.DebugContext(s.ctx, "cannot set the modes of a terminal", "error", err)
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
			_, _ = ours.Write([]byte{4}) // end of the client's input: type Ctrl-D
		}
	})
	o := newDrain(ours)
	s.run.Go(func() { o.copy(s.ch) })
	_ = cmd.Wait() // the process state has the result
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

// Bounds for the output after the exit of a process whose children hold the
// pipe open: silence, total wait, and bytes. The process's own output fits in
// the pipe, so later bytes are never its own.
const (
	drainSilence = 300 * time.Millisecond
	drainWait    = 2 * time.Second
	pipeCapacity = 64 << 10
)

// drain copies a process's output to the client, and after its exit the rest of
// the output.
type drain struct {
	f    *os.File
	done chan struct{}

	mu    sync.Mutex // copy extends the read deadline only after finish has set it
	ended bool
}

func newDrain(f *os.File) *drain { return &drain{f: f, done: make(chan struct{})} }

// copy copies until end of file or until the bounds are reached.
func (d *drain) copy(w io.Writer) {
	defer close(d.done)
	buf := make([]byte, 32<<10)
	late, waited := 0, time.Duration(0)
	for {
		d.mu.Lock()
		ended := d.ended
		if ended {
			_ = d.f.SetReadDeadline(time.Now().Add(drainSilence))
		}
		d.mu.Unlock()
		begin := time.Now()
		n, err := d.f.Read(buf)
		if n > 0 {
			if _, werr := w.Write(buf[:n]); werr != nil {
				return // the client has disconnected
			}
		}
		if ended {
			late += n
			waited += time.Since(begin)
		}
		switch {
		case err == nil && late < pipeCapacity && waited < drainWait:
		case errors.Is(err, os.ErrDeadlineExceeded) && !ended:
			// finish interrupted the read; copy the rest.
		default:
			return
		}
	}
}

// finish marks the process as exited, waits for the rest of the output, and
// closes the file.
func (d *drain) finish() {
	d.mu.Lock()
	d.ended = true
	_ = d.f.SetReadDeadline(time.Unix(1, 0)) // interrupts a blocked read
	d.mu.Unlock()
	<-d.done
	d.f.Close()
}
