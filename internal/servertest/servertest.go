// Package servertest gives a test a whole control plane on loopback: the real
// server on a database of the test's own, with built-in provisioners that run
// the echo engine, a first user, and a client that is logged in.
package servertest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/server"
)

// Password of the first user, admin@example.com.
const Password = "SomeLongPassw0rd!"

// Server is a running control plane.
type Server struct {
	*server.Server
	// Client is logged in as the first user, the owner.
	Client *client.Client
	// First is who that is and the default organization.
	First coder.CreateFirstUserResponse
	// PostgresURL is the database under it.
	PostgresURL string
}

// Start starts a server that ends with the test. change may alter its
// configuration; nil takes it as it is.
func Start(t testing.TB, change func(*server.Config)) *Server {
	t.Helper()
	c := server.Config{
		Version: "v0.0.0-test", Log: slog.New(slog.DiscardHandler), HTTPAddress: "127.0.0.1:0",
		PostgresURL: postgrestest.URL(t), ConfigDir: t.TempDir(), CacheDir: t.TempDir(),
		ProvisionerDaemons: 1, ProvisionerEngines: []string{"echo"}, HostnameSuffix: "coder",
	}
	if change != nil {
		change(&c)
	}
	s := &Server{PostgresURL: c.PostgresURL}
	var err error
	if s.Server, err = server.New(c); err != nil {
		t.Fatal(err)
	}
	if err := s.Server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Errorf("stop the server: %v", err)
		}
	})
	s.Client = client.New(s.AccessURL())
	s.First, err = s.Client.CreateFirstUser(t.Context(), coder.CreateFirstUserRequest{
		Email: "admin@example.com", Username: "admin", Name: "Admin", Password: Password,
	})
	if err != nil {
		t.Fatal(err)
	}
	login, err := s.Client.LoginWithPassword(t.Context(), coder.LoginWithPasswordRequest{Email: "admin@example.com", Password: Password})
	if err != nil {
		t.Fatal(err)
	}
	s.Client.SessionToken = login.SessionToken
	return s
}

// Member makes a user with the given site roles, a member of the default
// organization, and gives a client that is logged in as them.
func (s *Server) Member(t testing.TB, name string, roles ...string) (*client.Client, coder.User) {
	t.Helper()
	u, err := s.Client.CreateUser(t.Context(), coder.CreateUserRequestWithOrgs{
		Email: name + "@example.com", Username: name, Password: Password, LoginType: coder.LoginTypePassword,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(roles) > 0 {
		if u, err = s.Client.UpdateUserRoles(t.Context(), name, coder.UpdateRoles{Roles: roles}); err != nil {
			t.Fatal(err)
		}
	}
	c := client.New(s.AccessURL())
	login, err := c.LoginWithPassword(t.Context(), coder.LoginWithPasswordRequest{Email: u.Email, Password: Password})
	if err != nil {
		t.Fatal(err)
	}
	c.SessionToken = login.SessionToken
	return c, u
}
