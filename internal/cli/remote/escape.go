package remote

import (
	"errors"
	"io"
)

// errEscaped ends a session because its user said so.
var errEscaped = errors.New("the escape ~. ended the session")

// escapes reads what is typed, and finds what is meant for us: ~. after a line
// break, as ssh knows it, and Ctrl-C while the connection is interrupted, when
// it would never arrive. ~~ is one tilde.
type escapes struct {
	in          io.Reader
	interrupted func() bool // the connection is
	told        func()      // something is typed in vain, for the first time
	quit        func()      // the user gives up

	middle bool // of a line
	tilde  bool // one was typed at the begin of a line and is held back
	said   bool
	held   []byte // decided and not yet read
}

// Read reads at most half of p.
func (e *escapes) Read(p []byte) (int, error) {
	if len(p) < 2 {
		return 0, io.ErrShortBuffer
	}
	n, err := e.in.Read(p[:len(p)/2])
	e.held = e.held[:0]
	for _, b := range p[:n] {
		if e.typed(b) {
			e.quit()
			return 0, errEscaped
		}
	}
	if err != nil && e.tilde {
		e.held, e.tilde = append(e.held, '~'), false
	}
	return copy(p, e.held), err
}

// typed takes one byte and says whether it ends the session.
func (e *escapes) typed(b byte) (quit bool) {
	const ctrlC = 3
	if !e.interrupted() {
		e.said = false
	} else if b == ctrlC {
		return true
	} else if !e.said {
		e.said = true
		e.told()
	}
	switch {
	case e.tilde && b == '.':
		return true
	case e.tilde && b == '~':
	case e.tilde:
		e.held = append(e.held, '~')
	case !e.middle && b == '~':
		e.tilde = true
		return false
	}
	e.held = append(e.held, b)
	e.tilde = false
	e.middle = b != '\r' && b != '\n'
	return false
}
