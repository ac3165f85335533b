package workspace

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
)

// Autofill gives the values that a user gave last for the parameters of a
// template, to begin a form with. (TPL-12)
func (s *Service) Autofill(ctx context.Context, actor access.Subject, user coder.User, templateID uuid.UUID) ([]coder.UserParameter, error) {
	if err := actor.Check(coder.RBACActionReadPersonal, access.Object{Type: coder.RBACResourceUser, ID: user.ID, OwnerID: user.ID}); err != nil {
		return nil, err
	}
	rows, err := s.Store.ParametersLastUsed(ctx, user.ID, templateID)
	if err != nil {
		return nil, err
	}
	out := make([]coder.UserParameter, 0, len(rows))
	for _, r := range rows {
		out = append(out, coder.UserParameter{Name: r.Name, Value: r.Value})
	}
	return out, nil
}
