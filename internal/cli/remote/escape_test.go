package remote

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestEscapes(t *testing.T) {
	for _, c := range []struct {
		typed, sent string
		dead, quit  bool
	}{
		{typed: "ls\n", sent: "ls\n"}, {typed: "~.", quit: true}, {typed: "ls\r~.more", sent: "ls\r", quit: true},
		{typed: "a~.b", sent: "a~.b"}, {typed: "~~.", sent: "~."}, {typed: "~x~.", sent: "~x~."}, {typed: "~", sent: "~"},
		{typed: "\x03a", sent: "\x03a"}, {typed: "a\x03b", sent: "a", dead: true, quit: true}, {typed: "~\r~.", sent: "~\r", quit: true},
	} {
		for name, in := range map[string]io.Reader{"at once": strings.NewReader(c.typed), "byte by byte": iotest.OneByteReader(strings.NewReader(c.typed))} {
			quit, told := false, 0
			e := &escapes{in: in, interrupted: func() bool { return c.dead }, told: func() { told++ }, quit: func() { quit = true }}
			var got bytes.Buffer
			_, err := io.Copy(&got, e)
			if quit != c.quit || c.quit != errors.Is(err, errEscaped) {
				t.Errorf("%q %s: quit %v, %v", c.typed, name, quit, err)
			}
			if want := c.sent; name == "byte by byte" && got.String() != want || !strings.HasPrefix(want, got.String()) {
				t.Errorf("%q %s: %q went on, not %q", c.typed, name, got.String(), want)
			}
			if c.dead && told != 1 {
				t.Errorf("%q: told %d times", c.typed, told)
			}
		}
	}
}
