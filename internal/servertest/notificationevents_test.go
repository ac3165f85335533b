package servertest_test

import (
	"context"
	"slices"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
)

// TestNotificationsOfUsers: administrators hear of accounts, but not of what they
// did themselves.
func TestNotificationsOfUsers(t *testing.T) {
	s := servertest.Start(t, func(c *server.Config) { c.Notifications.Fetch = 50e6 })
	admin, _ := s.Member(t, "useradmin", access.RoleUserAdmin)
	member, user := s.Member(t, "dev")
	if _, err := s.Client.SuspendUser(t.Context(), user.Username); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Client.ActivateUser(t.Context(), user.Username); err != nil {
		t.Fatal(err)
	}
	login, err := member.LoginWithPassword(t.Context(), codersdk.LoginWithPasswordRequest{Email: user.Email, Password: servertest.Password})
	if err != nil {
		t.Fatal(err)
	}
	member.SessionToken = login.SessionToken
	awaitTitles(t, member, "Your account was suspended", "Your account was activated")
	awaitTitles(t, admin, `User "dev" was created`, `User "dev" was suspended`, `User "dev" was activated`)
	if got := titles(t, s.Client); len(got) != 0 {
		t.Errorf("the owner is notified of %q", got)
	}
}

func titles(t *testing.T, c *codersdk.Client) []string {
	t.Helper()
	list, err := c.InboxNotifications(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, n := range list.Notifications {
		out = append(out, n.Title)
	}
	return out
}

// awaitTitles waits until an inbox has the titles, in any order, and perhaps others.
func awaitTitles(t *testing.T, c *codersdk.Client, want ...string) {
	t.Helper()
	var got []string
	err := lifecycle.Poll(t.Context(), 200e6, nil, func(context.Context) (bool, error) {
		got = titles(t, c)
		return !slices.ContainsFunc(want, func(title string) bool { return !slices.Contains(got, title) }), nil
	})
	if err != nil {
		t.Fatalf("the inbox has %q, want %q", got, want)
	}
}
