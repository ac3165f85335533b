package server

import (
	"context"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
)

// CreateAdminUser makes an owner straight in the database of c, for a
// deployment that nobody can log in to. (CP-09)
func CreateAdminUser(ctx context.Context, c Config, req coder.CreateFirstUserRequest) (u coder.User, err error) {
	err = withStore(ctx, c, func(store *postgres.Store) error {
		u, err = identity.CreateAdmin(ctx, store, req, c.SSHKeyAlgorithm)
		return err
	})
	return u, err
}

// ResetPassword sets a user's password straight in the database of c and ends
// the user's sessions. (CP-09)
func ResetPassword(ctx context.Context, c Config, username, password string) error {
	return withStore(ctx, c, func(store *postgres.Store) error {
		return identity.ResetPassword(ctx, store, username, password)
	})
}
