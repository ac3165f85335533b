package remote

import (
	"errors"
	"io"
)

// errEscaped ends a session at the user's request.
var errEscaped = errors.New("the escape ~. ended the session")

// escapes filters typed input for escapes. As in ssh, ~. after a line break
// ends the session and ~~ is one tilde. Ctrl-C also ends the session while the
// connection is interrupted, when it would not reach the workspace.
type escapes struct {
	in          io.Reader
	interrupted func() bool // reports whether the connection is interrupted
	told        func()      // called once when input is typed while interrupted
	quit        func()      // called when the user ends the session

	middle bool // inside a line
	tilde  bool // a tilde at the start of a line is withheld
	said   bool
	held   []byte // decided bytes that are not read yet
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

// typed processes one byte and reports whether it ends the session.
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
