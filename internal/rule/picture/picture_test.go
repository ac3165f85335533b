package picture

import (
	"encoding/base64"
	"net/url"
	"testing"
)

func TestIsSafe(t *testing.T) {
	plain := `<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0h1"/></svg>`
	hidden := `<svg><script>alert(1)</script></svg>`
	base := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	for rest, safe := range map[string]bool{
		"image/png;base64,iVBORw0KGgo=": true, "IMAGE/SVG+XML;charset=utf-8;base64," + base(plain): true,
		"image/svg+xml," + url.PathEscape(plain): true, "image/svg+xml;base64," + url.QueryEscape(base(plain)): true,
		"image/svg+xml;base64," + base(hidden): false, "image/svg+xml," + url.PathEscape(hidden): false,
		"image/svg+xml;base64,%%%": false, "image/svg+xml;base64,!": false, "image/png": false, "text/html,x": false, "": false,
	} {
		if got := IsSafe(rest); got != safe {
			t.Errorf("%q: %v", rest, got)
		}
	}
}
