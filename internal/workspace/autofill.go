package workspace

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
)

// Autofill returns the values that a user entered last for the parameters of a
// template, as initial values of a form. (TPL-12)
func (s *Service) Autofill(ctx context.Context, actor access.Subject, user codersdk.User, templateID uuid.UUID) ([]codersdk.UserParameter, error) {
	if err := actor.Check(codersdk.RBACActionReadPersonal, access.Object{Type: codersdk.RBACResourceUser, ID: user.ID, OwnerID: user.ID}); err != nil {
		return nil, err
	}
	rows, err := s.Store.ParametersLastUsed(ctx, user.ID, templateID)
	if err != nil {
		return nil, err
	}
	out := make([]codersdk.UserParameter, 0, len(rows))
	for _, r := range rows {
		out = append(out, codersdk.UserParameter{Name: r.Name, Value: r.Value})
	}
	return out, nil
}
