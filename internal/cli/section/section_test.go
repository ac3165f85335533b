package section

import "testing"

func TestSections(t *testing.T) {
	const b, e = "# begin", "# end"
	for _, c := range []struct{ name, text, content, want string }{
		{"new file", "", "x\n", "# begin\nx\n# end\n"},
		{"added", "Host a\n", "x\n", "Host a\n\n# begin\nx\n# end\n"},
		{"replaced", "Host a\n\n# begin\nold\n# end\nHost b\n", "x\n", "Host a\n\n# begin\nx\n# end\nHost b\n"},
		{"removed", "Host a\n\n# begin\nold\n# end\nHost b\n", "", "Host a\nHost b\n"},
	} {
		got, err := Replace(c.text, b, e, c.content)
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
	for _, text := range []string{"# begin\n", "# end\n", "# end\n# begin\n", "# begin\n# begin\n# end\n"} {
		if got, err := Replace(text, b, e, "x"); err == nil {
			t.Errorf("%q became %q", text, got)
		}
	}
}
