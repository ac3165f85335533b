// Package terminal renders colors, spinners, tables and wrapped text on
// terminals, and plain text elsewhere.
package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Spinner shows progress. On a terminal it is an animated mark with a text and
// the elapsed time, updated in place; elsewhere the text is printed once. Its
// methods are safe for concurrent use.
type Spinner struct {
	w        io.Writer
	Painter  Painter
	animated bool
	width    int
	now      func() time.Time

	mu      sync.Mutex
	text    string
	since   time.Time
	stop    chan struct{}
	stopped sync.WaitGroup
	drawn   bool
}

// Spin starts a spinner on w, which is width columns wide. Without animated,
// lines are never overwritten.
func Spin(w io.Writer, p Painter, animated bool, width int, now func() time.Time, text string) *Spinner {
	s := &Spinner{w: w, Painter: p, animated: animated, width: width, now: now}
	s.Begin(text)
	return s
}

// Begin starts a new step with that text.
func (s *Spinner) Begin(text string) {
	text = Clean(text)
	s.mu.Lock()
	s.text, s.since = text, s.now()
	s.mu.Unlock()
	if !s.animated {
		fmt.Fprintf(s.w, "==> %s\n", text)
		return
	}
	if s.stop == nil {
		s.stop = make(chan struct{})
		s.stopped.Add(1)
		go s.turn(s.stop)
	}
}

// Say changes the text of the current step. It prints nothing without a
// terminal.
func (s *Spinner) Say(text string) {
	text = Clean(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = text
}

func (s *Spinner) turn(stop chan struct{}) {
	defer s.stopped.Done()
	t := time.NewTicker(100 * time.Millisecond)
	defer t.Stop()
	for frame := 0; ; frame++ {
		s.mu.Lock()
		s.draw([]rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")[frame%10])
		s.mu.Unlock()
		select {
		case <-stop:
			return
		case <-t.C:
		}
	}
}

// draw redraws the line. The caller holds the lock.
func (s *Spinner) draw(mark rune) {
	took := ""
	if d := s.now().Sub(s.since); d >= time.Second {
		took = " " + d.Truncate(time.Second).String()
	}
	text := s.text
	if room := s.width - len(took) - 4; len(text) > room {
		text = text[:room]
	}
	fmt.Fprintf(s.w, "\r\x1b[K%s %s%s", s.Painter.Green(string(mark)), text, s.Painter.Dim(took))
	s.drawn = true
}

// Print prints a line above the spinner.
func (s *Spinner) Print(line string) {
	line = Clean(line)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drawn {
		fmt.Fprint(s.w, "\r\x1b[K")
		s.drawn = false
	}
	fmt.Fprintln(s.w, strings.TrimRight(line, " \r\n"))
}

// Done marks the current step as succeeded or failed, with the time since
// Begin.
func (s *Spinner) Done(ok bool) {
	s.mu.Lock()
	took := s.now().Sub(s.since)
	s.mu.Unlock()
	s.DoneIn(ok, took)
}

// DoneIn is Done with a duration that the caller measured.
func (s *Spinner) DoneIn(ok bool, took time.Duration) {
	s.Halt()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.text == "" {
		return
	}
	took = took.Round(10 * time.Millisecond)
	switch {
	case s.animated && ok:
		fmt.Fprintf(s.w, "%s %s %s\n", s.Painter.Green("✔"), s.text, s.Painter.Dim(took.String()))
	case s.animated:
		fmt.Fprintf(s.w, "%s %s %s\n", s.Painter.Red("✘"), s.text, s.Painter.Dim(took.String()))
	case ok:
		fmt.Fprintf(s.w, "    done in %s\n", took)
	default:
		fmt.Fprintf(s.w, "    failed after %s\n", took)
	}
	s.text = ""
}

// Halt removes the spinner from the screen.
func (s *Spinner) Halt() {
	if s.stop != nil {
		close(s.stop)
		s.stopped.Wait()
		s.stop = nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drawn {
		fmt.Fprint(s.w, "\r\x1b[K")
		s.drawn = false
	}
}
