package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// spinner shows that something goes on: a turning mark, a text and the time it
// takes, in place on a terminal; the text alone, once, elsewhere. Its methods
// may be called from several goroutines.
type spinner struct {
	w        io.Writer
	p        painter
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

// spin starts a spinner on standard error.
func (a *app) spin(text string) *spinner {
	s := &spinner{w: a.stderr, p: a.painter(a.stderr), animated: a.animated(a.stderr), width: a.width(a.stderr), now: a.now}
	s.begin(text)
	return s
}

// begin shows a text from now on.
func (s *spinner) begin(text string) {
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

// say changes the text that is shown, and prints nothing elsewhere.
func (s *spinner) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = text
}

func (s *spinner) turn(stop chan struct{}) {
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

// draw writes the line over the one before. The lock is held.
func (s *spinner) draw(mark rune) {
	took := ""
	if d := s.now().Sub(s.since); d >= time.Second {
		took = " " + d.Truncate(time.Second).String()
	}
	text := s.text
	if room := s.width - len(took) - 4; len(text) > room {
		text = text[:room]
	}
	fmt.Fprintf(s.w, "\r\x1b[K%s %s%s", s.p.green(string(mark)), text, s.p.dim(took))
	s.drawn = true
}

// print writes a line above the spinner.
func (s *spinner) print(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drawn {
		fmt.Fprint(s.w, "\r\x1b[K")
		s.drawn = false
	}
	fmt.Fprintln(s.w, strings.TrimRight(line, " \r\n"))
}

// done ends what is shown with a mark of success, or of failure, and the time
// it took.
func (s *spinner) done(ok bool) {
	s.halt()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.text == "" {
		return
	}
	took := s.now().Sub(s.since)
	took = took.Round(10 * time.Millisecond)
	switch {
	case s.animated && ok:
		fmt.Fprintf(s.w, "%s %s %s\n", s.p.green("✔"), s.text, s.p.dim(took.String()))
	case s.animated:
		fmt.Fprintf(s.w, "%s %s %s\n", s.p.red("✘"), s.text, s.p.dim(took.String()))
	case ok:
		fmt.Fprintf(s.w, "    done in %s\n", took)
	}
	s.text = ""
}

// halt takes the spinner off the screen.
func (s *spinner) halt() {
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
