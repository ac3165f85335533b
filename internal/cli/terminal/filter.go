package terminal

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// Filter is a writer that passes text and colors to a terminal and drops
// everything else that a terminal acts on: escape sequences (ECMA-48) other
// than SGR, control characters, and characters that change the text direction.
// Untrusted text, such as logs, therefore cannot move the cursor, write to the
// clipboard or send answers in the user's name. Sequences may span several
// writes. A Filter is safe for concurrent use.
type Filter struct {
	to     io.Writer
	plain  bool // colors are dropped too
	redraw bool // carriage returns and "erase line" pass, for spinners

	mu    sync.Mutex
	state filterState
	seq   []byte // parameters of the current CSI sequence
	rest  []byte // an incomplete character, or a carriage return, of the last write
}

type filterState int

const (
	inText   filterState = iota
	inEscape             // after ESC
	inCSI                // after ESC [
	inString             // after ESC ], ESC P, ESC X, ESC ^, ESC _: until BEL, ST or the end of the line
	inStringEscape
)

// maxSequence bounds a CSI sequence, in bytes; a longer one is dropped.
const maxSequence = 64

// NewFilter returns a filter in front of w.
func NewFilter(w io.Writer) *Filter { return &Filter{to: w} }

// NewRedrawFilter returns a filter in front of w that also lets carriage returns
// and "erase line" through.
func NewRedrawFilter(w io.Writer) *Filter { return &Filter{to: w, redraw: true} }

// Unwrap returns the filtered writer.
func (f *Filter) Unwrap() io.Writer { return f.to }

// Clean returns the part of s that a Filter passes.
func Clean(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, acts) {
		return s
	}
	var b strings.Builder
	NewFilter(&b).Write([]byte(s)) //nolint:errcheck // a Builder takes everything
	return b.String()
}

// plainText returns s without anything that a terminal acts on, colors
// included.
func plainText(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, acts) {
		return s
	}
	var b strings.Builder
	f := Filter{to: &b, plain: true}
	f.Write([]byte(s)) //nolint:errcheck // a Builder takes everything
	return b.String()
}

// acts reports whether a terminal does not simply show the character.
func acts(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f || reorders(r)
}

// reorders reports whether the character changes the direction of the text
// after it (Unicode Bidirectional Algorithm, explicit formatting characters).
func reorders(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

// Write implements io.Writer. It reports all of p as written.
func (f *Filter) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	in := append(f.rest, p...)
	f.rest = nil
	out := make([]byte, 0, len(in))
	for len(in) > 0 {
		if !utf8.FullRune(in) || len(in) == 1 && in[0] == '\r' && !f.redraw {
			f.rest = bytes.Clone(in)
			break
		}
		r, n := utf8.DecodeRune(in)
		if f.state == inText && r == '\r' && !f.redraw {
			if in[1] == '\n' {
				out = append(out, '\r')
			}
		} else {
			out = f.step(out, r)
		}
		in = in[n:]
	}
	if len(out) > 0 {
		if _, err := f.to.Write(out); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// step processes one character and appends the passed output to out.
func (f *Filter) step(out []byte, r rune) []byte {
	switch f.state {
	case inText:
		switch {
		case r == 0x1b:
			f.state = inEscape
		case r == '\r' && f.redraw, !acts(r):
			out = utf8.AppendRune(out, r)
		}
	case inEscape:
		f.state = inText
		switch {
		case r == '[':
			f.state, f.seq = inCSI, f.seq[:0]
		case strings.ContainsRune("]PX^_", r):
			f.state = inString
		case r >= ' ' && r <= '/', r == 0x1b: // intermediate bytes, and a new sequence
			f.state = inEscape
		case r == '\n':
			out = append(out, '\n')
		}
	case inCSI:
		out = f.stepCSI(out, r)
	case inString, inStringEscape:
		switch {
		case r == '\n':
			f.state, out = inText, append(out, '\n')
		case r == 0x07, f.state == inStringEscape && r == '\\':
			f.state = inText
		case r == 0x1b:
			f.state = inStringEscape
		default:
			f.state = inString
		}
	}
	return out
}

// stepCSI processes one character of a CSI sequence. The final character
// decides whether the sequence passes.
func (f *Filter) stepCSI(out []byte, r rune) []byte {
	switch {
	case r == 0x1b:
		f.state = inEscape
	case r == '\n':
		f.state, out = inText, append(out, '\n')
	case r >= ' ' && r <= '?':
		if f.seq = append(f.seq, byte(r)); len(f.seq) > maxSequence {
			f.state = inText
		}
	default:
		f.state = inText
		if plain := len(bytes.Trim(f.seq, "0123456789;:")) == 0; plain && (r == 'm' && !f.plain || r == 'K' && f.redraw) {
			out = append(append(append(out, 0x1b, '['), f.seq...), byte(r))
		}
	}
	return out
}
