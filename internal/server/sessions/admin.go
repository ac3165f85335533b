package sessions

import (
	"context"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/server/database"
)

// CreateAdminUser creates an owner directly in the database, for a deployment
// that nobody can sign in to. The user's git key is of the algorithm. (CP-09)
func CreateAdminUser(
	ctx context.Context, c database.Config, req codersdk.CreateFirstUserRequest, algorithm string,
) (u codersdk.User, err error) {
	err = database.With(ctx, c, func(store *postgres.Store) error {
		u, err = identity.CreateAdmin(ctx, store, req, algorithm)
		return err
	})
	return u, err
}

// ResetPassword sets a user's password directly in the database and ends the
// user's sessions. (CP-09)
func ResetPassword(ctx context.Context, c database.Config, username, password string) error {
	return database.With(ctx, c, func(store *postgres.Store) error {
		return identity.ResetPassword(ctx, store, username, password)
	})
}
