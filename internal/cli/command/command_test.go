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
