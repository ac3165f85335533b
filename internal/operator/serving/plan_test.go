package serving

import (
	"bytes"
	"crypto/x509"
	"testing"
	"time"
)

// TestPlan walks certificates through half a year, hour by hour: what is shown is
// always good, and was always expected for an hour before.
func TestPlan(t *testing.T) {
	hosts := []string{"api.ns.svc", "api.ns.svc.cluster.local"}
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var s state
	var expected []byte // an hour ago
	shown := 0
	for h := range 24 * 180 {
		now := begin.Add(time.Duration(h) * time.Hour)
		next, err := plan(s, hosts, now)
		if err != nil {
			t.Fatal(err)
		}
		if h > 0 && !bytes.Contains(expected, next.current.certificate) {
			t.Fatalf("hour %d: what is shown was not expected", h)
		}
		if !bytes.Equal(s.current.certificate, next.current.certificate) {
			shown++
		}
		c := next.current.parse(hosts)
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(next.bundle())
		if c == nil {
			t.Fatalf("hour %d: there is no certificate", h)
		}
		if _, err := c.Verify(x509.VerifyOptions{DNSName: hosts[0], Roots: roots, CurrentTime: now}); err != nil {
			t.Fatalf("hour %d: %v", h, err)
		}
		if again, err := plan(stateOf(next.data()), hosts, now); err != nil || !again.equal(next) {
			t.Fatalf("hour %d: there is another step at once, %v", h, err)
		}
		s, expected = next, next.bundle()
	}
	if shown != 3 {
		t.Errorf("in half a year %d certificates were shown", shown)
	}
}

// TestPlanMends replaces a broken certificate by a new one.
func TestPlanMends(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	good, err := issue([]string{"a.b.svc"}, now)
	if err != nil {
		t.Fatal(err)
	}
	other, err := issue([]string{"a.b.svc"}, now)
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]state{
		"nothing": {}, "nonsense": {current: pair{[]byte("x"), []byte("y")}}, "another key": {current: pair{good.certificate, other.key}},
		"no key": {current: pair{certificate: good.certificate}}, "next is nonsense": {next: pair{[]byte("x"), []byte("y")}},
	} {
		got, err := plan(bad, []string{"a.b.svc"}, now)
		if err != nil || got.current.parse([]string{"a.b.svc"}) == nil || got.next.certificate != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := plan(state{current: good}, []string{"c.d.svc"}, now); err != nil || got.current.parse([]string{"c.d.svc"}) == nil {
		t.Errorf("for another host: %v", err)
	}
	late := now.Add(lifetime + time.Hour)
	if got, err := plan(state{current: good, next: pair{}}, []string{"a.b.svc"}, late); err != nil || got.equal(state{current: good}) {
		t.Errorf("what has ended is shown: %v", err)
	}
}
