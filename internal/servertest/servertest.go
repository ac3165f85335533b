// Package servertest gives a test a whole control plane on loopback: the real
// server on a database of the test's own, with built-in provisioners that run
// the echo engine, a first user, and a client that is signed in.
package servertest

import (
	"context"
	"log/slog"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/server/database"
	"github.com/seed-2a7f8fe7/coder/internal/server/network"
	"github.com/seed-2a7f8fe7/coder/internal/server/provisioning"
	"github.com/seed-2a7f8fe7/coder/internal/server/workspaces"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// Password of the first user, admin@example.com.
const Password = "SomeLongPassw0rd!"

// Server is a running control plane.
type Server struct {
	*server.Server
	// Client is signed in as the first user, the owner.
	Client *codersdk.Client
	// First is who that is and the default organization.
	First codersdk.CreateFirstUserResponse
	// PostgresURL is the database under it.
	PostgresURL string
}

// Start starts a server that ends with the test. change may alter its
// configuration; nil takes it as it is.
func Start(t testing.TB, change func(*server.Config)) *Server {
	t.Helper()
	c := server.Config{
		Version: "v2.37.0-test", Log: slog.New(slog.DiscardHandler), ConfigDir: t.TempDir(), CacheDir: t.TempDir(),
		Network:      network.Config{HTTPAddress: "127.0.0.1:0"},
		Database:     database.Config{URL: postgrestest.URL(t)},
		Provisioning: provisioning.Config{Daemons: 1, Engines: []string{"echo"}},
		Workspaces:   workspaces.Config{HostnameSuffix: "coder"},
	}
	if change != nil {
		change(&c)
	}
	s := &Server{PostgresURL: c.Database.URL}
	var err error
	if s.Server, err = server.New(c); err != nil {
		t.Fatal(err)
	}
	if err := s.Server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testwait.Limit)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Errorf("stop the server: %v", err)
		}
	})
	s.Client = codersdk.New(s.AccessURL())
	s.First, err = s.Client.CreateFirstUser(t.Context(), codersdk.CreateFirstUserRequest{
		Email: "admin@example.com", Username: "admin", Name: "Admin", Password: Password,
	})
	if err != nil {
		t.Fatal(err)
	}
	login, err := s.Client.LoginWithPassword(t.Context(), codersdk.LoginWithPasswordRequest{Email: "admin@example.com", Password: Password})
	if err != nil {
		t.Fatal(err)
	}
	s.Client.SessionToken = login.SessionToken
	return s
}

// Member makes a user with the given site roles, a member of the default
// organization, and gives a client that is signed in as them.
func (s *Server) Member(t testing.TB, name string, roles ...string) (*codersdk.Client, codersdk.User) {
	t.Helper()
	u, err := s.Client.CreateUser(t.Context(), codersdk.CreateUserRequestWithOrgs{
		Email: name + "@example.com", Username: name, Password: Password, LoginType: codersdk.LoginTypePassword,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(roles) > 0 {
		if u, err = s.Client.UpdateUserRoles(t.Context(), name, codersdk.UpdateRoles{Roles: roles}); err != nil {
			t.Fatal(err)
		}
	}
	c := codersdk.New(s.AccessURL())
	login, err := c.LoginWithPassword(t.Context(), codersdk.LoginWithPasswordRequest{Email: u.Email, Password: Password})
	if err != nil {
		t.Fatal(err)
	}
	c.SessionToken = login.SessionToken
	return c, u
}
