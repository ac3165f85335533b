package terminal

import (
	"strings"
	"testing"
)

func TestFilter(t *testing.T) {
	for in, want := range map[string]string{
		"plain äöü 🙂\n\tline\r\n":            "plain äöü 🙂\n\tline\r\n",
		"\x1b[1;31mred\x1b[0m \x1b[38:5:1mx": "\x1b[1;31mred\x1b[0m \x1b[38:5:1mx",
		"a\x1b[2Jb\x1b[10;10Hc\x1b[?25ld":    "abcd",
		"\x1b]0;title\x07x":                  "x",
		"\x1b]52;c;ZXZpbA==\x1b\\x":          "x",
		"\x1bP$q\"p\x1b\\x\x1b_y\x1b\\":      "x",
		"\x1b]8;;https://evil\x07link":       "link",
		"\x1b]0;never ends\nnext":            "\nnext",
		"a\x1bcb\x1b(Bc\x1b7d":               "abcd",
		"over\rwrite\b\b\x07\x7f\v":          "overwrite",
		"c1\u009b2J\u0085x":                  "c12Jx",
		"user\u202egpj.exe\u2066x":           "usergpj.exex",
		"\x1b[" + strings.Repeat("1;", 50):   "", // only the bound matters
		"end\x1b":                            "end",
		"\x1b[31":                            "",
		"\xff\xfe":                           "\uFFFD\uFFFD",
	} {
		if strings.HasPrefix(in, "\x1b[1;1;") { // a sequence that is too long goes on as text: only the bound matters
			if got := Clean(in); len(got) >= len(in) {
				t.Errorf("%q became %q", in, got)
			}
			continue
		}
		if got := Clean(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
		var b strings.Builder
		f := NewFilter(&b)
		for i := range len(in) { // byte by byte
			if n, err := f.Write([]byte(in[i : i+1])); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
		if got := b.String(); got != want {
			t.Errorf("%q came byte by byte and became %q, want %q", in, got, want)
		}
	}
	var b strings.Builder
	NewRedrawFilter(&b).Write([]byte("\r\x1b[Kx\x1b[2J")) //nolint:errcheck // a Builder takes everything
	if b.String() != "\r\x1b[Kx" {
		t.Errorf("a spinner became %q", b.String())
	}
}

// FuzzFilter checks that nothing but colors ever goes through.
func FuzzFilter(f *testing.F) {
	f.Add("a\x1b[31mb\x1b[2J\x1b]0;x\x07", 3)
	f.Fuzz(func(t *testing.T, s string, cut int) {
		var b strings.Builder
		w := NewFilter(&b)
		cut = min(max(cut, 0), len(s))
		w.Write([]byte(s[:cut])) //nolint:errcheck // a Builder takes everything
		w.Write([]byte(s[cut:])) //nolint:errcheck // a Builder takes everything
		if cut == 0 && strings.ToValidUTF8(s, "") == s && b.String() != Clean(s) && !strings.HasSuffix(s, "\r") {
			t.Errorf("%q became %q and %q", s, b.String(), Clean(s))
		}
		rest := b.String()
		for {
			_, after, found := strings.Cut(rest, "\x1b")
			if !found {
				return
			}
			if end := strings.IndexByte(after, 'm'); end < 1 || strings.Trim(after[1:end], "0123456789;:") != "" || after[0] != '[' {
				t.Fatalf("%q let through %q", s, after)
			}
			rest = after
		}
	})
}
