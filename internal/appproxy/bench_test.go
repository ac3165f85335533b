package appproxy_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
)

// BenchmarkRequests sends small requests through Go's plain reverse proxy, and
// through a whole server to the app of a workspace, by 16 clients at once.
func BenchmarkRequests(b *testing.B) {
	p := newPlace(b, nil)
	p.app.page("/page", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 1024))
	})
	to, err := url.Parse(p.app.URL)
	must(b, err)
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.Transport = &http.Transport{MaxIdleConnsPerHost: 64} // or it would dial for most requests
	plain := httptest.NewServer(proxy)
	defer plain.Close()
	get := func(b *testing.B, at string, cookies []*http.Cookie) {
		tr := &http.Transport{MaxIdleConnsPerHost: 64}
		defer tr.CloseIdleConnections()
		b.SetParallelism(8) // times the processors
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				r, err := http.NewRequest("GET", at+"/page", nil)
				must(b, err)
				if cookies != nil {
					r.Host = p.host("open")
					for _, c := range cookies {
						r.AddCookie(c)
					}
				}
				resp, err := tr.RoundTrip(r)
				must(b, err)
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if resp.StatusCode != 200 {
					b.Fatal(resp.Status)
				}
			}
		})
	}
	b.Run("plain", func(b *testing.B) { get(b, plain.URL, nil) })
	b.Run("app", func(b *testing.B) {
		first := p.browser("").ask("GET", p.on("open", "/page"), "")
		get(b, p.AccessURL().String(), first.Cookies())
	})
}
