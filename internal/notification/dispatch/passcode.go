package dispatch

import (
	"context"
	"crypto/rand"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/identity/credential"
)

// newPasscode returns a one-time passcode for an email to a user, which is the secret
// of the only template with one. It replaces the user's previous passcode. It is
// created for every attempt, and only its hash is stored. The error is
// CodePrecondition if the user can no longer sign in with a password.
func (s *Service) newPasscode(ctx context.Context, userID uuid.UUID) (string, error) {
	u, err := s.Store.UserByID(ctx, userID)
	if err != nil {
		return "", err
	}
	if u.LoginType != string(codersdk.LoginTypePassword) || u.Status == string(codersdk.UserStatusSuspended) {
		return "", codersdk.Errorf(codersdk.CodePrecondition, "the user %s cannot sign in with a password", u.Username)
	}
	passcode := rand.Text()
	return passcode, s.Store.PasscodePut(ctx, u.ID, credential.HashPasscode(u.ID, passcode), s.Now().Add(credential.PasscodeTime))
}
