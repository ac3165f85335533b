package workspaceapp

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
)

// Authorize returns the app at name if actor may open it by the method. The
// zero actor is a client that is not signed in.
//
// An app that does not exist and an app that the actor may not open return the
// same error: Unauthenticated for the zero actor, NotFound for a user. Any other
// error means that the decision failed.
func (s *Service) Authorize(ctx context.Context, actor access.Subject, m Method, name Name, rules Rules) (Target, error) {
	target, err := s.Find(ctx, name)
	if err != nil && !codersdk.Is(err, codersdk.CodeNotFound) {
		return Target{}, err
	}
	if err != nil || !target.Allows(actor, m, rules) {
		return Target{}, Denied(actor.UserID, actor.Username)
	}
	return target, nil
}

// Denied returns the error for a user who may not open an app, which is also the
// error for an app that does not exist. The Nil user is not signed in.
func Denied(user uuid.UUID, username string) error {
	if user == uuid.Nil {
		return codersdk.Errorf(codersdk.CodeUnauthenticated, "Sign in to open this app")
	}
	return codersdk.Errorf(codersdk.CodeNotFound, "This app does not exist, or you do not have access to it").
		WithDetail("you are signed in as %s; ask the owner of the workspace to share the app with you", username)
}
