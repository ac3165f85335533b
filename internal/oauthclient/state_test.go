package oauthclient

import (
	"net/url"
	"strings"
	"testing"
)

// FuzzSafeRedirect: whatever the address, the browser stays on this server.
func FuzzSafeRedirect(f *testing.F) {
	at := &url.URL{Scheme: "https", Host: "coder.example.com"}
	for _, s := range []string{"/x?y#z", "//e", "https://coder.example.com//e", "/\\e", "https:e", "https://coder.example.com@e", "/\t/e", ".", "/%5ce", "/..//e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, to string) {
		got := SafeRedirect(to, at)
		u, err := at.Parse(got)
		if err != nil || u.Scheme != at.Scheme || u.Host != at.Host || u.User != nil || !strings.HasPrefix(got, "/") || strings.HasPrefix(got, "//") || strings.ContainsAny(got, "\\\r\n\t\x00") {
			t.Errorf("%q leads to %q", to, got)
		}
	})
}

func TestSealersOfOtherPurposes(t *testing.T) {
	secret := []byte(strings.Repeat("x", 32))
	a, err := NewSealer(secret, "a")
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewSealer(secret, "b")
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := a.Seal("value", "context")
	if err != nil {
		t.Fatal(err)
	}
	var got string
	if !a.Open(sealed, "context", &got) || got != "value" {
		t.Errorf("opened %q", got)
	}
	for name, ok := range map[string]bool{
		"another purpose": b.Open(sealed, "context", &got), "another context": a.Open(sealed, "other", &got), "no value": a.Open("", "context", &got),
	} {
		if ok {
			t.Errorf("%s: the state was opened", name)
		}
	}
}
