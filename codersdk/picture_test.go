package codersdk

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"
)

func TestCheckIcon(t *testing.T) {
	svg := func(s string) string {
		return "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(s))
	}
	plain := `<svg xmlns="http://www.w3.org/2000/svg"><defs><circle id="c" r="4"/></defs><use href="#c"/></svg>`
	for icon, ok := range map[string]bool{
		"": true, "/icon/go.svg": true, "/emojis/1f600.png": true, "https://example.com/x.png": true,
		"data:image/png;base64,iVBORw0KGgo=": true, svg(plain): true, "data:image/svg+xml," + url.PathEscape(plain): true,
		"http://example.com/x.png": false, "//example.com/x.png": false, `/\example.com/x.png`: false, "javascript:alert(1)": false, "x.png": false,
		"data:text/html,<script>1</script>": false, "data:image/svg+xml,nonsense<": false, "file:///etc/passwd": false, "https:/x": false, "/a\nb": false,
		svg(`<svg><script>alert(1)</script></svg>`): false, svg(`<svg onload="alert(1)"/>`): false, svg(`<svg><a href="javascript:alert(1)"/></svg>`): false,
		svg(`<svg><foreignObject/></svg>`): false, svg(`<!DOCTYPE svg [<!ENTITY x "y">]><svg/>`): false, svg(`<svg><use href="https://evil"/></svg>`): false,
		"/" + strings.Repeat("x", 2048): false,
	} {
		if err := CheckIcon("icon", icon); (err == nil) != ok {
			t.Errorf("%.80q: %v", icon, err)
		}
	}
}

func TestCheckLink(t *testing.T) {
	for target, ok := range map[string]bool{
		"https://example.com/help": true, "http://wiki/help": true, "mailto:help@example.com": true, "/deployment": true,
		"javascript:alert(1)": false, "data:text/html,x": false, "//evil": false, "": false, "help": false,
	} {
		if err := CheckLink("target", target); (err == nil) != ok {
			t.Errorf("%q: %v", target, err)
		}
	}
}
