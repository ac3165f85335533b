package listen_test

import (
	"net/http/httptest"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/listen"
)

func TestClientIP(t *testing.T) {
	a, err := listen.NewClients([]string{"X-Forwarded-For"}, []string{"10.0.0.0/8", "172.16.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ remote, said, want string }{
		{"10.1.2.3:99", "192.0.2.7, 10.9.9.9", "192.0.2.7"},
		{"10.1.2.3:99", "198.51.100.1, 192.0.2.7", "192.0.2.7"},
		{"192.0.2.1:99", "192.0.2.7", "192.0.2.1"},
		{"10.1.2.3:99", "nonsense", "10.1.2.3"},
		{"172.16.0.1:99", "192.0.2.7", "192.0.2.7"},
		{"172.16.0.2:99", "192.0.2.7", "172.16.0.2"},
		{"[::ffff:192.0.2.1]:99", "", "192.0.2.1"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.remote
		r.Header.Set("X-Forwarded-For", c.said)
		if got := a.IP(r).String(); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	if _, err := listen.NewClients(nil, []string{"10.0.0.0/33"}); err == nil {
		t.Error("a network that is none is taken")
	}
}
