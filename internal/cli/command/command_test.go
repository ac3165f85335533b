package command

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

func TestServerURLs(t *testing.T) {
	for text, want := range map[string]string{
		"coder.example.com": "https://coder.example.com", "localhost:3000": "http://localhost:3000", "127.0.0.1:3000": "http://127.0.0.1:3000",
		"https://x.example/coder/?a=b": "https://x.example/coder",
	} {
		if got, err := ParseServer(text); err != nil || got.String() != want {
			t.Errorf("%q is %v, %v, want %s", text, got, err, want)
		}
	}
}

// A server of --url or $CODER_URL is never replaced by the stored one.
func TestServerOfTheFlag(t *testing.T) {
	for text, want := range map[string]string{
		"coder.example.com": "https://coder.example.com", "localhost:3000": "http://localhost:3000", "10.0.0.5:3000": "https://10.0.0.5:3000",
		"https://x.example/coder/": "https://x.example/coder", "": "https://stored.example",
	} {
		a, _ := newRun(t, nil, "url="+text)
		if err := a.Store("url", "https://stored.example"); err != nil {
			t.Fatal(err)
		}
		if got, err := a.Server(); err != nil || got.String() != want {
			t.Errorf("the server of --url=%s is %v, %v, want %q", text, got, err, want)
		}
	}
	a, _ := newRun(t, nil)
	for _, text := range []string{"ftp://x.example", "/path"} {
		if err := a.Root.flag("url").Set("url", text); err == nil {
			t.Errorf("--url=%s is accepted", text)
		}
	}
}

// The header command gets to know the server, also the stored one.
func TestHeaderCommandKnowsTheServer(t *testing.T) {
	for flag, want := range map[string]string{"": "https://stored.example", "https://given.example": "https://given.example"} {
		a, _ := newRun(t, nil, "url="+flag)
		a.HeaderCommand = `echo "X-Server=$CODER_URL"`
		if err := a.Store("url", "https://stored.example"); err != nil {
			t.Fatal(err)
		}
		u, err := a.Server()
		if err != nil {
			t.Fatal(err)
		}
		c, err := a.Anonymous(t.Context(), u)
		if err != nil || c.Header.Get("X-Server") != want {
			t.Errorf("with --url=%s the command got %q, %v, want %s", flag, c.Header.Get("X-Server"), err, want)
		}
	}
}

func TestFailuresAreOneLine(t *testing.T) {
	for want, err := range map[string]error{
		"no: because":     &codersdk.Error{Code: codersdk.CodeConflict, Message: "no", Detail: "because"},
		"while a: no":     fmt.Errorf("while a: %w", codersdk.Errorf(codersdk.CodeConflict, "no")),
		"Invalid name: x": codersdk.Invalid("name", "x"),
		"plain":           errors.New("plain"),
		"cannot reach http://h: connection refused": &url.Error{Op: "Get", URL: "http://h/api?token=secret", Err: fmt.Errorf("dial: %w", syscall.ECONNREFUSED)},
	} {
		if line, rest := Describe(err); line != want || len(rest) > 0 {
			t.Errorf("%v is worded %q, %q", err, line, rest)
		}
	}
	two := &codersdk.Error{Message: "bad", Fields: []codersdk.ValidationError{{Field: "a", Detail: "one"}, {Field: "b", Detail: "two"}}}
	if line, rest := Describe(two); line != "bad" || strings.Join(rest, "|") != "a: one|b: two" {
		t.Errorf("fields are worded %q, %q", line, rest)
	}
}
