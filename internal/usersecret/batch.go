package usersecret

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/usersecret/secretfile"
)

// CreateBatch stores the secrets of a file: all of them, or none after an error. It never changes a secret
// that exists.
func (s *Service) CreateBatch(
	ctx context.Context, actor access.Subject, user uuid.UUID, req codersdk.CreateUserSecretsRequest,
) ([]codersdk.UserSecret, error) {
	if err := actor.Check(codersdk.RBACActionCreate, object(user, uuid.Nil)); err != nil {
		return nil, err
	}
	wanted, err := secretfile.Parse(req.Format, req.Content)
	if err != nil {
		return nil, err
	}
	rows := make([]sqlc.UserSecret, 0, len(wanted))
	for _, w := range wanted {
		row, err := s.newRow(user, w)
		if err != nil {
			return nil, inSecret(w.Name, err)
		}
		rows = append(rows, row)
	}
	out := make([]codersdk.UserSecret, 0, len(rows))
	err = s.change(ctx, user, func(q *sqlc.Queries, all []sqlc.UserSecret) error {
		for _, row := range rows {
			if err := s.insert(ctx, q, actor, all, row); err != nil {
				return inSecret(row.Name, err)
			}
			all, out = append(all, row), append(out, view(row))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// inSecret names the secret of a batch in an error.
func inSecret(name string, err error) error {
	e, ok := errors.AsType[*codersdk.Error](err)
	if !ok {
		return err
	}
	return codersdk.Errorf(e.Code, "No secret was created, because of %q: %s", name, e.Message)
}
