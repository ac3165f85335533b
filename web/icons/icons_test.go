package icons_test

import (
	"bytes"
	"encoding/json"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/web/icons"
)

// open returns the built set; without one there is nothing to test.
func open(t *testing.T) *icons.Set {
	t.Helper()
	s, err := icons.Open()
	if err != nil {
		t.Fatal(err)
	}
	if s.Len() == 0 {
		t.Skip("the icons are not built: run make web/icons/dist/index.json.gz")
	}
	return s
}

func get(t *testing.T, h http.Handler, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := b.ReadFrom(r.Body); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestIcons requires a picture for each name that public templates use.
func TestIcons(t *testing.T) {
	s := open(t)
	list, err := os.ReadFile("../../api/contract/icons.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for name := range strings.Lines(string(list)) {
		name = strings.TrimSpace(name)
		if name == "" || strings.HasPrefix(name, "#") {
			continue
		}
		n++
		r := get(t, s, "/icon/"+name)
		b := body(t, r)
		if r.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", name, r.StatusCode, b)
			continue
		}
		want, start := "image/svg+xml", []byte("<svg ")
		if strings.HasSuffix(name, ".png") {
			want, start = "image/png", []byte("\x89PNG")
		}
		if r.Header.Get("Content-Type") != want || !bytes.HasPrefix(b, start) {
			t.Errorf("%s: is %s and begins with %q", name, r.Header.Get("Content-Type"), b[:min(8, len(b))])
		}
	}
	if n < 100 {
		t.Errorf("only %d names were read", n)
	}
}

// TestEmoji requires a picture for every emoji of Unicode, with and without the
// selector fe0f.
func TestEmoji(t *testing.T) {
	s := open(t)
	data, err := os.ReadFile("node_modules/emojibase-data/en/data.json")
	if err != nil {
		t.Skip("the list of emoji is not installed: run npm ci in web/icons")
	}
	type emoji struct {
		Emoji, Hexcode, Label string
		Skins                 []emoji
	}
	var all []emoji
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		all = append(all, e.Skins...)
	}
	if len(all) < 3900 {
		t.Errorf("the list has only %d emoji", len(all))
	}
	for _, e := range all {
		full := strings.ToLower(e.Hexcode)
		for _, points := range []string{full, strings.ReplaceAll(full, "-fe0f", ""), e.Hexcode, strings.TrimLeft(full, "0")} {
			r := get(t, s, "/emojis/"+points+".png")
			if r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != "image/png" {
				t.Errorf("%s, %s: %d %s", e.Label, points, r.StatusCode, r.Header.Get("Content-Type"))
			}
		}
		if _, err := png.DecodeConfig(get(t, s, "/emojis/"+full+".png").Body); err != nil {
			t.Errorf("%s: %v", e.Label, err)
		}
	}
}

func TestCachingAndEncodings(t *testing.T) {
	s := open(t)
	for _, path := range []string{"/icon/docker.svg", "/emojis/1f680.png", "/icons.json", "/icon/LICENSES.txt"} {
		r := get(t, s, path)
		if r.StatusCode != http.StatusOK || !strings.Contains(r.Header.Get("Cache-Control"), "max-age=604800") {
			t.Errorf("%s: %d, Cache-Control %q", path, r.StatusCode, r.Header.Get("Cache-Control"))
		}
		plain := body(t, r)
		packed := get(t, s, path, "Accept-Encoding", "gzip, br")
		if zipped := packed.Header.Get("Content-Encoding") == "gzip"; zipped != (path != "/emojis/1f680.png") {
			t.Errorf("%s: packed is %v", path, zipped)
		} else if zipped && len(body(t, packed)) >= len(plain) {
			t.Errorf("%s is larger when packed", path)
		}
		if again := get(t, s, path, "If-None-Match", r.Header.Get("ETag")); again.StatusCode != http.StatusNotModified || len(body(t, again)) > 0 {
			t.Errorf("%s: %d when it is known already", path, again.StatusCode)
		}
		if other := get(t, s, path, "If-None-Match", `"x"`); other.StatusCode != http.StatusOK {
			t.Errorf("%s: %d when another is known", path, other.StatusCode)
		}
	}
}

// TestList requires that everything the picker shows can be loaded.
func TestList(t *testing.T) {
	s := open(t)
	var list struct{ Icons, Emojis []struct{ Path, Name string } }
	if err := json.Unmarshal(body(t, get(t, s, icons.ListPath)), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Icons) < 200 || len(list.Emojis) < 1900 {
		t.Errorf("%d icons and %d emoji", len(list.Icons), len(list.Emojis))
	}
	for _, x := range append(list.Icons, list.Emojis...) {
		if r := get(t, s, x.Path); r.StatusCode != http.StatusOK || x.Name == "" {
			t.Errorf("%s, %q: %d", x.Path, x.Name, r.StatusCode)
		}
	}
}

func TestNotFound(t *testing.T) {
	s, err := icons.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/icon/", "/icon/none.svg", "/icon/docker", "/icon/../index.json", "/emojis/", "/emojis/1f680", "/emojis/1f680.svg", "/emojis/ffffff.png", "/emojis/fe0f.png"} {
		r := get(t, s, path)
		if r.StatusCode != http.StatusNotFound || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain") || r.Header.Get("Cache-Control") != "" {
			t.Errorf("%s: %d %s, Cache-Control %q", path, r.StatusCode, r.Header.Get("Content-Type"), r.Header.Get("Cache-Control"))
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/icon/docker.svg", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}
