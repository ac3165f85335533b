package server_test

import (
	"testing"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

// TestOperatorToken starts servers that are told the token of an operator: it
// is let in before there is any person, and another token ends the first.
func TestOperatorToken(t *testing.T) {
	const first, second = "abcdefghij-0123456789abcdefghijkl", "bbcdefghij-0123456789abcdefghijkl"
	s := servertest.Start(t, func(c *server.Config) { c.OperatorToken = first })
	c := client.New(s.AccessURL())
	c.SessionToken = first
	me, err := c.User(t.Context(), "me")
	if err != nil || me.Username != "coder-k8s-operator" {
		t.Fatalf("the token is of %q, %v", me.Username, err)
	}
	if _, err := c.CreateProvisionerKey(t.Context(), "default", coder.CreateProvisionerKeyRequest{Name: "k"}); err != nil {
		t.Error("the operator makes a key:", err)
	}
	if _, err := c.LoginWithPassword(t.Context(), coder.LoginWithPasswordRequest{Email: me.Email, Password: ""}); err == nil {
		t.Error("the operator's account signs in with a password")
	}
	other := servertest.Start(t, func(c *server.Config) { c.OperatorToken = second })
	c = client.New(other.AccessURL())
	c.SessionToken = first
	if _, err := c.User(t.Context(), "me"); !coder.Is(err, coder.CodeUnauthenticated) {
		t.Error("a token of another server:", err)
	}
}
