package vt

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The states of the parser, named after the current sequence.
const (
	ground     = iota
	escape     // after ESC
	charset    // after ESC and a charset designator
	skipOne    // the next byte ends an ignored sequence
	control    // in a CSI sequence
	command    // in an OSC
	device     // in a DCS, SOS, PM or APC, whose content is ignored
	commandEnd // after ESC in an OSC
	deviceEnd  // after ESC in a DCS, SOS, PM or APC
	alignment  // after ESC #
)

// maxSequence bounds a sequence, in bytes; longer ones are ignored.
const maxSequence = 4096

// parser parses the output of programs byte by byte, in chunks of any size.
type parser struct {
	state   int
	seq     []byte // of the current sequence
	partial []byte // of the current character
	which   int    // the designated set
}

// Write applies the output p to the screen. It never fails.
func (s *Screen) Write(p []byte) (int, error) {
	for _, b := range p {
		s.next(b)
	}
	return len(p), nil
}

func (s *Screen) next(b byte) {
	switch b {
	case 0x18, 0x1a: // CAN and SUB cancel any sequence
		s.state = ground
		return
	case 0x1b:
		switch s.state {
		case command:
			s.state = commandEnd
		case device:
			s.state = deviceEnd
		default:
			s.state = escape
		}
		s.partial = s.partial[:0]
		return
	}
	switch s.state {
	case ground:
		s.text(b)
	case escape:
		s.escape(b)
	case charset:
		if s.which < 2 && b == '0' {
			s.g.sets[s.which] = '0'
		} else if s.which < 2 {
			s.g.sets[s.which] = 'B' // national sets are obsolete
		}
		s.state = ground
	case skipOne:
		s.state = ground
	case alignment:
		if b == '8' {
			s.align()
		}
		s.state = ground
	case control:
		s.control(b)
	case command:
		if b == 0x07 {
			s.command()
		} else if len(s.seq) < maxSequence {
			s.seq = append(s.seq, b)
		}
	case device:
	case commandEnd:
		s.command()
		if b != '\\' {
			s.escape(b)
		}
	case deviceEnd:
		s.state = ground
		if b != '\\' {
			s.escape(b)
		}
	}
}

// text processes a byte outside sequences.
func (s *Screen) text(b byte) {
	if b < 0x20 {
		s.partial = s.partial[:0]
		s.c0(b)
		return
	}
	if len(s.partial) == 0 && b < 0x7f {
		s.put(rune(b))
		return
	}
	if b == 0x7f {
		return
	}
	s.partial = append(s.partial, b)
	if !utf8.FullRune(s.partial) {
		return
	}
	r, n := utf8.DecodeRune(s.partial)
	for r == utf8.RuneError && n < len(s.partial) && s.partial[n]&0xc0 == 0x80 {
		n++ // the invalid character is replaced by one mark
	}
	rest := append([]byte(nil), s.partial[n:]...)
	s.partial = s.partial[:0]
	if r >= 0xa0 {
		s.put(r)
	}
	for _, b := range rest { // the interrupting byte starts a new character
		s.text(b)
	}
}

// c0 executes a control character.
func (s *Screen) c0(b byte) {
	g := s.g
	s.last = 0
	switch b {
	case '\b':
		s.moveTo(g.x-1, g.y)
	case '\t':
		s.tab(1)
	case '\n', '\v', '\f':
		s.lineFeed()
		if s.newline {
			g.x = 0
		}
	case '\r':
		g.x, g.pending = 0, false
	case 0x0e:
		g.shift = 1
	case 0x0f:
		g.shift = 0
	}
}

// tab moves n tab stops to the right, or to the left if n is negative.
func (s *Screen) tab(n int) {
	g, step := s.g, 1
	if n < 0 {
		n, step = -n, -1
	}
	g.pending = false
	for ; n > 0; n-- {
		for g.x+step >= 0 && g.x+step < s.cols {
			if g.x += step; s.tabs[g.x] {
				break
			}
		}
	}
}

// escape processes the byte after ESC.
func (s *Screen) escape(b byte) {
	s.state = ground
	s.seq = s.seq[:0]
	if b != '[' {
		s.last = 0
	}
	switch b {
	case '[':
		s.state = control
	case ']':
		s.state = command
	case 'P', 'X', '^', '_':
		s.state = device
	case '(', ')', '*', '+', '-', '.', '/':
		s.state, s.which = charset, strings.IndexByte("()*+-./", b)
	case '#':
		s.state = alignment
	case '%', ' ', '"', '$', '&', '\'', '!':
		s.state = skipOne
	case '7':
		s.save()
	case '8':
		s.restore()
	case 'D':
		s.lineFeed()
	case 'E':
		s.g.x = 0
		s.lineFeed()
	case 'H':
		s.tabs[s.g.x] = true
	case 'M':
		s.reverseLineFeed()
	case 'c':
		s.reset()
	case '=', '>':
		s.keypad = b == '='
	}
}

func (s *Screen) save() { s.g.saved = s.g.cursor }

func (s *Screen) restore() {
	s.g.cursor = s.g.saved
	s.clampToMargins()
}

// clampToMargins limits a cursor in origin mode to the margins.
func (s *Screen) clampToMargins() {
	if s.g.origin {
		s.g.y = min(max(s.g.y, s.g.top), s.g.bottom)
	}
}

// align fills the screen with E, the alignment pattern (DECALN).
func (s *Screen) align() {
	for y := range s.g.lines {
		for x := range s.g.lines[y].cells {
			s.g.lines[y].cells[x] = cell{r: 'E'}
		}
	}
	s.moveTo(0, 0)
}

// maxTitle bounds the window title, in bytes.
const maxTitle = 256

// command executes an OSC; only the title is supported.
func (s *Screen) command() {
	s.state = ground
	kind, text, ok := strings.Cut(string(s.seq), ";")
	if ok && (kind == "0" || kind == "2") {
		clean := strings.Map(func(r rune) rune {
			if r < 0x20 || r >= 0x7f && r < 0xa0 {
				return -1
			}
			return r
		}, strings.ToValidUTF8(text, ""))
		s.title = strings.ToValidUTF8(clean[:min(len(clean), maxTitle)], "")
	}
}

// control processes a byte of a CSI sequence.
func (s *Screen) control(b byte) {
	switch {
	case b < 0x20: // executed as if it preceded the sequence
		s.c0(b)
	case b < 0x40:
		if len(s.seq) < maxSequence {
			s.seq = append(s.seq, b)
		}
	default:
		s.state = ground
		if b < 0x7f && len(s.seq) < maxSequence {
			s.dispatch(b)
			s.last = 0
		}
	}
}

// parameters parses the numbers of a CSI sequence; -1 means omitted. sub holds
// the subparameters after colons.
func parameters(text string) (n []int, sub [][]int) {
	for part := range strings.SplitSeq(text, ";") {
		var all []int
		for p := range strings.SplitSeq(part, ":") {
			v, err := strconv.ParseUint(p, 10, 16)
			if errors.Is(err, strconv.ErrRange) {
				v, err = math.MaxUint16, nil
			}
			if err != nil {
				all = append(all, -1)
				continue
			}
			all = append(all, int(v))
		}
		n = append(n, all[0])
		sub = append(sub, all[1:])
		if len(n) == 64 {
			break
		}
	}
	return n, sub
}
