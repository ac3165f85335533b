package server_test

import (
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

// TestOperatorToken starts servers that are told the token of an operator: it
// is admitted before the first user exists, and another token ends the first.
func TestOperatorToken(t *testing.T) {
	const first, second = "abcdefghij-0123456789abcdefghijkl", "bbcdefghij-0123456789abcdefghijkl"
	s := servertest.Start(t, func(c *server.Config) { c.Sessions.OperatorToken = first })
	c := codersdk.New(s.AccessURL())
	c.SessionToken = first
	me, err := c.User(t.Context(), "me")
	if err != nil || me.Username != "coder-k8s-operator" {
		t.Fatalf("the token is of %q, %v", me.Username, err)
	}
	if _, err := c.CreateProvisionerKey(t.Context(), "default", codersdk.CreateProvisionerKeyRequest{Name: "k"}); err != nil {
		t.Error("the operator makes a key:", err)
	}
	if _, err := c.LoginWithPassword(t.Context(), codersdk.LoginWithPasswordRequest{Email: me.Email, Password: ""}); err == nil {
		t.Error("the operator's account signs in with a password")
	}
	other := servertest.Start(t, func(c *server.Config) { c.Sessions.OperatorToken = second })
	c = codersdk.New(other.AccessURL())
	c.SessionToken = first
	if _, err := c.User(t.Context(), "me"); !codersdk.Is(err, codersdk.CodeUnauthenticated) {
		t.Error("a token of another server:", err)
	}
}
