package vt

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// shown returns the text of the screen, without the empty ends of lines.
func shown(s *Screen) string {
	var b strings.Builder
	for _, l := range s.g.lines {
		text := ""
		for _, c := range l.cells {
			switch {
			case c.r == 0:
				text += " "
			case c.r != wideTail:
				text += string(c.r) + c.marks
			}
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

func TestWhatProgramsWrite(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"lines":                   {"one\r\ntwo\nthree", "one\ntwo\n   three"},
		"wrapping":                {"0123456789ab", "0123456789\nab"},
		"a full line waits":       {"0123456789\r\nab", "0123456789\nab"},
		"no wrapping":             {"\x1b[?7l0123456789ab", "012345678b"},
		"scrolling":               {"1\r\n2\r\n3\r\n4\r\n5\r\n6", "2\n3\n4\n5\n6"},
		"margins":                 {"1\r\n2\r\n3\r\n4\r\n5\x1b[2;3r\x1b[3H\n\nx", "1\n\nx\n4\n5"},
		"reverse line feed":       {"1\r\n2\x1b[H\x1bMx", "x\n1\n2"},
		"cursor":                  {"\x1b[3;4Hx\x1b[A\x1b[2Dy\x1b[By\x1b[5Gz", "\n  y\n   yz"},
		"erase line":              {"abcdef\x1b[3D\x1b[K", "abc"},
		"erase before":            {"abcdef\x1b[3D\x1b[1K", "    ef"},
		"erase below":             {"a\r\nb\r\nc\x1b[2;1H\x1b[J", "a"},
		"erase above":             {"a\r\nb\r\nc\x1b[2;1H\x1b[1J", "\n\nc"},
		"insert and delete":       {"abcdef\x1b[3G\x1b[2@\x1b[6G\x1b[P", "ab  cef"},
		"insert mode":             {"abc\r\x1b[4hxy", "xyabc"},
		"insert lines":            {"a\r\nb\r\nc\x1b[2;1H\x1b[2L", "a\n\n\nb\nc"},
		"delete lines":            {"a\r\nb\r\nc\x1b[1;1H\x1b[2M", "c"},
		"tabulators":              {"\x1b[4G\x1bH\r\tx\ty", "   x    y"},
		"erase characters":        {"abcdef\x1b[2G\x1b[3X", "a   ef"},
		"repeat":                  {"ab\x1b[3b", "abbbb"},
		"wide":                    {"日本\bx", "日 x"},
		"wide at the edge":        {"012345678日", "012345678\n日"},
		"half of a wide one":      {"日本\r x", " x本"},
		"combining":               {"e\u0301x", "e\u0301x"},
		"broken characters":       {"a\xffb\xe6\x97c", "a\ufffdb\ufffdc"},
		"pieces of a character":   {"\xe6\x97\xa5", "日"},
		"line drawing":            {"\x1b(0lqk\x1b(Bq\x0e\x1b)0x\x0fx", "┌─┐q│x"},
		"the alternate screen":    {"main\x1b[?1049halt", "    alt"},
		"and back":                {"main\x1b[?1049halt\x1b[?1049l!", "main!"},
		"title and strings":       {"a\x1b]0;title\x07b\x1bPq#0~\x1b\\c\x1b]8;;http://x\x1b\\d", "abcd"},
		"broken sequences":        {"a\x1b[12\x18b\x1b[999999999999999;1H\x1b[38m\x1b[38;5mc", "ab\n\n\n\nc"},
		"a control in a sequence": {"ab\x1b[\r1Cx", "ax"},
		"reset":                   {"abc\x1b[?7l\x1bcx", "x"},
		"save and restore":        {"ab\x1b7\x1b[5;5Hx\x1b8c", "abc\n\n\n\n    x"},
		"origin":                  {"\x1b[2;4r\x1b[?6h\x1b[Hx\x1b[9;9Hy", "\nx\n\n        y"},
		"alignment":               {"\x1b#8\x1b[2;1H\x1b[J", "EEEEEEEEEE"},
	} {
		t.Run(name, func(t *testing.T) {
			for piece := range 3 {
				s := New(10, 5, 1000)
				in := []byte(tc.in)
				for len(in) > 0 {
					n := min(len(in), 1+piece*100)
					s.Write(in[:n])
					in = in[n:]
				}
				if got := shown(s); got != tc.want {
					t.Fatalf("got\n%s\nwant\n%s", got, tc.want)
				}
			}
		})
	}
}

func TestHistory(t *testing.T) {
	s := New(10, 2, 400)
	s.Write([]byte("\x1b[31mred\x1b[m\r\n0123456789wrapped\r\nlast\r\n"))
	fresh := New(10, 2, 1000)
	fresh.Write(s.Paint())
	want := "\x1b[0;31mred\x1b[0m\r\n0123456789wrapped\r\n"
	if got := string(fresh.appendHistory(nil)); got != want || len(fresh.history) != 3 {
		t.Errorf("%q, want %q", got, want)
	}
	for range 1000 {
		s.Write([]byte("x\r\n"))
	}
	if s.historyBytes > 400 || len(s.history) != 400/(1+pastOverhead) {
		t.Errorf("%d bytes in %d lines", s.historyBytes, len(s.history))
	}
	s.Write([]byte("\x1b[3J"))
	if len(s.history) != 0 {
		t.Error("history that was erased is there")
	}
	// A full-screen program makes no history.
	s.Write([]byte("\x1b[?1049h" + strings.Repeat("y\r\n", 100)))
	if len(s.history) != 0 {
		t.Error("lines of the alternate screen are history")
	}
}

func TestResize(t *testing.T) {
	s := New(10, 4, 1000)
	s.Write([]byte("1\r\n2\r\n3\r\n4"))
	s.Resize(5, 2)
	if got := shown(s); got != "3\n4" || len(s.history) != 2 {
		t.Errorf("%q, %d lines of history", got, len(s.history))
	}
	s.Write([]byte("x\r\ny日日日"))
	s.Resize(4, 6)
	if cols, rows := s.Size(); cols != 4 || rows != 6 {
		t.Errorf("%dx%d", cols, rows)
	}
	s.Write([]byte("\x1b[6;4Hz"))
	if got := shown(s); got != "y日\n日\n\n\n\n   z" {
		t.Errorf("%q", got)
	}
	s.Resize(0, -1)
	s.Write([]byte("ab\t日"))
}

// same states in what two terminals differ to the eye, and in what they do next.
func same(a, b *Screen) string {
	for i, ga := range []*grid{&a.main, &a.alt} {
		gb := []*grid{&b.main, &b.alt}[i]
		if !a.Alternate() && i == 1 {
			break
		}
		for y := range ga.lines {
			for x, c := range ga.lines[y].cells {
				d := gb.lines[y].cells[x]
				for _, e := range []*cell{&c, &d} {
					if e.r == 0 {
						e.r = ' '
					}
				}
				if c != d {
					return fmt.Sprintf("row %d column %d of screen %d: %+v and %+v", y, x, i, c, d)
				}
			}
		}
	}
	switch {
	case a.g.cursor != b.g.cursor:
		return fmt.Sprintf("cursor %+v and %+v", a.g.cursor, b.g.cursor)
	case a.g.saved.x != b.g.saved.x || a.g.saved.y != b.g.saved.y || a.g.saved.attr != b.g.saved.attr:
		return fmt.Sprintf("saved cursor %+v and %+v", a.g.saved, b.g.saved)
	case a.Alternate() != b.Alternate(), a.g.top != b.g.top, a.g.bottom != b.g.bottom:
		return "screen or margins"
	case !bytes.Equal(a.appendModes(nil), b.appendModes(nil)):
		return fmt.Sprintf("modes %q and %q", a.appendModes(nil), b.appendModes(nil))
	case !bytes.Equal(a.appendHistory(nil), b.appendHistory(nil)):
		return fmt.Sprintf("history\n%q\nand\n%q", a.appendHistory(nil), b.appendHistory(nil))
	}
	return ""
}

// pieces are what programs are made of, for tests that put them together at
// random.
func pieces() []string {
	p := []string{"\r\n", "\n", "\r", "\b", "\t", "abc", "hello world ", "日本", "e\u0301", "x", "\x1b7", "\x1b8", "\x1bM", "\x1bD", "\x1bE", "\x1bH",
		"\x1b(0", "\x1b(B", "\x0e", "\x0f", "\x1b=", "\x1b>", "\x1b]0;t\x07", "\x1bc", "\x1b[!p", "0123456789012345678901234567890"}
	for _, m := range []int{1, 6, 7, 12, 25, 47, 1000, 1006, 1049, 2004} {
		p = append(p, fmt.Sprintf("\x1b[?%dh", m), fmt.Sprintf("\x1b[?%dl", m))
	}
	for _, f := range "@ABCDEFGHIJKLMPSTXZbdfgr" {
		p = append(p, "\x1b["+string(f), "\x1b[2"+string(f), "\x1b[3;7"+string(f))
	}
	for _, c := range []string{"", "1", "31;44", "38;5;200", "48;2;1;2;3", "38:2::9:8:7", "7;22;4", "0;97", "4:3", "39;49", "107"} {
		p = append(p, "\x1b["+c+"m")
	}
	return p
}

// Whatever was written, a fresh terminal that is painted on is like the one
// that saw all of it.
func TestPaintBringsBackEverything(t *testing.T) {
	all := pieces()
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := New(5+r.IntN(30), 2+r.IntN(12), r.IntN(2)*500)
		var in []byte
		for range r.IntN(60) {
			in = append(in, all[r.IntN(len(all))]...)
		}
		s.Write(in)
		fresh := New(s.cols, s.rows, s.historyMax)
		fresh.Write([]byte("\x1b[?1049hgarbage\x1b[3;4r\x1b[31m"))
		fresh.Write(s.Paint())
		if d := same(s, fresh); d != "" {
			t.Fatalf("seed %d: after %q of %dx%d: %s", seed, in, s.cols, s.rows, d)
		}
	}
}

func FuzzScreen(f *testing.F) {
	for _, p := range pieces() {
		f.Add([]byte(p+"a"+p), 20, 5)
	}
	f.Fuzz(func(t *testing.T, in []byte, cols, rows int) {
		cols, rows = 1+(cols&63), 1+(rows&31)
		s := New(cols, rows, 300)
		s.Write(in)
		fresh := New(cols, rows, 300)
		fresh.Write(s.Paint())
		if shown(s) != shown(fresh) || s.Alternate() != fresh.Alternate() {
			t.Errorf("text\n%s\nand\n%s", shown(s), shown(fresh))
		}
		s.Resize(rows, cols)
		s.Write(in)
	})
}

// tmux is another terminal: what it shows of the same bytes is the same.
func TestLikeTmux(t *testing.T) {
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("tmux is not installed")
	}
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
		defer cancel()
		cmd := exec.CommandContext(ctx, tmux, append([]string{"-S", filepath.Join(dir, "s"), "-f", "/dev/null"}, args...)...)
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TERM=xterm-256color")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Skipf("tmux %v: %v %s", args, err, out)
		}
		return string(out)
	}
	const cols, rows = 30, 10
	run("new-session", "-d", "-x", fmt.Sprint(cols), "-y", fmt.Sprint(rows), "-s", "main", "cat")
	defer run("kill-server")
	run("set-option", "-g", "status", "off")
	run("set-option", "-g", "remain-on-exit", "on")
	all := pieces()
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 7))
		var in []byte
		for range 40 {
			p := all[r.IntN(len(all))]
			if strings.Contains(p, "e\u0301") || strings.HasSuffix(p, "I") || strings.HasPrefix(p, "\x1b[?47") {
				continue // tmux has its own ideas of these
			}
			in = append(in, p...)
		}
		file, done := filepath.Join(dir, fmt.Sprint(seed)), fmt.Sprintf("done-%d", seed)
		if err := os.WriteFile(file, in, 0o600); err != nil {
			t.Fatal(err)
		}
		run("respawn-pane", "-k", "-t", "main", fmt.Sprintf("stty raw -echo; cat %s; %s -S %s wait-for -S %s; exec sleep 100", file, tmux, filepath.Join(dir, "s"), done))
		run("wait-for", done)
		// Output from before the signal may be read after it.
		s := New(cols, rows, 0)
		s.Write(in)
		want := shown(s)
		var got string
		for range 50 {
			got = strings.TrimRight(run("capture-pane", "-p", "-t", "main"), "\n ")
			if got == want {
				break
			}
		}
		if got != want {
			t.Errorf("seed %d: %q\ntmux shows\n%s\nwe\n%s", seed, in, got, want)
		}
	}
}
