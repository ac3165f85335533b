// Package vt emulates a terminal's screen, so that a later viewer sees the same
// as those who watched from the start.
//
// A Screen processes the output of programs as xterm would: it moves the
// cursor, writes cells with their colors, scrolls, and switches to the
// alternate screen of full-screen programs and back. Paint then returns a short
// text that brings a new terminal of the same size to the same state: the
// history, the screen, the cursor, and the modes of keyboard and mouse. A
// replay of old output would instead repeat queries to the terminal, start
// inside a sequence, and show a full-screen program without its first output.
// Unknown sequences are ignored. Memory is bounded by the size of the screen
// and the size of the history in bytes.
package vt

import "slices"

// attr holds the attributes of a cell. Colors are 0 for the default, 1+n for
// color n of the palette, and rgb|0xrrggbb for RGB.
type attr struct {
	fg, bg uint32
	flags  uint16 // bit n is SGR n, 1 to 9; bit 10 double and bit 11 overline
}

const rgb = 1 << 24

// cell is one position of the screen. A wide character fills two cells: the
// second has r = wideTail.
type cell struct {
	r     rune   // 0 means empty
	marks string // its combining characters
	attr
}

const wideTail = -1

// line is a row; wrapped reports that its text continues in the next row.
type line struct {
	cells   []cell
	wrapped bool
}

// cursor is the position and style of the next character.
type cursor struct {
	x, y int
	attr
	pending bool    // the last column is written: the next character wraps first
	origin  bool    // line numbers are relative to the top margin
	shift   int     // G0 or G1
	sets    [2]byte // the sets G0 and G1: '0' for line drawing, 'B' for ASCII
}

// grid is the main or the alternate screen.
type grid struct {
	lines []line
	cursor
	saved       cursor
	top, bottom int // margins, inclusive
}

// Screen is the state of a terminal. It is not safe for concurrent use.
type Screen struct {
	cols, rows int
	main, alt  grid
	g          *grid // the visible one of the two
	tabs       []bool
	modes      map[int]bool // DEC modes that differ from the initial state
	insert     bool
	newline    bool // a line feed includes a carriage return
	keypad     bool // application keypad
	style      int  // of the cursor, initially 0
	title      string
	last       rune // last character, for REP

	history      []past // lines that scrolled off, oldest first
	historyBytes int
	historyMax   int

	parser
}

// New returns the screen of a newly started terminal. Sizes below 1 count as 1.
// history bounds the lines that scrolled off, in bytes.
func New(cols, rows, history int) *Screen {
	s := &Screen{cols: max(1, cols), rows: max(1, rows), historyMax: history}
	s.reset()
	return s
}

// Size returns the number of columns and rows.
func (s *Screen) Size() (cols, rows int) { return s.cols, s.rows }

// Alternate reports whether the alternate screen is active, as in full-screen
// programs.
func (s *Screen) Alternate() bool { return s.g == &s.alt }

// reset restores the initial state, except for the history.
func (s *Screen) reset() {
	s.main, s.alt = newGrid(s.cols, s.rows), newGrid(s.cols, s.rows)
	s.g = &s.main
	s.modes, s.insert, s.newline, s.keypad, s.style, s.title, s.last = map[int]bool{}, false, false, false, 0, "", 0
	s.resetTabs()
}

func newGrid(cols, rows int) grid {
	g := grid{lines: make([]line, rows), bottom: rows - 1}
	for i := range g.lines {
		g.lines[i].cells = make([]cell, cols)
	}
	g.sets = [2]byte{'B', 'B'}
	g.saved = g.cursor
	return g
}

func (s *Screen) resetTabs() {
	s.tabs = make([]bool, s.cols)
	for i := 8; i < s.cols; i += 8 {
		s.tabs[i] = true
	}
}

// Resize changes the size of the screen as terminals do: lines that no longer
// fit above the cursor go to the history, and columns that no longer fit are
// lost. The margins are reset.
func (s *Screen) Resize(cols, rows int) {
	cols, rows = max(1, cols), max(1, rows)
	if cols == s.cols && rows == s.rows {
		return
	}
	for _, g := range []*grid{&s.main, &s.alt} {
		for len(g.lines) > rows && g.y < len(g.lines)-1 {
			g.lines = g.lines[:len(g.lines)-1]
		}
		for len(g.lines) > rows {
			if g == &s.main {
				s.appendToHistory(g)
			}
			g.lines = g.lines[1:]
			g.y--
		}
		for i := range g.lines {
			l := &g.lines[i]
			if cols < len(l.cells) {
				l.cells = slices.Clone(l.cells[:cols])
				l.wrapped = false
				s.clearHalfWide(l, cols-1)
			} else {
				l.cells = append(l.cells, make([]cell, cols-len(l.cells))...)
			}
		}
		for len(g.lines) < rows {
			g.lines = append(g.lines, line{cells: make([]cell, cols)})
		}
		g.top, g.bottom = 0, rows-1
		g.x, g.y, g.pending = min(g.x, cols-1), min(max(g.y, 0), rows-1), false
		g.saved.x, g.saved.y, g.saved.pending = min(g.saved.x, cols-1), min(g.saved.y, rows-1), false
	}
	s.cols, s.rows = cols, rows
	s.resetTabs()
}

// clearHalfWide clears the remaining half of a wide character at the edge x of a change.
func (s *Screen) clearHalfWide(l *line, x int) {
	if x < 0 || x >= len(l.cells) {
		return
	}
	c := l.cells[x]
	if c.r == wideTail && (x == 0 || width(l.cells[x-1].r) != 2) {
		l.cells[x] = cell{attr: c.attr}
	}
	if width(c.r) == 2 && (x+1 >= len(l.cells) || l.cells[x+1].r != wideTail) {
		l.cells[x] = cell{attr: c.attr}
	}
}

// put writes a character at the cursor.
func (s *Screen) put(r rune) {
	g := s.g
	if g.sets[g.shift] == '0' && r >= 0x5f && r <= 0x7e {
		r = drawing[r-0x5f]
	}
	w := width(r)
	if w == 0 {
		s.mark(r)
		return
	}
	if g.pending && s.wraps() {
		g.lines[g.y].wrapped = true
		g.x = 0
		s.lineFeed()
	}
	if w == 2 && g.x == s.cols-1 {
		if !s.wraps() || s.cols < 2 {
			return
		}
		g.lines[g.y].wrapped = true
		g.x = 0
		s.lineFeed()
	}
	g.pending = false
	l := &g.lines[g.y]
	if s.insert {
		s.shiftRight(w)
	}
	l.cells[g.x] = cell{r: r, attr: g.attr}
	if w == 2 {
		l.cells[g.x+1] = cell{r: wideTail, attr: g.attr}
	}
	s.clearHalfWide(l, g.x-1)
	s.clearHalfWide(l, g.x+w)
	s.last = r
	if g.x += w; g.x >= s.cols {
		g.x, g.pending = s.cols-1, true
	}
}

// maxMarks bounds the combining characters of one cell, in bytes.
const maxMarks = 32

// mark adds a combining character to the character before the cursor.
func (s *Screen) mark(r rune) {
	x := s.g.x - 1
	if s.g.pending {
		x = s.g.x
	}
	cells := s.g.lines[s.g.y].cells
	if x > 0 && cells[x].r == wideTail {
		x--
	}
	if x >= 0 && cells[x].r > 0 && len(cells[x].marks) < maxMarks {
		cells[x].marks += string(r)
	}
}

// lineFeed moves the cursor down a line, and scrolls at the bottom margin.
func (s *Screen) lineFeed() {
	g := s.g
	g.pending = false
	switch {
	case g.y == g.bottom:
		s.scrollUp(g.top, 1)
	case g.y < s.rows-1:
		g.y++
	}
}

// reverseLineFeed moves the cursor up a line, and scrolls at the top margin.
func (s *Screen) reverseLineFeed() {
	g := s.g
	g.pending = false
	switch {
	case g.y == g.top:
		s.scrollDown(g.top, 1)
	case g.y > 0:
		g.y--
	}
}

// blank returns an empty line in the cursor's background color.
func (s *Screen) blank() line {
	l := line{cells: make([]cell, s.cols)}
	s.erase(l.cells)
	return l
}

func (s *Screen) erase(cells []cell) {
	for i := range cells {
		cells[i] = cell{attr: attr{bg: s.g.bg}}
	}
}

// scrollUp scrolls the lines from from to the bottom margin up. Lines that
// leave the top of the main screen go to the history.
func (s *Screen) scrollUp(from, n int) {
	g := s.g
	n = min(n, g.bottom-from+1)
	for range n {
		if from == 0 && g == &s.main {
			s.appendToHistory(g)
		}
		copy(g.lines[from:g.bottom], g.lines[from+1:g.bottom+1])
		g.lines[g.bottom] = s.blank()
	}
}

// scrollDown scrolls the lines from from to the bottom margin down.
func (s *Screen) scrollDown(from, n int) {
	g := s.g
	n = min(n, g.bottom-from+1)
	for range n {
		copy(g.lines[from+1:g.bottom+1], g.lines[from:g.bottom])
		g.lines[from] = s.blank()
	}
}

// shiftRight inserts n blank cells at the cursor.
func (s *Screen) shiftRight(n int) {
	l := &s.g.lines[s.g.y]
	x := s.g.x
	n = min(n, s.cols-x)
	copy(l.cells[x+n:], l.cells[x:s.cols-n])
	s.erase(l.cells[x : x+n])
	s.clearHalfWide(l, x-1)
	s.clearHalfWide(l, x+n)
	s.clearHalfWide(l, s.cols-1)
}

// shiftLeft deletes n cells at the cursor.
func (s *Screen) shiftLeft(n int) {
	l := &s.g.lines[s.g.y]
	x := s.g.x
	n = min(n, s.cols-x)
	copy(l.cells[x:], l.cells[x+n:])
	s.erase(l.cells[s.cols-n:])
	s.clearHalfWide(l, x-1)
	s.clearHalfWide(l, x)
	l.wrapped = false
}

// clear empties the cells of a row in [a, b).
func (s *Screen) clear(y, a, b int) {
	l := &s.g.lines[y]
	s.erase(l.cells[a:b])
	s.clearHalfWide(l, a-1)
	s.clearHalfWide(l, b)
	if b == s.cols {
		l.wrapped = false
	}
}

// moveTo moves the cursor to a position, limited to the screen.
func (s *Screen) moveTo(x, y int) {
	s.g.x, s.g.y, s.g.pending = min(max(x, 0), s.cols-1), min(max(y, 0), s.rows-1), false
}

// wraps reports whether text continues in the next line.
func (s *Screen) wraps() bool {
	on, set := s.modes[7]
	return on || !set
}
