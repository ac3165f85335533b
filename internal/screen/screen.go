// Package screen keeps what a terminal shows, so that somebody who comes later
// sees what those see who watched from the beginning.
//
// A Screen reads what programs write to a terminal and does what xterm would:
// it moves the cursor, writes cells with their colors, scrolls, switches to the
// alternate screen of full-screen programs and back. Paint then gives a short
// text that brings a fresh terminal of the same size to the same state: lines
// that scrolled away, the screen, the cursor, the modes of keyboard and mouse.
// Replaying old output instead would repeat questions that programs asked the
// terminal, begin in the middle of a sequence, and show a full-screen program
// without what it drew first. What is not understood is passed over. Memory is
// bounded: the size of the screen, and a history of so many bytes.
package screen

import "slices"

// attr is how a cell looks. Colors are 0 for the default, 1+n for color n of
// the palette, and rgb|0xrrggbb for others.
type attr struct {
	fg, bg uint32
	flags  uint16 // bit n is SGR n, 1 to 9; bit 10 double and bit 11 overline
}

const rgb = 1 << 24

// cell is one place of the screen. A wide character fills two: the second has
// r = wideTail.
type cell struct {
	r     rune   // 0 for nothing
	marks string // combining characters on it
	attr
}

const wideTail = -1

// line is a row; wrapped says that its text goes on in the next.
type line struct {
	cells   []cell
	wrapped bool
}

// cursor is where and how the next character is written.
type cursor struct {
	x, y int
	attr
	pending bool    // the last column was written: the next character wraps first
	origin  bool    // lines are counted from the top margin
	shift   int     // G0 or G1
	sets    [2]byte // what they are: '0' for line drawing, 'B' for ASCII
}

// grid is the main or the alternate screen.
type grid struct {
	lines []line
	cursor
	saved       cursor
	top, bottom int // margins, the last is in
}

// Screen is a terminal's state. It is not safe for concurrent use.
type Screen struct {
	cols, rows int
	main, alt  grid
	g          *grid // which of both is shown
	tabs       []bool
	modes      map[int]bool // of DEC, those that are not as at first
	insert     bool
	newline    bool // a line feed returns the carriage too
	keypad     bool // application keypad
	style      int  // of the cursor, 0 as at first
	title      string
	last       rune // for REP

	history      []past // lines that scrolled off, the oldest first
	historyBytes int
	historyMax   int

	parser
}

// New gives the screen of a terminal that was just switched on. Sizes below 1
// count as 1. history is how many bytes of lines that scrolled off are kept.
func New(cols, rows, history int) *Screen {
	s := &Screen{cols: max(1, cols), rows: max(1, rows), historyMax: history}
	s.reset()
	return s
}

// Size gives columns and rows.
func (s *Screen) Size() (cols, rows int) { return s.cols, s.rows }

// Alternate says whether a full-screen program has the terminal.
func (s *Screen) Alternate() bool { return s.g == &s.alt }

// reset brings back what was at first, but for the history.
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

// Resize gives the screen another size, as terminals do: what no longer fits
// above the cursor goes to the history, what no longer fits at the right is
// lost. Margins are those of the whole screen again.
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
				s.keep(g)
			}
			g.lines = g.lines[1:]
			g.y--
		}
		for i := range g.lines {
			l := &g.lines[i]
			if cols < len(l.cells) {
				l.cells = slices.Clone(l.cells[:cols])
				l.wrapped = false
				s.mend(l, cols-1)
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

// mend removes a half of a wide character at the edge x of what was changed.
func (s *Screen) mend(l *line, x int) {
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
		s.feed()
	}
	if w == 2 && g.x == s.cols-1 {
		if !s.wraps() || s.cols < 2 {
			return
		}
		g.lines[g.y].wrapped = true
		g.x = 0
		s.feed()
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
	s.mend(l, g.x-1)
	s.mend(l, g.x+w)
	s.last = r
	if g.x += w; g.x >= s.cols {
		g.x, g.pending = s.cols-1, true
	}
}

// maxMarks bounds the combining characters of one cell, in bytes.
const maxMarks = 32

// mark puts a combining character on the one before the cursor.
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

// feed goes down a line, and scrolls at the bottom margin.
func (s *Screen) feed() {
	g := s.g
	g.pending = false
	switch {
	case g.y == g.bottom:
		s.scrollUp(g.top, 1)
	case g.y < s.rows-1:
		g.y++
	}
}

// reverse goes up a line, and scrolls at the top margin.
func (s *Screen) reverse() {
	g := s.g
	g.pending = false
	switch {
	case g.y == g.top:
		s.scrollDown(g.top, 1)
	case g.y > 0:
		g.y--
	}
}

// blank gives an empty line in the color of the cursor's ground.
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

// scrollUp moves the lines from there to the bottom margin up; those that leave
// a main screen at its top are history.
func (s *Screen) scrollUp(from, n int) {
	g := s.g
	n = min(n, g.bottom-from+1)
	for range n {
		if from == 0 && g == &s.main {
			s.keep(g)
		}
		copy(g.lines[from:g.bottom], g.lines[from+1:g.bottom+1])
		g.lines[g.bottom] = s.blank()
	}
}

// scrollDown moves the lines from there to the bottom margin down.
func (s *Screen) scrollDown(from, n int) {
	g := s.g
	n = min(n, g.bottom-from+1)
	for range n {
		copy(g.lines[from+1:g.bottom+1], g.lines[from:g.bottom])
		g.lines[from] = s.blank()
	}
}

// shiftRight makes room for n cells at the cursor.
func (s *Screen) shiftRight(n int) {
	l := &s.g.lines[s.g.y]
	x := s.g.x
	n = min(n, s.cols-x)
	copy(l.cells[x+n:], l.cells[x:s.cols-n])
	s.erase(l.cells[x : x+n])
	s.mend(l, x-1)
	s.mend(l, x+n)
	s.mend(l, s.cols-1)
}

// shiftLeft takes n cells out at the cursor.
func (s *Screen) shiftLeft(n int) {
	l := &s.g.lines[s.g.y]
	x := s.g.x
	n = min(n, s.cols-x)
	copy(l.cells[x:], l.cells[x+n:])
	s.erase(l.cells[s.cols-n:])
	s.mend(l, x-1)
	s.mend(l, x)
	l.wrapped = false
}

// clear empties cells of a row from column a up to, not with, b.
func (s *Screen) clear(y, a, b int) {
	l := &s.g.lines[y]
	s.erase(l.cells[a:b])
	s.mend(l, a-1)
	s.mend(l, b)
	if b == s.cols {
		l.wrapped = false
	}
}

// moveTo puts the cursor at a place of the screen, within its bounds.
func (s *Screen) moveTo(x, y int) {
	s.g.x, s.g.y, s.g.pending = min(max(x, 0), s.cols-1), min(max(y, 0), s.rows-1), false
}

// wraps says whether text goes on in the next line.
func (s *Screen) wraps() bool {
	on, set := s.modes[7]
	return on || !set
}
