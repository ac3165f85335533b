package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const mit = `MIT License

Copyright (c) 2020 Example Authors

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
`

func TestComponent(t *testing.T) {
	c := component{name: "example.com/a", version: "v1.0.0", dir: t.TempDir()}
	if err := c.read(); err == nil {
		t.Error("a component without a license is accepted")
	}
	for name, content := range map[string]string{"LICENSE": mit, "license.go": "package a", "NOTICE": "A notice."} {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.read(); err != nil || c.licenses() != "MIT" || len(c.texts) != 2 {
		t.Errorf("%v %s %d", err, c.licenses(), len(c.texts))
	}
	copyright, body := split(mit)
	if !slices.Equal(copyright, []string{"Copyright (c) 2020 Example Authors"}) || !strings.HasPrefix(body, "Permission") {
		t.Errorf("%q %.40q", copyright, body)
	}
}

// TestEqualTexts requires that a license of two components is printed once.
func TestEqualTexts(t *testing.T) {
	var out strings.Builder
	a := component{name: "a", version: "v1", texts: []text{{"MIT", mit}}}
	b := component{name: "b", version: "v2", texts: []text{{"MIT", strings.Replace(mit, "Example Authors", "Others", 1)}}}
	if err := print(&out, []component{a, b}); err != nil {
		t.Fatal(err)
	}
	if strings.Count(out.String(), "Permission is hereby") != 1 || !strings.Contains(out.String(), "b\n  Copyright (c) 2020 Others\n") {
		t.Error(out.String())
	}
}
