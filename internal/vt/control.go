package vt

import "strings"

// dispatch executes a CSI sequence.
func (s *Screen) dispatch(final byte) {
	text := string(s.seq)
	private := byte(0)
	if text != "" && strings.IndexByte("<=>?", text[0]) >= 0 {
		private, text = text[0], text[1:]
	}
	inter := byte(0)
	if i := strings.IndexFunc(text, func(r rune) bool { return r < 0x30 }); i >= 0 {
		inter, text = text[i], text[:i]
	}
	n, sub := parameters(text)
	switch {
	case private == '?' && inter == 0 && (final == 'h' || final == 'l'):
		for _, m := range n {
			s.setMode(m, final == 'h')
		}
	case private == '?' && (final == 'J' || final == 'K') && inter == 0:
		s.edit(final, n)
	case private == 0 && inter == 0 && final == 'm':
		s.g.attr.apply(n, sub)
	case private == 0 && inter == 0:
		s.move(final, n)
		s.edit(final, n)
	case private == 0 && inter == ' ' && final == 'q':
		s.style = max(0, n[0])
	case private == 0 && inter == '!' && final == 'p':
		s.softReset()
	}
}

// at returns parameter i, or otherwise when it is omitted.
func at(n []int, i, otherwise int) int {
	if i < len(n) && n[i] >= 0 {
		return n[i]
	}
	return otherwise
}

// count returns the first parameter as a repeat count of at least 1.
func count(n []int) int { return max(1, at(n, 0, 1)) }

// move executes the sequences that move the cursor.
func (s *Screen) move(final byte, n []int) {
	g := s.g
	top, bottom := 0, s.rows-1
	if g.y >= g.top && g.y <= g.bottom { // inside the margins, the margins limit the move
		top, bottom = g.top, g.bottom
	}
	up := func() int { return max(g.y-count(n), top) }
	down := func() int { return min(g.y+count(n), bottom) }
	switch final {
	case 'A':
		s.moveTo(g.x, up())
	case 'B', 'e':
		s.moveTo(g.x, down())
	case 'C', 'a':
		s.moveTo(g.x+count(n), g.y)
	case 'D':
		s.moveTo(g.x-count(n), g.y)
	case 'E':
		s.moveTo(0, down())
	case 'F':
		s.moveTo(0, up())
	case 'G', '`':
		s.moveTo(count(n)-1, g.y)
	case 'd':
		s.address(g.x, count(n)-1)
	case 'H', 'f':
		s.address(max(1, at(n, 1, 1))-1, count(n)-1)
	case 'I':
		s.tab(count(n))
	case 'Z':
		s.tab(-count(n))
	case 's':
		s.save()
	case 'u':
		s.restore()
	case 'r':
		first, last := max(1, at(n, 0, 1)), at(n, 1, s.rows)
		if last == 0 || last > s.rows {
			last = s.rows
		}
		if first < last {
			g.top, g.bottom = first-1, last-1
			s.address(0, 0)
		}
	}
}

// address moves the cursor to 1-based coordinates.
func (s *Screen) address(x, y int) {
	if s.g.origin {
		y = min(y+s.g.top, s.g.bottom)
	}
	s.moveTo(x, y)
}

// edit executes the sequences that change cells.
func (s *Screen) edit(final byte, n []int) {
	g := s.g
	within := g.y >= g.top && g.y <= g.bottom
	switch final {
	case '@':
		s.shiftRight(count(n))
	case 'P':
		s.shiftLeft(count(n))
	case 'X':
		s.clear(g.y, g.x, min(s.cols, g.x+count(n)))
	case 'J':
		s.clearScreen(at(n, 0, 0))
	case 'K':
		switch at(n, 0, 0) {
		case 0:
			s.clear(g.y, g.x, s.cols)
		case 1:
			s.clear(g.y, 0, g.x+1)
		case 2:
			s.clear(g.y, 0, s.cols)
		}
	case 'L':
		if within {
			s.scrollDown(g.y, count(n))
			g.x, g.pending = 0, false
		}
	case 'M':
		if within {
			s.deleteLines(count(n))
		}
	case 'S':
		s.scrollUp(g.top, count(n))
	case 'T':
		s.scrollDown(g.top, count(n))
	case 'b':
		for range min(count(n), s.cols*s.rows) {
			if s.last != 0 {
				s.put(s.last)
			}
		}
	case 'g':
		switch at(n, 0, 0) {
		case 0:
			s.tabs[g.x] = false
		case 3:
			clear(s.tabs)
		}
	case 'h', 'l':
		for _, m := range n {
			switch m {
			case 4:
				s.insert = final == 'h'
			case 20:
				s.newline = final == 'h'
			}
		}
	}
}

// deleteLines deletes lines at the cursor. They do not go to the history, even
// at the top of the screen.
func (s *Screen) deleteLines(n int) {
	g := s.g
	n = min(n, g.bottom-g.y+1)
	copy(g.lines[g.y:g.bottom+1], g.lines[g.y+n:g.bottom+1])
	for y := g.bottom - n + 1; y <= g.bottom; y++ {
		g.lines[y] = s.blank()
	}
	g.x, g.pending = 0, false
}

func (s *Screen) clearScreen(what int) {
	g := s.g
	switch what {
	case 0:
		s.clear(g.y, g.x, s.cols)
		for y := g.y + 1; y < s.rows; y++ {
			s.clear(y, 0, s.cols)
		}
	case 1:
		for y := range g.y {
			s.clear(y, 0, s.cols)
		}
		s.clear(g.y, 0, g.x+1)
	case 2:
		for y := range s.rows {
			s.clear(y, 0, s.cols)
		}
	case 3:
		s.history, s.historyBytes = nil, 0
	}
}

// maxMode and maxModes bound the stored modes.
const (
	maxMode  = 9999
	maxModes = 100
)

// setMode sets or resets a DEC mode.
func (s *Screen) setMode(m int, on bool) {
	switch m {
	case 6:
		s.g.origin = on
		s.address(0, 0)
	case 47, 1047, 1049:
		s.switchTo(m, on)
	case 1048:
		if on {
			s.save()
		} else {
			s.restore()
		}
	case 3, 2026: // column mode and synchronized output do not affect later viewers
	default:
		if _, known := s.modes[m]; m >= 1 && m <= maxMode && (known || len(s.modes) < maxModes) {
			s.modes[m] = on
		}
	}
}

// switchTo switches to the alternate screen or back.
func (s *Screen) switchTo(m int, alternate bool) {
	if alternate == s.Alternate() {
		return
	}
	if alternate {
		if m == 1049 {
			s.save()
		}
		at := s.main.cursor
		s.alt = newGrid(s.cols, s.rows)
		s.alt.cursor = at
		s.g = &s.alt
		return
	}
	at := s.alt.cursor
	s.g = &s.main
	if m == 1049 {
		s.restore()
	} else {
		s.main.cursor = at
		s.clampToMargins()
	}
}

// softReset executes a soft reset: it restores the initial modes and keeps the
// text.
func (s *Screen) softReset() {
	s.insert, s.keypad, s.style = false, false, 0
	delete(s.modes, 1)
	delete(s.modes, 25)
	delete(s.modes, 7)
	s.g.attr, s.g.origin, s.g.shift, s.g.sets = attr{}, false, 0, [2]byte{'B', 'B'}
	s.g.top, s.g.bottom = 0, s.rows-1
	s.g.saved = cursor{sets: s.g.sets}
}

// apply executes SGR.
func (a *attr) apply(n []int, sub [][]int) {
	for i := 0; i < len(n); i++ {
		switch v := max(0, n[i]); {
		case v == 0:
			*a = attr{}
		case v >= 1 && v <= 9:
			a.flags |= 1 << v
			if v == 4 && len(sub[i]) > 0 && sub[i][0] == 0 {
				a.flags &^= 1 << 4
			}
		case v == 21:
			a.flags |= 1 << 10
		case v == 22:
			a.flags &^= 1<<1 | 1<<2
		case v == 24:
			a.flags &^= 1<<4 | 1<<10
		case v >= 23 && v <= 29:
			a.flags &^= 1 << (v - 20)
		case v >= 30 && v <= 37:
			a.fg = uint32(v-30) + 1
		case v >= 40 && v <= 47:
			a.bg = uint32(v-40) + 1
		case v >= 90 && v <= 97:
			a.fg = uint32(v-90+8) + 1
		case v >= 100 && v <= 107:
			a.bg = uint32(v-100+8) + 1
		case v == 39:
			a.fg = 0
		case v == 49:
			a.bg = 0
		case v == 53:
			a.flags |= 1 << 11
		case v == 55:
			a.flags &^= 1 << 11
		case v == 38 || v == 48 || v == 58:
			c, used, ok := color(n[i+1:], sub[i])
			i += used
			if ok && v == 38 {
				a.fg = c
			} else if ok && v == 48 {
				a.bg = c
			}
		}
	}
}

// color parses 5;n and 2;r;g;b, as separate parameters or as subparameters
// after colons. It returns the number of parameters used.
func color(n, sub []int) (c uint32, used int, ok bool) {
	from := n
	if len(sub) > 0 {
		from = sub
		if len(sub) == 5 { // with a color space
			from = []int{sub[0], sub[2], sub[3], sub[4]}
		}
	}
	took := func(k int) int {
		if len(sub) > 0 {
			return 0
		}
		return min(k, len(n))
	}
	part := func(i int) uint32 { return uint32(min(255, at(from, i, 0))) }
	switch at(from, 0, 0) {
	case 5:
		return part(1) + 1, took(2), len(from) > 1
	case 2:
		return rgb | part(1)<<16 | part(2)<<8 | part(3), took(4), len(from) > 3
	}
	return 0, took(1), false
}
