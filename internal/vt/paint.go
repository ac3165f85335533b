package vt

import (
	"fmt"
	"slices"
	"strconv"
)

// past is a rendered line of the history, without its line end.
type past struct {
	text    []byte
	wrapped bool // may continue in the next line
	starts  bool // starts with a character
}

// appendToHistory moves the first line, which scrolls off, to the history, and drops the
// oldest lines beyond its limit.
func (s *Screen) appendToHistory(g *grid) {
	if s.historyMax <= 0 {
		return
	}
	l := g.row(0)
	s.history = append(s.history, past{appendLine(nil, l, len(l.cells)), l.wrapped, starts(l)})
	s.historyBytes += len(s.history[len(s.history)-1].text) + pastOverhead
	for s.historyBytes > s.historyMax && len(s.history) > 0 {
		s.historyBytes -= len(s.history[0].text) + pastOverhead
		s.history[0] = past{}
		s.history = s.history[1:]
	}
}

// pastOverhead is the accounted size of a history line in addition to its text,
// in bytes.
const pastOverhead = 32

func starts(l line) bool { return l.cells[0].r != 0 }

// appendHistory renders the history, up to the start of the main screen.
func (s *Screen) appendHistory(to []byte) []byte {
	for i, p := range s.history {
		next := starts(s.main.lines[0])
		if i+1 < len(s.history) {
			next = s.history[i+1].starts
		}
		if to = append(to, p.text...); !p.wrapped || !next {
			to = append(to, "\r\n"...)
		}
	}
	return to
}

// row returns a line. It counts as wrapped only if a next line exists.
func (g *grid) row(y int) line {
	l := g.lines[y]
	l.wrapped = l.wrapped && y+1 < len(g.lines) && starts(g.lines[y+1])
	return l
}

// appendLine renders the cells of a line. It starts and ends with default
// colors and omits trailing blanks.
func appendLine(to []byte, l line, cols int) []byte {
	end := cols
	for !l.wrapped && end > 0 && l.cells[end-1] == (cell{}) {
		end--
	}
	now := attr{}
	for x := 0; x < end; x++ {
		c := l.cells[x]
		if c.r == wideTail {
			continue
		}
		to = appendAttr(to, now, c.attr)
		now = c.attr
		if c.r == 0 {
			to = append(to, ' ')
			continue
		}
		to = append(to, string(c.r)...)
		to = append(to, c.marks...)
		if (width(c.r) == 2 || c.marks != "") && x+width(c.r) < cols {
			// The other terminal may use a different width for such a
			// character.
			to = fmt.Appendf(to, "\x1b[%dG", x+width(c.r)+1)
		}
	}
	to = appendAttr(to, now, attr{})
	if end < cols && l.cells[0].bg != 0 {
		to = append(to, "\x1b[K"...) // for a wrapped line, all of it got the color of its first cell
	}
	return to
}

// appendAttr appends the SGR sequences that change from to a.
func appendAttr(to []byte, from, a attr) []byte {
	if from == a {
		return to
	}
	to = append(to, "\x1b[0"...)
	for i := 1; i <= 9; i++ {
		if a.flags&(1<<i) != 0 {
			to = append(to, ';', byte('0'+i))
		}
	}
	if a.flags&(1<<10) != 0 {
		to = append(to, ";21"...)
	}
	if a.flags&(1<<11) != 0 {
		to = append(to, ";53"...)
	}
	to = appendColor(to, 30, a.fg)
	to = appendColor(to, 40, a.bg)
	return append(to, 'm')
}

func appendColor(to []byte, base int, c uint32) []byte {
	switch {
	case c == 0:
	case c&rgb != 0:
		return fmt.Appendf(to, ";%d;2;%d;%d;%d", base+8, c>>16&255, c>>8&255, c&255)
	case c <= 8:
		return fmt.Appendf(to, ";%d", base+int(c)-1)
	case c <= 16:
		return fmt.Appendf(to, ";%d", base+60+int(c)-9)
	default:
		return fmt.Appendf(to, ";%d;5;%d", base+8, c-1)
	}
	return to
}

// Paint returns the output that brings a terminal of the same size to this
// state, whatever it showed before.
func (s *Screen) Paint() []byte {
	out := append([]byte(nil), "\x1bc"...)
	out = s.appendHistory(out)
	out = s.appendGrid(out, &s.main)
	if s.Alternate() {
		out = appendState(out, &s.main, s.rows)
		enter := "\x1b[?1047h"
		if s.main.saved == s.main.cursor {
			enter = "\x1b[?1049h" // this also saves the cursor
		}
		out = append(appendLook(append(out, enter...), cursor{sets: [2]byte{'B', 'B'}}), "\x1b[?6l\x1b[2J"...)
		for y, l := range s.alt.lines {
			out = fmt.Appendf(out, "\x1b[%dH", y+1)
			out = appendLine(out, line{cells: l.cells}, s.cols)
		}
	}
	out = appendState(out, s.g, s.rows)
	out = s.appendPending(out)
	return s.appendModes(out)
}

// appendPending rewrites the last character of a full line, so that the next
// one wraps.
func (s *Screen) appendPending(to []byte) []byte {
	if !s.g.pending {
		return to
	}
	cells := s.g.lines[s.g.y].cells
	x := s.cols - 1
	if cells[x].r == wideTail {
		x--
	}
	c := cells[x]
	if c.r <= 0 {
		c.r = ' '
	}
	to = fmt.Appendf(to, "\x1b[%dG\x0f\x1b(B", x+1)
	to = append(appendAttr(append(to, "\x1b[m"...), attr{}, c.attr), string(c.r)+c.marks...)
	return appendLook(to, s.g.cursor)
}

// appendGrid renders the lines of the main screen in sequence, so that the
// other terminal wraps and scrolls in the same way.
func (s *Screen) appendGrid(to []byte, g *grid) []byte {
	last := len(g.lines) - 1
	for last > g.y && slices.Equal(g.lines[last].cells, make([]cell, s.cols)) {
		last--
	}
	if len(s.history) > 0 {
		last = len(g.lines) - 1 // the lines above must have scrolled off
	}
	for y := range last + 1 {
		l := g.row(y)
		to = appendLine(to, l, s.cols)
		if y < last && !l.wrapped {
			to = append(to, "\r\n"...)
		}
	}
	return to
}

// appendModes sets the modes that differ from the initial ones.
func (s *Screen) appendModes(to []byte) []byte {
	var all []int
	for m := range s.modes {
		all = append(all, m)
	}
	slices.Sort(all)
	for _, m := range all {
		final := byte('l')
		if s.modes[m] {
			final = 'h'
		}
		to = append(strconv.AppendInt(append(to, "\x1b[?"...), int64(m), 10), final)
	}
	for _, m := range []struct {
		on  bool
		say string
	}{{s.insert, "\x1b[4h"}, {s.newline, "\x1b[20h"}, {s.keypad, "\x1b="}} {
		if m.on {
			to = append(to, m.say...)
		}
	}
	if s.style != 0 {
		to = fmt.Appendf(to, "\x1b[%d q", s.style)
	}
	if s.title != "" {
		to = append(append(append(to, "\x1b]2;"...), s.title...), 0x07)
	}
	return to
}

// appendState sets the margins, the saved cursor and the cursor of a grid.
func appendState(to []byte, g *grid, rows int) []byte {
	to = appendCursor(append(to, "\x1b[?6l"...), g.saved, 0)
	to = append(to, "\x1b7"...)
	if g.top != 0 || g.bottom != rows-1 {
		to = fmt.Appendf(to, "\x1b[%d;%dr", g.top+1, g.bottom+1)
	}
	if g.origin {
		to = append(to, "\x1b[?6h"...)
	}
	top := 0
	if g.origin {
		top = g.top
	}
	return appendCursor(to, g.cursor, top)
}

func appendCursor(to []byte, c cursor, top int) []byte {
	return appendLook(fmt.Appendf(to, "\x1b[%d;%dH", c.y-top+1, c.x+1), c)
}

// appendLook sets the cursor's attributes, but not its position.
func appendLook(to []byte, c cursor) []byte {
	to = append(append(to, "\x1b("...), c.sets[0])
	to = append(append(to, "\x1b)"...), c.sets[1])
	if c.shift == 1 {
		to = append(to, 0x0e)
	} else {
		to = append(to, 0x0f)
	}
	return appendAttr(append(to, "\x1b[m"...), attr{}, c.attr)
}
